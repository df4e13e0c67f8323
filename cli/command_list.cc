// The explicit list: a command is added by adding its file and its line here.
#include "cli/command.h"

namespace rung::cli {

std::vector<Command> command_list() {
  return {
      hierarchy_command(), show_command(),     compare_command(),  design_command(),   task_command(),
      build_command(),     bound_command(),    break_command(),    verify_command(),   train_command(),
      lab_command(),       eval_command(),     quantise_command(), protocol_command(), export_command(),
      import_command(),    capacity_command(), class_command(),    ceiling_command(),  runs_command(),
      serve_command(),     report_command(),   pipe_command(),     probe_command(),
  };
}

}  // namespace rung::cli
