// The feature maps of linear attention.
#pragma once

#include "rung/learn/mixer.h"

namespace rung::learn {

// x [E, B, T, H, dk] -> [E, B, T, H, D]. taylor2: keys (1, x, x x^T), queries (2, 2x, x x^T).
torch::Tensor feature_map(FeatureMap feature, const torch::Tensor& x, bool query, bool plain);

}  // namespace rung::learn
