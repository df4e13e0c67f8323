// Eva: f(0) … f(n-1), x → f(x), f: [n] → [n].
#include "rung/tasks/evaluation.h"
#include "rung/tasks/task_list.h"

namespace rung {

TaskWord eva_word() {
  return {.name = "eva",
          .summary = "f(0) ... f(n-1), x -> f(x), with f: [n] -> [n]",
          .sizes = {{"n", "arguments and values of f", 8, 1, kMaxPromptLength - 1}},
          .make = [](const TaskSizes& sizes, const TaskOptions&) -> Result<std::unique_ptr<Task>> {
            return make_evaluation_task("eva", sizes.at("n"), sizes.at("n"));
          }};
}

}  // namespace rung
