// Training by rung-learn, the program that stands on libtorch: a plan in a file for it, its records from a store.
#pragma once

#include "rung/records/training_run.h"

namespace rung::cli {

// `trainer`: the program. Errors: one that cannot be started, files that cannot be written or read.
Result<TrainingReply> train_by(const std::string& trainer, const TrainingOrder& order);

}  // namespace rung::cli
