// A task of EleutherAI's lm-evaluation-harness: the YAML that goes with the rows of RowForm::question.
#pragma once

#include <string>

#include "rung/tasks/task.h"

namespace rung {

// `data_file`: where the harness finds the rows (a path, relative to where it is started).
std::string lm_eval_config(const Task& task, Variant variant, const std::string& data_file);

}  // namespace rung
