// What the kernels must know of a task to draw its uniform instances.
#pragma once

#include <optional>

#include "rung/learn/kernels/task_instances.h"
#include "rung/tasks/task.h"

namespace rung::learn {

// Nothing for tasks that they do not draw. ENSURES no further questions. The tables of an automaton are the task's
// own, and live as long as it does.
std::optional<kernels::InstanceTask> instance_task(const Task& task);

}  // namespace rung::learn
