#include "rung/learn/diagonal_scan.h"

namespace rung::learn {
namespace {

torch::Tensor plain_scan(const ScanInputs& in) {
  const torch::Tensor a = in.a.unsqueeze(1);  // [E, 1, I, N]
  torch::Tensor h = torch::zeros({in.x.size(0), in.x.size(1), in.x.size(3), in.b.size(3)}, in.step.options().requires_grad(false));
  std::vector<torch::Tensor> y;
  for (std::int64_t t = 0; t < in.x.size(2); ++t) {
    const torch::Tensor step = in.step.select(2, t).unsqueeze(-1);                                                                  // [E, B, I, 1]
    const torch::Tensor b = in.b.select(2, t).unsqueeze(2), c = in.c.select(2, t).unsqueeze(2), x = in.x.select(2, t).unsqueeze(-1);  // [E, B, 1, N]
    h = (step * a).exp() * h + step * b * x;
    y.push_back((h * c).sum(-1));
  }
  return torch::stack(y, 2).to(in.x.dtype());
}

}  // namespace

torch::Tensor diagonal_scan(const ScanInputs& inputs, bool plain) {
  if (plain) return plain_scan(inputs);
  return plain_scan(inputs);
}

}  // namespace rung::learn
