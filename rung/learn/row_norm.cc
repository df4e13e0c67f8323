#include "rung/learn/row_norm.h"

namespace rung::learn {

torch::Tensor rms_norm(const torch::Tensor& x, const torch::Tensor& gain, bool) {
  const torch::Tensor wide = x.to(torch::kFloat32);
  const torch::Tensor scale = wide.square().mean(-1, true).add(kNormEpsilon).rsqrt();
  return (wide * scale).to(x.dtype()) * gain.unsqueeze(1).unsqueeze(1);
}

torch::Tensor unit_rows(const torch::Tensor& x, bool) {
  constexpr double kTiny = 1e-24;  // below every square that float32 keeps apart from 0 here; makes the zero row 0
  const torch::Tensor wide = x.to(torch::kFloat32);
  return (wide * wide.square().sum(-1, true).add(kTiny).rsqrt()).to(x.dtype());
}

}  // namespace rung::learn
