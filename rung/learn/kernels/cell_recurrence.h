// The cells that are not linear in their state, forward and backward. Per sequence, with S numbers of state, x_t the
// input's share of the sums and g_t = U h_{t-1} + b,
//   rnn:  h_t = f(x_t + g_t), f = tanh or relu
//   gru:  z = s(x_z + g_z), r = s(x_r + g_r), n = tanh(x_n + r g_n), h_t = z h_{t-1} + (1 - z) n, s the logistic function
// With bits > 0 every h_t of a bounded cell (tanh, gru: |h| < 1) is rounded to the nearest of 2^bits - 1 multiples of
// 1 / (2^(bits-1) - 1/2), and gradients pass straight through.
// Backward, from dh_t = dy_t + what position t + 1 hands back: d_t = dL/d(sums) at t, e_t = dL/dg_t (gru: e_n = r d_n, else e = d),
//   dh_{t-1} gets U^T e_t, and z dh_t of a gru. dU = sum_t e_t h_{t-1}^T and db = sum_t e_t are left to the caller.
#pragma once

#include <cstdint>

#include "rung/learn/kernels/element.h"

namespace rung::kernels {

enum class CellKind { tanh, relu, gru };

struct CellShape {
  std::int64_t members = 1, sequences = 0, positions = 0, size = 0;  // E, N (REQUIRES E divides N), T, S
  CellKind kind = CellKind::tanh;
  int bits = 0;                    // of every state; 0: not rounded. REQUIRES 0 for relu, at most 16
  Element element = Element::f32;  // of sums, y and their gradients
};
// Rows of U: three gates of a gru.
constexpr std::int64_t cell_rows(const CellShape& shape) {
  return shape.size * (shape.kind == CellKind::gru ? 3 : 1);
}

struct CellInputs {
  const float* state = nullptr;  // U [E, R, S]
  const float* bias = nullptr;   // b [E, R]; null: 0
  Slice sums;                    // [N, T, R]
};

// Every element of states [N, T, S] and y [N, T, S] is overwritten.
void cell_forward(const CellShape& shape, const CellInputs& inputs, float* states, const MutableSlice& y);
// Every element of dsums [N, T, R] and e [N, T, R] is overwritten.
void cell_backward(const CellShape& shape, const CellInputs& inputs, const float* states, const Slice& dy,
                   const MutableSlice& dsums, float* e);

// The same on a device, queued on `stream` (a cudaStream_t). Returns 0 or a cudaError_t. The same bits on every
// call. REQUIRES cell_fits_device(shape).
bool cell_fits_device(const CellShape& shape);
int cell_forward_cuda(const CellShape& shape, const CellInputs& inputs, float* states, const MutableSlice& y,
                      void* stream);
int cell_backward_cuda(const CellShape& shape, const CellInputs& inputs, const float* states, const Slice& dy,
                       const MutableSlice& dsums, float* e, void* stream);

}  // namespace rung::kernels
