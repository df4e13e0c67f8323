#include "rung/learn/kernels/row_norm.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "rung/base/require.h"
#include "rung/learn/kernels/vector_clones.h"

namespace rung::kernels {
namespace {

template <class T>
RUNG_KERNEL_INLINE void forward_rows(const NormShape& shape, const NormRows& x, const float* gain,
                                     const MutableNormRows& y, float* inverse) {
  const std::int64_t width = shape.width;
  for (std::int64_t o = 0; o < shape.outer; ++o) {
    const float* factor = gain ? gain + o / (shape.outer / shape.members) * width : nullptr;
    for (std::int64_t i = 0; i < shape.inner; ++i) {
      const T* in = static_cast<const T*>(x.data) + o * x.stride + i * width;
      T* out = static_cast<T*>(y.data) + o * y.stride + i * width;
      float squares = 0.0f;
#pragma omp simd reduction(+ : squares)
      for (std::int64_t c = 0; c < width; ++c) squares += to_float(in[c]) * to_float(in[c]);
      float root = 0.0f;
      if (shape.unit)
        root = squares > 0.0f || squares != squares ? 1.0f / std::sqrt(squares) : 0.0f;
      else
        root = 1.0f / std::sqrt(squares / static_cast<float>(width) + shape.epsilon);
      inverse[o * shape.inner + i] = root;
      if (factor)
        for (std::int64_t c = 0; c < width; ++c) store(out[c], to_float(in[c]) * root * factor[c]);
      else
        for (std::int64_t c = 0; c < width; ++c)
          store(out[c], to_float(in[c]) * (shape.unit ? shape.scale * root : root));
    }
  }
}

// One row: dx = r (g dy) - x r^3 / width <g dy, x>;  unit: scale r (dy - x r^2 <x, dy>).
template <class T>
RUNG_KERNEL_INLINE void backward_row(const NormShape& shape, const T* x, const float* gain, float root,
                                     const T* dy, T* dx, float* dgain) {
  const std::int64_t width = shape.width;
  float inner = 0.0f;
  if (gain) {
#pragma omp simd reduction(+ : inner)
    for (std::int64_t c = 0; c < width; ++c) inner += to_float(dy[c]) * gain[c] * to_float(x[c]);
  } else {
#pragma omp simd reduction(+ : inner)
    for (std::int64_t c = 0; c < width; ++c) inner += to_float(dy[c]) * to_float(x[c]);
  }
  const float along = inner * root * root / (shape.unit ? 1.0f : static_cast<float>(width));
  const float outside = shape.unit ? shape.scale * root : root;
  if (gain) {
    for (std::int64_t c = 0; c < width; ++c) {
      const float in = to_float(x[c]), out = to_float(dy[c]);
      dgain[c] += out * in * root;
      store(dx[c], outside * (out * gain[c] - in * along));
    }
  } else {
    for (std::int64_t c = 0; c < width; ++c)
      store(dx[c], outside * (to_float(dy[c]) - to_float(x[c]) * along));
  }
}

template <class T>
RUNG_KERNEL_INLINE void backward_rows(const NormShape& shape, const NormRows& x, const float* gain,
                                      const float* inverse, const NormRows& dy, const MutableNormRows& dx,
                                      float* dgain, float* block) {
  const std::int64_t width = shape.width, each = shape.outer / shape.members;
  for (std::int64_t e = 0; e < shape.members; ++e) {
    const float* factor = gain ? gain + e * width : nullptr;
    float* total = gain ? dgain + e * width : nullptr;
    if (gain) std::fill(total, total + width, 0.0f);
    if (gain) std::fill(block, block + width, 0.0f);
    for (std::int64_t r = 0; r < each * shape.inner; ++r) {
      const std::int64_t o = e * each + r / shape.inner, i = r % shape.inner;
      backward_row<T>(shape, static_cast<const T*>(x.data) + o * x.stride + i * width, factor,
                      inverse[o * shape.inner + i],
                      static_cast<const T*>(dy.data) + o * dy.stride + i * width,
                      static_cast<T*>(dx.data) + o * dx.stride + i * width, block);
      if (gain && ((r + 1) % kNormRowsPerBlock == 0 || r + 1 == each * shape.inner))
        for (std::int64_t c = 0; c < width; ++c) {
          total[c] += block[c];
          block[c] = 0.0f;
        }
    }
  }
}

RUNG_KERNEL_CLONES void forward_f32(const NormShape& shape, const NormRows& x, const float* gain,
                                    const MutableNormRows& y, float* inverse) {
  forward_rows<float>(shape, x, gain, y, inverse);
}
RUNG_KERNEL_CLONES void forward_bf16(const NormShape& shape, const NormRows& x, const float* gain,
                                     const MutableNormRows& y, float* inverse) {
  forward_rows<Bf16>(shape, x, gain, y, inverse);
}
RUNG_KERNEL_CLONES void backward_f32(const NormShape& shape, const NormRows& x, const float* gain,
                                     const float* inverse, const NormRows& dy, const MutableNormRows& dx,
                                     float* dgain, float* block) {
  backward_rows<float>(shape, x, gain, inverse, dy, dx, dgain, block);
}
RUNG_KERNEL_CLONES void backward_bf16(const NormShape& shape, const NormRows& x, const float* gain,
                                      const float* inverse, const NormRows& dy, const MutableNormRows& dx,
                                      float* dgain, float* block) {
  backward_rows<Bf16>(shape, x, gain, inverse, dy, dx, dgain, block);
}

void require_shape(const NormShape& shape, const float* gain) {
  RUNG_REQUIRE(shape.outer >= 0 && shape.inner >= 1 && shape.width >= 1, "outer={} inner={} width={}",
               shape.outer, shape.inner, shape.width);
  RUNG_REQUIRE(shape.members >= 1 && shape.outer % shape.members == 0, "members={} outer={}", shape.members,
               shape.outer);
  RUNG_REQUIRE(!(shape.unit && gain), "the unit norm has no gain");
}

}  // namespace

void row_norm_forward(const NormShape& shape, const NormRows& x, const float* gain, const MutableNormRows& y,
                      float* inverse) {
  require_shape(shape, gain);
  (shape.element == Element::f32 ? forward_f32 : forward_bf16)(shape, x, gain, y, inverse);
}

void row_norm_backward(const NormShape& shape, const NormRows& x, const float* gain, const float* inverse,
                       const NormRows& dy, const MutableNormRows& dx, float* dgain) {
  require_shape(shape, gain);
  RUNG_REQUIRE((gain == nullptr) == (dgain == nullptr), "a gain needs a place for its gradient");
  std::vector<float> block(static_cast<std::size_t>(gain ? shape.width : 0));
  (shape.element == Element::f32 ? backward_f32 : backward_bf16)(shape, x, gain, inverse, dy, dx, dgain,
                                                                 block.data());
}

}  // namespace rung::kernels
