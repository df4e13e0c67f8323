// What rung bound says of a model, beside attacks on it. A file of its own: theory and adversary both speak
// of verdicts and outcomes, and mean different things.
#pragma once

#include <string>

#include "rung/spec/architecture.h"
#include "rung/tasks/task.h"

namespace rung {

// "impossible", "vacuous", ...: what this theorem says of the architecture on the task; empty when it
// says nothing. State entries have the file's width (a model whose sums wrap or round). `sum_bits`: of the sums of
// full layers; absent: rung bound's default.
std::string outcome_of_theorem(const std::string& id, const Architecture& architecture,
                               const std::string& task, const TaskSizes& sizes, std::int64_t context,
                               std::optional<std::int64_t> sum_bits = {});

}  // namespace rung
