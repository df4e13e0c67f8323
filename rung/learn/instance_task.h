// What the kernels must know of a task to draw its instances.
#pragma once

#include <optional>

#include "rung/learn/kernels/task_instances.h"
#include "rung/tasks/task.h"

namespace rung::learn {

// Nothing for tasks and variants that they do not draw. ENSURES no further questions, no chain of thought. The tables of
// an automaton and the weights of gaps are the task's own, and live as long as it does.
std::optional<kernels::InstanceTask> instance_task(const Task& task, Variant variant = Variant::uniform);

}  // namespace rung::learn
