// Random weights that read a task's prompts and write its answers: what an attack is tried on where nobody
// trained anything.
#pragma once

#include "rung/exact/random_model.h"
#include "rung/tasks/task.h"

namespace rung {

struct RandomRequest {
  std::string architecture;  // a line of the language
  std::int64_t width = 16, heads = 1;
  Precision precision = {NumberFormat::fixed, 8, 0};
  std::uint64_t seed = 1;
  std::optional<PositionCode> position = {};  // absent: none for an automaton task, else a table
};

// The context is the task's prompt, or none for an automaton task without positions, whose length is free
// (a log-linear layer needs one all the same); the output its answers: a threshold for yes or no, logits
// up to 4096 tokens, bits beyond. Errors: lines that do not parse, and those of random_weights().
Result<Weights> random_weights_for(const Task& task, const RandomRequest& target);

}  // namespace rung
