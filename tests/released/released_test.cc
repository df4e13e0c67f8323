#include "rung/released/released.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "rung/base/json_text.h"
#include "rung/base/random.h"
#include "rung/released/architecture_choice.h"
#include "rung/released/class_defaults.h"

namespace rung {
namespace {

const std::string kFolder = std::string(RUNG_SOURCE_DIR) + "/rung/released/configs/";
using Counts = std::map<std::string, std::int64_t>;

// What a file says: kinds of layers, state elements of a recurrent layer, and bits with the file's own types.
struct Expected {
  const char* file;
  Counts counts;
  std::int64_t state_elements;  // of the recurrent layers; 0: none
  const char* pattern;          // folded
  bool assume_defaults = false;
};

Account count(const ReleasedModel& model, StorageBits bits) {
  const auto layers = resolve(model.architecture);
  EXPECT_TRUE(layers.ok());
  return account_released(model, *layers, bits);
}

// The kinds, states and windows of the table in SOURCES.md, file by file.
const std::vector<Expected>& readable() {
  static const std::vector<Expected> table{
      {"bamba-9b.partial", {{"mamba2", 29}, {"full", 3}}, 1048576, "R^9 (F R^8)^2 F R^4", true},
      {"deepseek-v3.2-exp-inference.native", {{"topk", 61}}, 0, "F^61"},
      {"deepseek-v3.2", {{"topk", 61}}, 0, "F^61"},
      {"deepseek-v3", {{"full", 61}}, 0, "F^61"},
      {"deepseek-v4-flash", {{"compressed", 41}, {"full(window=128)", 2}}, 0, "R^2 F^41"},
      {"deepseek_v32-defaults", {{"topk", 61}}, 0, "F^61"},
      {"falcon-h1-34b.partial", {{"heads", 72}}, 1048576, "(F∥R)^72"},
      {"falcon-h1-tiny-90m.partial", {{"heads", 24}}, 49152, "(F∥R)^24"},
      {"falcon-mamba-7b", {{"mamba", 64}}, 131072, "R^64"},
      {"falcon_h1-defaults", {{"heads", 32}}, 1024 * 256, "(F∥R)^32"},
      {"fla-gated_deltanet-defaults", {{"gdelta", 21}}, 6 * 256 * 512, "R^21"},
      {"fla-gla-340m", {{"gla", 24}}, 131072, "R^24"},
      {"fla-kda-defaults", {{"kda", 24}}, 16 * 128 * 128, "R^24"},
      {"fla-mamba2-defaults", {{"mamba2", 48}}, 4096 * 128, "R^48"},
      {"fla-nsa-340m", {{"sparse", 24}}, 0, "F^24"},
      {"fla-nsa-defaults", {{"sparse", 24}}, 0, "F^24"},
      {"fla-rwkv7-defaults", {{"rwkv7", 24}, {"conv", 24}}, 32 * 64 * 64, "R^48"},
      {"gemma-3-27b-it.partial", {{"full(window=1024)", 52}, {"full", 10}}, 0, "(R^5 F)^10 R^2"},
      {"gemma-4-26b-a4b", {{"full(window=1024)", 25}, {"full", 5}}, 0, "(R^5 F)^5"},
      {"gemma3_text-defaults", {{"full(window=4096)", 22}, {"full", 4}}, 0, "(R^5 F)^4 R^2"},
      {"glm-5", {{"topk", 78}}, 0, "F^78"},
      {"gpt-oss-20b", {{"full(window=128)", 12}, {"full", 12}}, 0, "(R F)^12"},
      {"granite-4.0-h-micro.partial", {{"mamba2", 36}, {"full", 4}}, 524288, "R^5 (F R^9)^3 F R^4"},
      {"jamba-1.5-mini", {{"mamba", 28}, {"full", 4}}, 131072, "R^4 (F R^7)^3 F R^3"},
      {"jamba-defaults", {{"mamba", 28}, {"full", 4}}, 131072, "R^4 (F R^7)^3 F R^3"},
      {"kimi-linear-48b-a3b-instruct", {{"kda", 20}, {"full", 7}}, 524288, "(R^3 F)^6 R^2 F"},
      {"lfm2-1.2b.partial", {{"conv", 10}, {"full", 6}}, 0, ""},
      {"lfm2-8b-a1b.partial", {{"conv", 18}, {"full", 6}}, 0, ""},
      {"llama-3.1-70b", {{"full", 80}}, 0, "F^80"},
      {"llama-3.1-8b", {{"full", 32}}, 0, "F^32"},
      {"llama-4-scout", {{"full(chunk=8192)", 36}, {"full", 12}}, 0, "(R^3 F)^12"},
      {"loglinear-gated_deltanet_mid", {{"gdelta", 21}}, 442368, "R^21"},
      {"loglinear-h_gated_deltanet_mid", {{"loglinear", 21}}, 442368, "R^21"},
      {"loglinear-hattention_mid", {{"loglinear", 21}}, 393216, "R^21"},
      {"loglinear-mamba2_mid", {{"mamba2", 21}}, 393216, "R^21"},
      {"loglinear-transformer_mid", {{"full", 24}}, 0, "F^24"},
      {"mamba-130m-hf.partial", {{"mamba", 24}}, 24576, "R^24"},
      {"mamba-codestral-7b-v0.1", {{"mamba2", 64}}, 1048576, "R^64"},
      {"mamba-defaults", {{"mamba", 32}}, 24576, "R^32"},
      {"mamba2-defaults", {{"mamba2", 64}}, 1048576, "R^64"},
      {"mimo-v2-flash", {{"full(window=128)", 39}, {"full", 9}}, 0, ""},
      {"minimax-m1", {{"recurrent", 70}, {"full", 10}}, 1048576, "(R^7 F)^10"},
      {"minimax-m2.5", {{"full", 62}}, 0, "F^62"},
      {"minimax-m3", {{"sparse", 57}, {"full", 3}}, 0, "F^60"},
      {"nemotron-3-nano-30b-a3b", {{"mamba2", 23}, {"none", 23}, {"full", 6}}, 524288, ""},
      {"nemotron-h-56b-base-8k", {{"mamba2", 54}, {"none", 54}, {"full", 10}}, 4194304, ""},
      {"nemotron-h-8b-base-8k.partial", {{"mamba2", 24}, {"none", 24}, {"full", 4}}, 1048576, "", true},
      {"qwen3-32b", {{"full", 64}}, 0, "F^64"},
      {"qwen3-next-80b-a3b.partial", {{"gdelta", 36}, {"full", 12}}, 524288, "(R^3 F)^12"},
      {"qwen3.5-27b", {{"gdelta", 48}, {"full", 16}}, 786432, "(R^3 F)^16"},
      {"qwen3.5-35b-a3b", {{"gdelta", 30}, {"full", 10}}, 524288, "(R^3 F)^10"},
      {"qwen3_5_text-defaults", {{"gdelta", 24}, {"full", 8}}, 524288, "(R^3 F)^8"},
      {"qwen3_next-defaults", {{"gdelta", 36}, {"full", 12}}, 524288, "(R^3 F)^12"},
      {"recurrent_gemma-defaults", {{"recurrent", 18}, {"full(window=2048)", 8}}, 2560, "R^26"},
      {"recurrentgemma-2b", {{"recurrent", 18}, {"full(window=2048)", 8}}, 2560, "R^26"},
      {"ring-mini-linear-2.0", {{"recurrent", 16}, {"full", 4}}, 262144, "(R^4 F)^4"},
      {"rwkv-7-world-0.1b-xllm.partial", {{"rwkv7", 12}, {"conv", 12}}, 49152, "R^24"},
      {"step-3.7-flash", {{"full(window=512)", 33}, {"full", 12}}, 0, "(F R^3)^11 F"},
      {"xlstm-defaults", {{"recurrent", 32}}, 8 * (256 * 512 + 256 + 1), "R^32"},
      {"olmo_hybrid-defaults", {{"gdelta", 24}, {"full", 8}}, 30 * 96 * 192, "(R^3 F)^8"},
      {"zamba2-7b", {{"mamba2", 81}, {"full", 13}}, 458752, ""},
  };
  return table;
}

// Files that must not be read, and a part of the reason.
const std::vector<std::pair<const char*, const char*>>& refused() {
  static const std::vector<std::pair<const char*, const char*>> table{
      {"bamba-defaults", "[config] bamba: field \"attn_layer_indices\" is missing"},
      {"granite-4.0-h-small.partial", "[config] granitemoehybrid: field \"layer_types\" is missing"},
      {"granitemoehybrid-defaults", "[config] granitemoehybrid: field \"layer_types\" is missing"},
      {"lfm2-defaults", "[config] lfm2: field \"full_attn_idxs\" is missing"},
      {"minimax-defaults", "[config] minimax: field \"attn_type_list\" is missing"},
      {"nemotron_h-defaults", "[config] nemotron_h: field \"hybrid_override_pattern\" is missing"},
      {"zamba2-defaults", "[config] zamba2: field \"layers_block_type\" is missing"},
      {"rnn-icrag-1m_hybrid", "[config] field \"model_type\" is missing"},
      {"rnn-icrag-1m_rnn", "[config] field \"model_type\" is missing"},
      {"rnn-icrag-1m_transformer", "[config] field \"model_type\" is missing"},
  };
  return table;
}

TEST(Released, every_file_of_the_folder_is_read_or_refused_for_a_stated_reason) {
  std::set<std::string> expected, found;
  for (const auto& row : readable()) expected.insert(std::string(row.file) + ".json");
  for (const auto& [file, reason] : refused()) expected.insert(std::string(file) + ".json");
  for (const auto& entry : std::filesystem::directory_iterator(kFolder))
    if (entry.path().extension() == ".json") found.insert(entry.path().filename());
  EXPECT_EQ(found, expected);
  EXPECT_EQ(found.size(), 71u);
}

TEST(Released, refuses_files_whose_layers_cannot_be_derived) {
  for (const auto& [file, reason] : refused())
    for (const bool assume : {false, true}) {
      auto model = read_config_file(kFolder + file + ".json", {.assume_defaults = assume});
      ASSERT_FALSE(model) << file;
      EXPECT_EQ(model.error().message.find(reason), 0u) << file << ": " << model.error().message;
      EXPECT_EQ(model.error().code, ErrorCode::missing);
    }
}

TEST(Released, reads_the_layer_lists_and_states_of_the_table) {
  for (const auto& row : readable()) {
    SCOPED_TRACE(row.file);
    auto model = read_config_file(kFolder + row.file + ".json", {.assume_defaults = row.assume_defaults});
    ASSERT_TRUE(model) << model.error().message;
    const auto out = count(*model, model->bits);
    EXPECT_EQ(out.counts, row.counts);
    std::int64_t states = 0, layers = 0;
    for (const auto& layer : out.layers) {
      if (layer.state_elements == 0) continue;
      EXPECT_EQ(layer.state_elements, row.state_elements);
      ++states;
    }
    for (const auto& [word, times] : row.counts) layers += times;
    EXPECT_EQ(states > 0, row.state_elements > 0);
    EXPECT_EQ(static_cast<std::int64_t>(out.layers.size()), layers);
    if (*row.pattern != '\0') {
      EXPECT_EQ(fold_pattern(out.layers), row.pattern);
    }
  }
}

TEST(Released, the_line_of_a_model_re_parses_to_the_same_account) {
  for (const auto& row : readable()) {
    SCOPED_TRACE(row.file);
    auto model = *read_config_file(kFolder + row.file + ".json", {.assume_defaults = true});
    auto stack = parse_stack(format_stack(model.architecture.stack));
    ASSERT_TRUE(stack) << stack.error().message;
    EXPECT_EQ(*stack, model.architecture.stack);
    const Architecture again{*stack, model.architecture.dimensions};
    const auto first = count(model, model.bits);
    const auto second = account(again, *resolve(again), model.bits);
    EXPECT_EQ(first.state_bits, second.state_bits);
    EXPECT_EQ(first.cache_bits_per_token, second.cache_bits_per_token);
    EXPECT_EQ(first.pattern, second.pattern);
    EXPECT_EQ(first.counts, second.counts);
  }
}

std::int64_t bytes(const char* file, StorageBits change) {
  const auto model = *read_config_file(kFolder + file + ".json", {});
  StorageBits bits = model.bits;
  if (change.state) bits.state = change.state;
  if (change.conv) bits.conv = change.conv;
  if (change.cache) bits.cache = change.cache;
  const auto out = count(model, bits);
  EXPECT_EQ(out.state_bits % 8, 0);
  return out.state_bits / 8;
}

TEST(Released, reproduces_the_bytes_that_others_measured) {
  // Qwen3.5-9B has the class's sizes; the class names no number format.
  EXPECT_EQ(bytes("qwen3_5_text-defaults", {.conv = 16}), 51511296);
  EXPECT_EQ(bytes("jamba-1.5-mini", {}), 16056320);  // as Jamba-v0.1
  EXPECT_EQ(bytes("granite-4.0-h-micro.partial", {.state = 16, .conv = 16}), 38688768);
  EXPECT_EQ(bytes("falcon-h1-34b.partial", {.state = 16, .conv = 16}), 153206784);
  EXPECT_EQ(bytes("lfm2-1.2b.partial", {.conv = 16}), 81920);
  EXPECT_EQ(bytes("lfm2-8b-a1b.partial", {.conv = 16}), 147456);
  const auto qwen = *read_config_file(kFolder + "qwen3.5-27b.json", {});
  EXPECT_EQ(qwen.bits.state, 32);  // mamba_ssm_dtype
  EXPECT_EQ(qwen.bits.conv, 16);
  EXPECT_EQ(count(qwen, {.state = 32, .conv = 32, .cache = 16}).layers[0].state_bits, 3268608 * 8);
}

TEST(Released, takes_the_state_type_that_the_file_declares_and_says_so_where_it_declares_none) {
  const auto nano = *read_config_file(kFolder + "nemotron-3-nano-30b-a3b.json", {});
  EXPECT_EQ(nano.bits.state, 32);  // mamba_ssm_cache_dtype
  const auto xlstm = *read_config_file(kFolder + "xlstm-defaults.json", {});
  EXPECT_EQ(xlstm.bits.state, 32);  // inference_state_dtype
  const auto jamba = *read_config_file(kFolder + "jamba-1.5-mini.json", {});
  EXPECT_EQ(jamba.bits.state, 32);
  EXPECT_EQ(jamba.bits.conv, 16);
  EXPECT_EQ(
      count(jamba, jamba.bits).notes.back(),
      "state in 32 bits, as the reference caches keep it (the file names no state type); convolution and "
      "window in the model's type bfloat16");
}

// No file of a recurrent model without a state type is counted with fewer bits than its reference cache has.
TEST(Released, counts_recurrent_states_in_float32_where_no_type_is_named) {
  int counted = 0;
  for (const auto& row : readable()) {
    if (row.state_elements == 0) continue;
    SCOPED_TRACE(row.file);
    const auto text = *read_text_file(kFolder + row.file + ".json", "test");
    const auto model = *read_config_file(kFolder + row.file + ".json", {.assume_defaults = true});
    const bool named = text.find("mamba_ssm_dtype") != std::string::npos ||
                       text.find("mamba_ssm_cache_dtype") != std::string::npos ||
                       text.find("inference_state_dtype") != std::string::npos;
    EXPECT_EQ(model.bits.state, 32);
    const auto assumptions = model.storage_assumptions();
    EXPECT_EQ(!assumptions.empty() && assumptions[0].starts_with("recurrent state in 32 bits"), !named);
    counted += named ? 0 : 1;
  }
  EXPECT_GT(counted, 20);
}

TEST(Released, says_what_was_asked_for_and_not_what_the_file_would_have_said) {
  ArchitectureChoice choice;
  choice.config = kFolder + "falcon-mamba-7b.json";
  choice.state_dtype = "fp16";
  const auto chosen = *choice.choose();
  EXPECT_EQ(chosen.bits.state, 16);
  EXPECT_EQ(chosen.count().notes.back(),
            "state in fp16, as asked; convolution and window in the model's type bfloat16");
  EXPECT_TRUE(chosen.assumes.empty());
  choice.conv_dtype = "fp32";
  EXPECT_EQ(choice.choose()->count().notes.back(),
            "state in fp16, as asked; convolution in fp32, as asked; window and cache in the model's type "
            "bfloat16");
  choice.precision = "8";
  EXPECT_EQ(choice.choose()->count().notes.size(), chosen.count().notes.size() - 1);
  choice = {};
  choice.config = kFolder + "falcon-mamba-7b.json";
  EXPECT_EQ(choice.choose()->assumes,
            std::vector<std::string>{"recurrent state in 32 bits, as the reference caches keep it (the file "
                                     "names no state type)"});
}

TEST(Released, a_file_without_a_type_has_no_known_number_format) {
  int unknown = 0;
  for (const auto& row : readable()) {
    SCOPED_TRACE(row.file);
    const auto text = *read_text_file(kFolder + row.file + ".json", "test");
    const auto model = *read_config_file(kFolder + row.file + ".json", {.assume_defaults = true});
    const bool named =
        text.find("\"dtype\": \"") != std::string::npos || text.find("torch_dtype") != std::string::npos;
    const Precision& precision = model.architecture.dimensions.precision;
    if (named) continue;
    ++unknown;
    EXPECT_EQ(precision.format, NumberFormat::unknown);
    EXPECT_EQ(precision.bits, 32);  // no format in use is wider, so no bound counts too few bits
    EXPECT_EQ(format_precision(precision), "unknown");
    EXPECT_EQ(model.bits.cache, 32);
    EXPECT_NE(model.storage_note().find("names no number format"), std::string::npos);
    EXPECT_FALSE(model.storage_assumptions().empty());
  }
  EXPECT_GT(unknown, 20);
  const auto llama = *read_config_file(kFolder + "llama-3.1-8b.json", {});
  EXPECT_EQ(llama.architecture.dimensions.precision.format, NumberFormat::bf16);
  EXPECT_TRUE(llama.storage_note().empty());
}

TEST(Released, counts_windows_and_caches) {
  const auto oss = *read_config_file(kFolder + "gpt-oss-20b.json", {});
  EXPECT_EQ(count(oss, oss.bits).layers[0].window_elements, 127 * 2 * 8 * 64);
  EXPECT_EQ(count(oss, oss.bits).layers[1].cache_elements, 2 * 8 * 64);
  const auto kimi = *read_config_file(kFolder + "kimi-linear-48b-a3b-instruct.json", {});
  EXPECT_EQ(count(kimi, kimi.bits).layers[3].cache_elements, 512 + 64);
  EXPECT_EQ(count(kimi, kimi.bits).layers[0].conv_elements, 3 * 3 * 32 * 128);
  const auto dsa = *read_config_file(kFolder + "deepseek-v3.2.json", {});
  EXPECT_EQ(count(dsa, dsa.bits).layers[0].cache_elements, 512 + 64 + 128);
  const auto mimo = *read_config_file(kFolder + "mimo-v2-flash.json", {});
  EXPECT_EQ(count(mimo, mimo.bits).layers[0].cache_elements, 4 * (192 + 128));
  EXPECT_EQ(count(mimo, mimo.bits).layers[1].window_elements, 127 * 8 * (192 + 128));
  const auto levels = *read_config_file(kFolder + "loglinear-h_gated_deltanet_mid.json", {});
  EXPECT_EQ(count(levels, levels.bits).layers[0].levels, 15);  // 16384 tokens: ⌊lg⌋ + 1 are live at once
}

TEST(Released, counts_dense_parameters_exactly_and_no_others) {
  EXPECT_EQ(read_config_file(kFolder + "llama-3.1-8b.json", {})->parameters, 8030261248);
  EXPECT_EQ(read_config_file(kFolder + "llama-3.1-70b.json", {})->parameters, 70553706496);
  EXPECT_EQ(read_config_file(kFolder + "qwen3-32b.json", {})->parameters, 32762123264);
  const auto mixture = *read_config_file(kFolder + "minimax-m2.5.json", {});
  const auto out = count(mixture, mixture.bits);
  EXPECT_FALSE(out.parameters);
  EXPECT_FALSE(out.layers[0].parameters);
  EXPECT_FALSE(out.parameters_reason.empty());
}

TEST(Released, gives_a_partial_file_class_defaults_only_on_request) {
  auto strict = read_config_file(kFolder + "bamba-9b.partial.json", {});
  ASSERT_FALSE(strict);
  EXPECT_EQ(strict.error().message,
            "[config] bamba: field \"num_key_value_heads\" is missing; a partial file gets class defaults "
            "only with "
            "`assume-defaults`");
  auto model = *read_config_file(kFolder + "bamba-9b.partial.json", {.assume_defaults = true});
  EXPECT_NE(model.notes.at(0).find("class defaults: num_key_value_heads=8"), std::string::npos)
      << model.notes[0];
}

std::string refusal(const std::string& json) {
  auto model = read_config(json, {});
  return model ? "accepted" : model.error().message;
}

TEST(Released, refuses_hostile_fields_in_one_line) {
  const auto llama = [](const std::string& layers) {
    return "{\"model_type\":\"llama\",\"hidden_size\":64,\"num_attention_heads\":4,\"num_hidden_layers\":" +
           layers + "}";
  };
  EXPECT_EQ(refusal(llama("2")), "accepted");
  EXPECT_EQ(refusal(llama("1152921504606846976")),
            "[config] llama: field \"num_hidden_layers\" is \"1152921504606846976\"; expected a number in "
            "1..2147483648");
  EXPECT_EQ(refusal(llama("100001")),
            "[config] llama: field \"num_hidden_layers\" is \"100001\"; expected at most 100000");
  EXPECT_EQ(refusal(llama("-3")),
            "[config] llama: field \"num_hidden_layers\" is \"-3\"; expected a number in 1..2147483648");
  EXPECT_EQ(refusal(llama("\"4\"")),
            "[config] llama: field \"num_hidden_layers\" is \"4\"; expected a number in 1..2147483648");
  EXPECT_EQ(refusal(llama("18446744073709551615")).substr(0, 49),
            "[config] llama: field \"num_hidden_layers\" is \"184");
  EXPECT_EQ(refusal(llama("[4]")),
            "[config] llama: field \"num_hidden_layers\" is a list; expected a number in 1..2147483648");
  EXPECT_EQ(
      refusal(llama("null")),
      "[config] llama: field \"num_hidden_layers\" is missing; it has no class default that could stand in");
  EXPECT_EQ(refusal(llama("1e999")).substr(0, 8), "[config]");
  EXPECT_EQ(refusal("{\"model_type\":\"lama\"}"),
            "[config] unknown model_type \"lama\"; did you mean \"llama\"?");
  EXPECT_EQ(refusal("{\"model_type\":7}"), "[config] model_type is number; expected a text");
  EXPECT_EQ(refusal("[1,2]"), "[config] the file holds array; expected an object of fields");
  EXPECT_EQ(refusal(""), "[config] not JSON at byte 1; expected one complete document");
  EXPECT_EQ(refusal("{\"model_type\":\"llama\","),
            "[config] not JSON at byte 23; expected one complete document");
  EXPECT_EQ(refusal(std::string(100000, '[')), "[config] JSON nested deeper than 64 at byte 65");
  EXPECT_EQ(refusal("{\"model_type\":\"jamba\",\"num_hidden_layers\":2,\"hidden_size\":2147483648,\"mamba_d_"
                    "state\":2147483648}")
                .substr(0, 14),
            "[config] jamba");
}

TEST(Released, checks_that_lists_agree_with_the_number_of_layers) {
  EXPECT_EQ(
      refusal(R"({"model_type":"nemotron_h","num_hidden_layers":3,"hybrid_override_pattern":"M*"})"),
      "[config] nemotron_h: field \"hybrid_override_pattern\" describes 2 layers; num_hidden_layers is 3");
  EXPECT_EQ(refusal(R"({"model_type":"nemotron_h","num_hidden_layers":2,"hybrid_override_pattern":"MX"})"),
            "[config] nemotron_h: letter 2 of hybrid_override_pattern is none of M, *, -, E");
  EXPECT_EQ(refusal(R"({"model_type":"qwen3_next","num_hidden_layers":1,"layer_types":["linear_atention"]})"),
            "[config] qwen3_next: field \"layer_types\" holds \"linear_atention\"; did you mean "
            "\"linear_attention\"?");
  EXPECT_EQ(refusal(R"({"model_type":"bamba","num_hidden_layers":4,"attn_layer_indices":[4]})"),
            "[config] bamba: field \"attn_layer_indices\" holds \"4\"; expected numbers in 0..3");
}

TEST(Released, applies_the_group_rule_to_layers_after_the_last_whole_group) {
  auto model = read_config(
      R"({"model_type":"bailing_moe_linear","num_hidden_layers":7,"layer_group_size":3,"hidden_size":8,
                              "num_attention_heads":2,"head_dim":4})",
      {});
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(count(*model, {}).pattern, "RRFRRFF");
}

TEST(Released, tolerates_bare_infinity_and_nan_outside_strings_only) {
  const auto json = parse_json(R"({"a":[0.0,Infinity,-Infinity,NaN],"b":"NaN \" Infinity"})", "config");
  ASSERT_TRUE(json) << json.error().message;
  EXPECT_TRUE((*json)["a"][1].is_null());
  EXPECT_TRUE((*json)["a"][3].is_null());
  EXPECT_EQ((*json)["b"], "NaN \" Infinity");
  EXPECT_FALSE(parse_json("{\"a\":Infinit}", "config"));
  EXPECT_FALSE(parse_json("{\"a\":InfinityInfinity}", "config"));
  EXPECT_EQ(parse_json("[NaN,NaN,x]", "config").error().message,
            "[config] not JSON at byte 10; expected one complete document");
}

TEST(Released, class_defaults_are_those_of_the_files_where_readers_ask_for_them) {
  for (const auto& [name, fields] : all_class_defaults().items()) {
    const auto source = parse_json(*read_text_file(kFolder + name + "-defaults.json", "test"), "test");
    ASSERT_TRUE(source) << name;
    EXPECT_TRUE(fields.contains("hidden_size")) << name;
    for (const auto& [field, value] : fields.items()) {
      ASSERT_TRUE(source->contains(field)) << name << " " << field;
      EXPECT_EQ((*source)[field], value) << name << " " << field;
    }
    for (const char* own : {"model_type", "vocab_size", "max_position_embeddings", "intermediate_size"})
      EXPECT_FALSE(fields.contains(own)) << name << " " << own;
  }
  EXPECT_EQ(all_class_defaults().size(), 22u);
  EXPECT_EQ((*class_defaults("bamba"))["mamba_n_heads"], 128);
  EXPECT_EQ((*class_defaults("xlstm"))["qk_dim_factor"], 0.5);
  EXPECT_TRUE((*class_defaults("jamba"))["attn_layer_period"] == 8);
  EXPECT_EQ(class_defaults("falcon_mamba"), nullptr);
}

TEST(Released, survives_any_mutation_of_a_configuration) {
  std::vector<std::string> texts;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder))
    if (entry.path().extension() == ".json") texts.push_back(*read_text_file(entry.path(), "test"));
  std::sort(texts.begin(), texts.end());
  Random random(17);
  const char* pieces[] = {"-1", "null", "1e400",    "\"x\"", "[]",        "{}", "9223372036854775808",
                          "0",  ",",    "Infinity", "true",  "2147483648"};
  int accepted = 0, refusals = 0;
  for (int trial = 0; trial < 15000; ++trial) {
    std::string text = texts[random.below(texts.size())];
    for (std::uint64_t edits = 1 + random.below(3); edits > 0; --edits) {
      const std::size_t where = random.below(text.size());
      switch (random.below(4)) {
        case 0:
          text[where] = static_cast<char>(random.below(256));
          break;
        case 1:
          text.resize(where + 1);
          break;
        case 2: {  // replace a number
          std::size_t i = text.find_first_of("0123456789", where);
          if (i == std::string::npos) break;
          std::size_t j = i;
          while (j < text.size() && text[j] >= '0' && text[j] <= '9') ++j;
          text.replace(i, j - i, pieces[random.below(12)]);
          break;
        }
        default:
          text[where] = static_cast<char>('0' + random.below(10));
      }
    }
    auto model =
        read_config(text, {.partial = random.below(2) == 0, .assume_defaults = random.below(2) == 0});
    if (model) {
      ++accepted;
      EXPECT_EQ(*parse_stack(format_stack(model->architecture.stack)), model->architecture.stack);
    } else {
      ++refusals;
      EXPECT_EQ(model.error().message.find('\n'), std::string::npos) << model.error().message;
      EXPECT_EQ(model.error().message[0], '[');
    }
  }
  EXPECT_GT(accepted, 500);
  EXPECT_GT(refusals, 500);
}

TEST(Released, configurations_that_the_program_carries_go_by_their_names) {
  const auto lines = [](const ArchitectureChoice& choice) {
    const auto chosen = choice.choose();
    return chosen ? format_stack(chosen->architecture.stack) : chosen.error().message;
  };
  const std::string file = RUNG_SOURCE_DIR "/rung/released/configs/qwen3.5-27b.json";
  EXPECT_EQ(lines({.line = "qwen3.5-27b"}), lines({.line = file}));
  EXPECT_EQ(lines({.config = "qwen3.5-27b.json"}), lines({.line = file}));
  // A quotation of some fields stays one, whatever it is called.
  EXPECT_FALSE((ArchitectureChoice{.line = "granite-4.0-h-small"}.choose()));
  // Lines stay lines, and other words errors.
  EXPECT_EQ(lines({.line = "full"}), "full");
  EXPECT_NE(lines({.line = "qwen3.5"}).find("[arch]"), std::string::npos);
  EXPECT_FALSE((ArchitectureChoice{.line = "qwen3.5-27b", .width = 8}.choose()));
}

}  // namespace
}  // namespace rung
