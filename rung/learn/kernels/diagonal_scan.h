// The diagonal recurrence of mamba, forward and backward. Per sequence, with I channels of J numbers of state
// each,
//   h_t[i][j] = exp(step_t[i] a[i][j]) h_{t-1}[i][j] + step_t[i] b_t[j] x_t[i],   h_0 = 0
//   y_t[i] = sum_j c_t[j] h_t[i][j]
// Backward: g_t = c_t dy_t + exp(step_{t+1} a) g_{t+1} is dL/dh_t; with w_t = g_t exp(step_t a) h_{t-1}
//   da = sum_t step w,  dstep = sum_j a w + b x g,  dx = step sum_j b g,  db = sum_i step x g,  dc = sum_i h
//   dy.
#pragma once

#include <cstdint>

#include "rung/learn/kernels/element.h"

namespace rung::kernels {

struct ScanShape {
  std::int64_t members = 1, sequences = 0, positions = 0;  // E, N (REQUIRES E divides N), T
  std::int64_t channels = 0, states = 0;                   // I, J
  Element element = Element::f32;                          // of x, step, b, c, y and their gradients
};

struct ScanInputs {
  const float* a = nullptr;  // [E, I, J], negative
  Slice step, x;             // [N, T, I]
  Slice b, c;                // [N, T, J]
};

// Every element is overwritten. da is summed over the member's sequences in order.
struct ScanGradients {
  MutableSlice dstep, dx, db, dc;
  float* da = nullptr;  // [E, I, J]
};

void diagonal_scan_forward(const ScanShape& shape, const ScanInputs& inputs, const MutableSlice& y);
void diagonal_scan_backward(const ScanShape& shape, const ScanInputs& inputs, const Slice& dy,
                            const ScanGradients& gradients);

// The same on a device, queued on `stream` (a cudaStream_t). Returns 0 or a cudaError_t. The same bits on
// every call. Forward keeps the state before every kScanSegment-th token in `checkpoints` (scan_checkpoints
// floats; null: not kept); backward makes the states between again. REQUIRES scan_fits_device(shape).
inline constexpr std::int64_t kScanSegment = 16;
bool scan_fits_device(const ScanShape& shape);
std::int64_t scan_checkpoints(const ScanShape& shape);       // floats
std::int64_t diagonal_scan_scratch(const ScanShape& shape);  // floats, for backward
int diagonal_scan_forward_cuda(const ScanShape& shape, const ScanInputs& inputs, const MutableSlice& y,
                               float* checkpoints, void* stream);
int diagonal_scan_backward_cuda(const ScanShape& shape, const ScanInputs& inputs, const Slice& dy,
                                const float* checkpoints, const ScanGradients& gradients, float* scratch,
                                void* stream);

}  // namespace rung::kernels
