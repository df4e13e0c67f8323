// Commands that stand on libtorch are run by rung-learn, the program beside this one.
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/lab.h"
#include "cli/train.h"
#include "rung/base/program_path.h"

namespace rung::cli {
namespace {

Result<int> hand_over(const std::string& command) {
  const std::string program = find_program("rung-learn", true);
  if (program.empty())
    return fail(
        ErrorCode::unsupported,
        "[{}] rung-learn is missing beside {}/rung: this rung was built without libtorch (Debian package "
        "libtorch-dev)",
        command, program_folder());
  std::vector<std::string> words = program_arguments();
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  std::fflush(nullptr);
  execv(program.c_str(), argv.data());
  return fail(ErrorCode::io, "[{}] {} cannot be started: {}", command, program, std::strerror(errno));
}

}  // namespace

Result<int> run_train(const TrainFlags&) { return hand_over("train"); }
Result<int> run_lab(const LabFlags&) { return hand_over("lab"); }

}  // namespace rung::cli
