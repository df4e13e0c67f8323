// The Python on docs/weights.md is run as it stands there, and its model does what the page says.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "rung/exact/machine.h"
#include "tests/exact/plain_model.h"

namespace rung {
namespace {

std::string python_block(const std::string& page) {
  std::ifstream file(page);
  std::stringstream text;
  text << file.rdbuf();
  const std::string all = text.str(), fence = "```python\n";
  const auto begin = all.find(fence);
  if (begin == std::string::npos) return "";
  const auto first = begin + fence.size();
  return all.substr(first, all.find("```", first) - first);
}

TEST(PythonSample, writes_a_model_that_answers_with_the_first_token) {
  const std::filesystem::path python = "/usr/bin/python3";
  if (!std::filesystem::exists(python)) GTEST_SKIP() << "no " << python;
  const std::string program = python_block(std::string(RUNG_SOURCE_DIR) + "/docs/weights.md");
  ASSERT_NE(program.find("first.safetensors"), std::string::npos);
  const auto folder = std::filesystem::path(testing::TempDir()) / fmt::format("rung-python-{}", getpid());
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "sample.py") << program;
  const int status =
      std::system(fmt::format("cd '{}' && '{}' -I sample.py", folder.string(), python.string()).c_str());
  const auto weights = read_weights((folder / "first.safetensors").string());
  std::filesystem::remove_all(folder);
  ASSERT_EQ(status, 0);
  ASSERT_TRUE(weights) << weights.error().message;
  const auto machine = Machine::load(*weights, {.positions = 5});
  ASSERT_TRUE(machine) << machine.error().message;
  const std::int64_t last = 4;
  for (std::int64_t code = 0; code < 4 * 4 * 4 * 4 * 4; ++code) {
    Prompt prompt{5, {{}}};
    for (int t = 0; t < 5; ++t) prompt.fields[0].push_back(code >> (2 * t) & 3);
    const auto out = (*machine)->forward(prompt, std::span(&last, 1));
    ASSERT_TRUE(out) << out.error().message;
    ASSERT_EQ((*out)[0].answer, std::vector<std::int64_t>{code & 3}) << "prompt " << code;
    if (code % 37 == 0) ASSERT_EQ(plain::evaluate(*weights, prompt)[4].answer, plain::Row{code & 3});
  }
}

}  // namespace
}  // namespace rung
