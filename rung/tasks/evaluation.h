// Evaluation of a written-out function: f(0) … f(n-1), x → f(x) with f: [n] → [σ]. Eva is σ = n, Index any σ.
#pragma once

#include <memory>
#include <string_view>

#include "rung/tasks/task.h"

namespace rung {

// REQUIRES 1 <= n < kMaxPromptLength, 1 <= sigma <= kMaxAlphabet; `name` outlives the task.
std::unique_ptr<Task> make_evaluation_task(std::string_view name, std::int64_t n, std::int64_t sigma);

}  // namespace rung
