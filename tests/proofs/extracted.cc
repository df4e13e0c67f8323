#include "tests/proofs/extracted.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace rung {

std::string CountSetting::line() const {
  std::ostringstream text;
  text << count << std::hex;
  for (const Integer& number : numbers) text << ' ' << number;
  return text.str();
}

std::vector<bool> extracted(const std::vector<CountSetting>& settings) {
  const auto folder = std::filesystem::temp_directory_path();
  static int calls = 0;
  const std::string stem =
      (folder / ("rung_counts_" + std::to_string(getpid()) + "_" + std::to_string(calls++))).string();
  {
    std::ofstream questions(stem + ".in");
    for (const auto& setting : settings) questions << setting.line() << '\n';
  }
  const std::string command =
      std::string(RUNG_BINARY_DIR) + "/proofs/counts < " + stem + ".in > " + stem + ".out";
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  std::vector<bool> answers;
  std::ifstream lines(stem + ".out");
  for (std::string line; std::getline(lines, line);) answers.push_back(line == "1");
  EXPECT_EQ(answers.size(), settings.size());
  answers.resize(settings.size());
  std::filesystem::remove(stem + ".in");
  std::filesystem::remove(stem + ".out");
  return answers;
}

void expect_agreement_of_each(const std::vector<CountSetting>& settings) {
  const auto answers = extracted(settings);
  for (std::size_t i = 0; i < settings.size(); ++i)
    EXPECT_EQ(answers[i], settings[i].library) << settings[i].line();
}

void expect_agreement(const std::vector<CountSetting>& settings) {
  const auto yes =
      std::count_if(settings.begin(), settings.end(), [](const CountSetting& s) { return s.library; });
  EXPECT_TRUE(0 < yes && yes < std::ssize(settings)) << "the settings lie on one side of the threshold";
  expect_agreement_of_each(settings);
}

std::size_t settings_a_theorem() {
  const char* given = std::getenv("RUNG_PROOF_SETTINGS");
  return given ? std::strtoul(given, nullptr, 10) : 2000;
}

}  // namespace rung
