// The embedding of prompts as one operation (kernels/embedding_sum.h): rows of the fields' tables and of the
// position's.
#pragma once

#include <vector>

#include "rung/learn/torch.h"

namespace rung::learn {

// tokens: one [E, B, T] int64 tensor a field; tables [E, size, W]; position [E, rows, W] or undefined. [E, B,
// T, W] REQUIRES at most 8 fields.
torch::Tensor embedding_sum(const std::vector<torch::Tensor>& tokens,
                            const std::vector<torch::Tensor>& tables, const torch::Tensor& position);

}  // namespace rung::learn
