// Configurations with another layout.
#include "rung/released/layer_types.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "rung/base/json_text.h"
#include "rung/released/released.h"

namespace rung {
namespace {

std::string config_text(const std::string& name) {
  return *read_text_file(std::string(RUNG_SOURCE_DIR) + "/rung/released/configs/" + name + ".json", "test");
}

TEST(LayerTypes, refuses_what_the_file_has_no_word_for) {
  const auto none = with_layer_types(config_text("jamba-1.5-mini"), *parse_stack("full"));
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("layer_types"), std::string::npos);
  const auto foreign = with_layer_types(config_text("qwen3.5-27b"), *parse_stack("rnn"));
  ASSERT_FALSE(foreign);
  EXPECT_NE(foreign.error().message.find("has no word for rnn"), std::string::npos);
  EXPECT_FALSE(with_layer_types("{", *parse_stack("full")));
}

TEST(LayerTypes, what_is_written_is_read_back) {
  for (const char* name : {"qwen3.5-27b", "qwen3.5-35b-a3b", "gpt-oss-20b"}) {
    SCOPED_TRACE(name);
    const std::string text = config_text(name);
    Stack stack = read_config(text, {})->architecture.stack;
    std::reverse(stack.layers.begin(), stack.layers.end());  // full layers first: no period says so
    stack.layers.resize(stack.layers.size() - 3);
    const auto written = with_layer_types(text, stack);
    ASSERT_TRUE(written) << written.error().message;
    EXPECT_EQ(read_config(*written, {})->architecture.stack, stack);
    // Everything else stays.
    auto before = nlohmann::json::parse(text), after = nlohmann::json::parse(*written);
    for (auto* document : {&before, &after}) {
      auto& model = document->contains("text_config") ? (*document)["text_config"] : *document;
      for (const char* field : {"layer_types", "num_hidden_layers", "full_attention_interval"})
        model.erase(field);
    }
    EXPECT_EQ(before, after);
  }
}

}  // namespace
}  // namespace rung
