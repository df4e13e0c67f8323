// The short convolution inside a mixer (conv=w) and the mixer `conv`: channel c at t becomes sum_j weight[c][j] x_{t-j}[c].
#pragma once

#include "rung/learn/mixer.h"

namespace rung::learn {

class ShortConvolution {
 public:
  // Tensor `prefix`conv.weight [channels, taps].
  ShortConvolution(const std::string& prefix, std::int64_t channels, std::int64_t taps, ParameterLayout& layout, const char* name = "conv.weight");
  torch::Tensor forward(const torch::Tensor& x, const Leaves& leaves) const;  // [E, B, T, C] -> the same

 private:
  ParameterLayout::Index weight_;
};

}  // namespace rung::learn
