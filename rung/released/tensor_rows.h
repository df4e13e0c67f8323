// Tensors cut, joined and reordered along their first axis, in their own dtype. Views share the bytes.
#pragma once

#include <span>
#include <vector>

#include "rung/spec/safetensors.h"

namespace rung {

// Rows [begin, end), a view. REQUIRES them to be there.
Tensor rows_of(const Tensor& tensor, std::int64_t begin, std::int64_t end);
// The rows of this list, in its order; a copy.
Tensor gathered_rows(const Tensor& tensor, std::span<const std::int64_t> rows);
// One below the other. REQUIRES equal row shapes; another dtype becomes f64.
Tensor joined_rows(std::span<const Tensor> tensors);
// The same numbers in another shape. REQUIRES as many of them.
Tensor reshaped(Tensor tensor, std::vector<std::int64_t> shape);
// [channels][1][width], the newest tap last, as [channels][width], the newest first.
Tensor flipped_taps(const Tensor& tensor);
std::vector<double> reals_of(const Tensor& tensor);
// f(x) of every number, in f64.
template <class F>
Tensor mapped(const Tensor& tensor, F f) {
  auto values = reals_of(tensor);
  for (auto& value : values) value = f(value);
  return real_tensor(tensor.shape, values, DType::f64);
}

}  // namespace rung
