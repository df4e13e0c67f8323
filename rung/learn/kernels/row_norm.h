// Row norms, forward and backward. A row x of `width` numbers becomes
//   rms:   y = gain * x / sqrt(mean(x^2) + epsilon)     gain per ensemble member, or none
//   unit:  y = x * scale / |x|                          all 0 for a zero row (keys of the delta rule)
// Rows come in `outer` groups of `inner` neighbours (positions and their heads), groups `stride` elements
// apart, so that slices of a fused projection are normed in place of being copied. The rows of member e are
// those of the groups [e outer / members, (e+1) outer / members).
#pragma once

#include <cstdint>

#include "rung/learn/kernels/element.h"

namespace rung::kernels {

struct NormShape {
  std::int64_t outer = 0, inner = 1, width = 0;  // rows = outer * inner; width at least 1
  std::int64_t members = 1;                      // REQUIRES members divides outer
  Element element = Element::f32;                // of x, y, dy, dx
  bool unit = false;
  float epsilon = 1e-6f;  // rms
  float scale = 1.0f;     // unit
};

struct NormRows {
  const void* data = nullptr;
  std::int64_t stride = 0;  // elements between groups; at least inner * width
};
struct MutableNormRows {
  void* data = nullptr;
  std::int64_t stride = 0;
  operator NormRows() const { return {data, stride}; }
};

// gain [members, width] float32, or null (1; unit has none). ENSURES y written and inverse [outer * inner] =
// 1 / root (unit: 1 / |x|, or 0). y may be x. One thread.
void row_norm_forward(const NormShape& shape, const NormRows& x, const float* gain, const MutableNormRows& y,
                      float* inverse);
// dgain [members, width], overwritten; REQUIRES not null exactly when gain is not. dx may be dy. Sums over
// rows go by blocks of kNormRowsPerBlock, blocks in order: the same bits on every call, and for a member
// alone or among others.
void row_norm_backward(const NormShape& shape, const NormRows& x, const float* gain, const float* inverse,
                       const NormRows& dy, const MutableNormRows& dx, float* dgain);
inline constexpr std::int64_t kNormRowsPerBlock = 256;

// The same on a device, queued on `stream` (a cudaStream_t). Returns 0 or a cudaError_t. The same bits on
// every call.
std::int64_t row_norm_scratch(const NormShape& shape);  // floats, for backward with a gain
int row_norm_forward_cuda(const NormShape& shape, const NormRows& x, const float* gain,
                          const MutableNormRows& y, float* inverse, void* stream);
int row_norm_backward_cuda(const NormShape& shape, const NormRows& x, const float* gain, const float* inverse,
                           const NormRows& dy, const MutableNormRows& dx, float* dgain, float* scratch,
                           void* stream);

}  // namespace rung::kernels
