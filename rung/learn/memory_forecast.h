// The memory of a training run before it starts: one step with one prompt and one with two are run and their
// allocations counted; the rest is a straight line in the number of prompts.
#pragma once

#include "rung/learn/lesson.h"

namespace rung::learn {

struct MemoryNeed {
  std::int64_t step = 0;        // bytes of one member's step at the plan's batch, gradients and activations
  std::int64_t parameters = 0;  // bytes of one member's parameters, moments, gradients and copies
};

// REQUIRES that the scores of one prompt fit (prompt_bytes): the trial itself is small.
MemoryNeed measure_step(const TrainingPlan& plan, const Lesson& lesson, const Model& model,
                        torch::Device device);
// A lower bound on what one prompt needs, without running anything.
std::int64_t prompt_bytes(const Model& model, std::int64_t length);

// Of this process: resident now, the most so far, and what the machine can still give.
struct HostMemory {
  std::int64_t resident = 0, peak = 0, available = 0;
};
HostMemory host_memory();

}  // namespace rung::learn
