// Tensors as the kernels see them: pointers and strides.
#pragma once

#include "rung/base/require.h"
#include "rung/learn/device_stream.h"
#include "rung/learn/kernels/element.h"
#include "rung/learn/torch.h"

namespace rung::learn {

inline kernels::Element element_of(const torch::Tensor& x) {
  RUNG_REQUIRE(x.scalar_type() == torch::kFloat32 || x.scalar_type() == torch::kBFloat16, "element type {}",
               c10::toString(x.scalar_type()));
  return x.scalar_type() == torch::kFloat32 ? kernels::Element::f32 : kernels::Element::bf16;
}

// Whether [E, B, T, ...] is what a kernel takes: heads and numbers side by side, sequences evenly spaced.
inline bool is_sliced(const torch::Tensor& x) {
  std::int64_t step = 1;
  for (std::int64_t d = x.dim() - 1; d > 2; --d) {
    if (x.size(d) != 1 && x.stride(d) != step) return false;
    step *= x.size(d);
  }
  return x.size(0) == 1 || x.stride(0) == x.size(1) * x.stride(1);
}
inline torch::Tensor sliced(const torch::Tensor& x) { return is_sliced(x) ? x : x.contiguous(); }

// REQUIRES is_sliced(x).
inline kernels::Slice slice_of(const torch::Tensor& x) { return {x.data_ptr(), x.stride(1), x.stride(2)}; }
inline kernels::MutableSlice mutable_slice_of(torch::Tensor& x) {
  return {x.data_ptr(), x.stride(1), x.stride(2)};
}
inline const float* floats_of(const torch::Tensor& x) { return x.defined() ? x.data_ptr<float>() : nullptr; }

// An argument that may be absent: libtorch 1.13 takes no undefined tensor into a function, so an empty one
// stands for it.
inline torch::Tensor or_empty(const torch::Tensor& x, const torch::Tensor& like) {
  return x.defined() ? x : torch::empty({0}, like.options().requires_grad(false));
}
inline bool is_given(const torch::Tensor& x) { return x.defined() && x.numel() > 0; }

}  // namespace rung::learn
