// rnn and gru over a whole sequence (kernels/cell_recurrence.h has the formulas).
#pragma once

#include "rung/learn/kernels/cell_recurrence.h"
#include "rung/learn/torch.h"

namespace rung::learn {

struct CellInputs {
  torch::Tensor sums;   // [E, B, T, R], the input's share
  torch::Tensor state;  // U [E, R, S]
  torch::Tensor bias;   // [E, R], or undefined
  kernels::CellKind kind = kernels::CellKind::tanh;
  int bits = 0;  // of every state; 0: not rounded
};

// Whether cell_recurrence computes it: any size on a CPU, small ones on a device.
bool has_cell_kernel(const CellInputs& inputs);
// [E, B, T, S]. REQUIRES has_cell_kernel(inputs).
torch::Tensor cell_recurrence(const CellInputs& inputs);

}  // namespace rung::learn
