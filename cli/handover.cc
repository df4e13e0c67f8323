// Commands that stand on libtorch are run by rung-learn, the program beside this one.
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/lab.h"
#include "cli/train.h"

namespace rung::cli {
namespace {

Result<int> hand_over(const std::string& command) {
  namespace fs = std::filesystem;
  std::error_code code;
  const fs::path here = fs::read_symlink("/proc/self/exe", code).parent_path();
  if (code)
    return fail(ErrorCode::io, "[{}] this program's own place is not known: {}", command, code.message());
  for (const fs::path& place : {here / "rung-learn", here / ".." / "libexec" / "rung" / "rung-learn"}) {
    if (!fs::exists(place, code)) continue;
    std::vector<std::string> words = program_arguments();
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    std::fflush(nullptr);
    execv(place.c_str(), argv.data());
    return fail(ErrorCode::io, "[{}] {} cannot be started: {}", command, place.string(),
                std::strerror(errno));
  }
  return fail(ErrorCode::unsupported,
              "[{}] rung-learn is missing beside {}: this rung was built without libtorch (Debian package "
              "libtorch-dev)",
              command, (here / "rung").string());
}

}  // namespace

Result<int> run_train(const TrainFlags&) { return hand_over("train"); }
Result<int> run_lab(const LabFlags&) { return hand_over("lab"); }

}  // namespace rung::cli
