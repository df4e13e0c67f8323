// rung-learn: the commands that stand on libtorch, in a program of their own, so that the others start
// without it. `rung` hands them over.
#include "cli/command.h"

namespace rung::cli {

std::vector<Command> command_list() { return {train_command(), lab_command()}; }

}  // namespace rung::cli
