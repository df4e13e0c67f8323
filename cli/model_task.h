// The task that a command runs a model on.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cli/task_flags.h"
#include "rung/spec/weights.h"

namespace rung::cli {

// The task that the flags name, or the one that the model was made for; sizes on the command line win.
// `model` and `area` are for the message when neither names one.
Result<std::unique_ptr<Task>> model_task(const Weights& weights, const std::string& model,
                                         const std::optional<std::string>& name, const TaskFlags& flags,
                                         std::string_view area);

}  // namespace rung::cli
