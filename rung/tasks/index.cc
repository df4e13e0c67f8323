// Index: Eva with values of an alphabet of its own, f: [n] → [σ]; σ = 2 is the communication problem of that
// name.
#include "rung/tasks/evaluation.h"
#include "rung/tasks/task_list.h"

namespace rung {

TaskWord index_word() {
  return {.name = "index",
          .summary = "f(0) ... f(n-1), x -> f(x), with f: [n] -> [sigma]",
          .sizes = {{"n", "arguments of f", 8, 1, kMaxPromptLength - 1},
                    {"sigma", "values of f", 2, 1, kMaxAlphabet}},
          .make = [](const TaskSizes& sizes, const TaskOptions&) -> Result<std::unique_ptr<Task>> {
            return make_evaluation_task("index", sizes.at("n"), sizes.at("sigma"));
          }};
}

}  // namespace rung
