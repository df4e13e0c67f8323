// The bytes of a model file, without a file.
#pragma once

#include <string>

#include "rung/spec/weights.h"

namespace rung {

std::string model_bytes(const Weights& weights);

}  // namespace rung
