// replay CORPUS: runs every target on every file of CORPUS/<target>. Without libFuzzer, so that any compiler
// builds it; it ends by a signal where a target does.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "tests/fuzz/targets.h"

int main(int count, char** words) {
  if (count != 2) return 2;
  for (const auto& target : rung::fuzz::kTargets) {
    std::vector<std::filesystem::path> files;
    std::error_code code;
    for (const auto& entry :
         std::filesystem::directory_iterator(std::filesystem::path(words[1]) / target.name, code))
      files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    if (code || files.empty()) {
      std::fprintf(stderr, "replay: no corpus for %s\n", target.name);
      return 1;
    }
    for (const auto& path : files) {
      std::ifstream file(path, std::ios::binary);
      const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
      std::printf("%s %s\n", target.name, path.filename().c_str());
      std::fflush(stdout);  // the last line names what ended the run
      target.run(bytes);
    }
  }
  return 0;
}
