// The short convolution inside a mixer (conv=w) and the mixer `conv`: channel c at t becomes sum_j
// weight[c][j] x_{t-j}[c].
#pragma once

#include <optional>

#include "rung/learn/mixer.h"

namespace rung::learn {

class ShortConvolution {
 public:
  // Tensor `prefix`conv.weight [channels, taps].
  ShortConvolution(const std::string& prefix, std::int64_t channels, std::int64_t taps,
                   ParameterLayout& layout, const char* name = "conv.weight");
  torch::Tensor forward(const torch::Tensor& x, const Leaves& leaves) const;  // [E, B, T, C] -> the same

 private:
  ParameterLayout::Index weight_;
};

// The rows of a stacked map, the first `convolved` of them through the convolution where there is one.
std::vector<torch::Tensor> convolved_rows(const torch::Tensor& all,
                                          const std::optional<ShortConvolution>& conv, std::size_t convolved,
                                          const std::vector<std::int64_t>& sizes, const Leaves& leaves);

// The number of rows that maps of u are to be a multiple of. Products and copies on a device move sixteen
// bytes at a time where rows are a multiple of that: 8 for bfloat16; elsewhere 1.
inline std::int64_t row_multiple(const torch::Tensor& u) {
  return u.is_cuda() && u.scalar_type() == torch::kBFloat16 ? 8 : 1;
}
// convolved_rows of u times weight. Where the rows are no multiple of `multiple`, zeros follow them, in one
// part with the rows that are not convolved: the gates are few, and a part of two rows slows the gradients of
// all.
std::vector<torch::Tensor> mapped_rows(const torch::Tensor& u, const torch::Tensor& weight,
                                       std::int64_t multiple, const std::optional<ShortConvolution>& conv,
                                       std::size_t convolved, const std::vector<std::int64_t>& sizes,
                                       const Leaves& leaves);

}  // namespace rung::learn
