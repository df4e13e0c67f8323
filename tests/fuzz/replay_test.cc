// The kept corpus under the sanitizers: the parsers that need neither a server nor a search.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/fuzz/targets.h"

namespace rung::fuzz {
namespace {

void replay_corpus(const char* name, void (*run)(std::string_view)) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(RUNG_SOURCE_DIR) /
                                                               "tests" / "fuzz" / "corpus" / name)) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    SCOPED_TRACE(entry.path().filename().string());
    run(bytes);
    ++files;
  }
  EXPECT_GT(files, 0) << name;
}

TEST(corpus, of_architecture_lines) { replay_corpus("architecture_line", architecture_line); }
TEST(corpus, of_dimensions_files) { replay_corpus("dimensions_file", dimensions_file); }
TEST(corpus, of_released_configurations) { replay_corpus("released_config", released_config); }
TEST(corpus, of_weights_files) { replay_corpus("weights_file", weights_file); }
TEST(corpus, of_task_files) { replay_corpus("task_file", task_file); }
TEST(corpus, of_prompts) { replay_corpus("prompt", prompt); }
TEST(corpus, of_records) { replay_corpus("store_record", store_record); }
TEST(corpus, of_training_plans) { replay_corpus("training_plan", training_plan); }
TEST(corpus, of_result_documents) { replay_corpus("result_document", result_document); }
TEST(corpus, of_certificates) { replay_corpus("certificate", certificate); }

}  // namespace
}  // namespace rung::fuzz
