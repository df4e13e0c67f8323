#include "rung/learn/pass.h"

#include <cmath>

namespace rung::learn {
namespace {

// Straight through: the gradient of a rounded value is that of the value, 0 where it saturated.
class RoundStraightThrough : public torch::autograd::Function<RoundStraightThrough> {
 public:
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& x, double unit, double low, double high) {
    const torch::Tensor scaled = x / unit;
    context->save_for_backward({scaled.ge(low).logical_and_(scaled.le(high))});
    return scaled.round().clamp_(low, high).mul_(unit);
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context, torch::autograd::variable_list gradients) {
    return {gradients[0] * context->get_saved_variables()[0], {}, {}, {}};
  }
};

}  // namespace

torch::Tensor ActivationRounding::apply(const std::string& name, const torch::Tensor& x) {
  const double half_range = std::ldexp(1.0, bits_ - 1);
  if (observing_ || !fractions_.contains(name)) {
    const double largest = x.detach().abs().max().item<double>();
    // The largest f with largest * 2^f <= 2^(p-1) - 1/2, so that it still rounds to a number of p bits.
    const int fraction = largest > 0 && std::isfinite(largest) ? static_cast<int>(std::floor(std::log2((half_range - 0.5) / largest))) : 0;
    const auto [at, fresh] = fractions_.emplace(name, fraction);
    if (!fresh) at->second = fraction;
  }
  const double unit = std::ldexp(1.0, -fractions_.at(name));
  return RoundStraightThrough::apply(x, unit, -half_range, half_range - 1);
}

torch::Tensor Pass::drop(const torch::Tensor& x) const {
  if (!training || dropout <= 0) return x;
  torch::Tensor kept = torch::empty_like(x, x.options().requires_grad(false));
  if (generator.defined())
    kept.bernoulli_(1 - dropout, generator);
  else
    kept.bernoulli_(1 - dropout);
  return x * kept / (1 - dropout);
}

torch::Tensor apply_map(const torch::Tensor& x, const torch::Tensor& weight, const torch::Tensor& bias) {
  const std::int64_t members = x.size(0), prompts = x.size(1), length = x.size(2);
  if (members == 1) {
    const torch::Tensor rows = x.reshape({prompts * length, x.size(3)});
    const torch::Tensor matrix = weight.select(0, 0).t();
    const torch::Tensor out = bias.defined() ? torch::addmm(bias.select(0, 0), rows, matrix) : torch::mm(rows, matrix);
    return out.view({1, prompts, length, weight.size(1)});
  }
  const torch::Tensor rows = x.reshape({members, prompts * length, x.size(3)});
  const torch::Tensor matrix = weight.transpose(1, 2);
  const torch::Tensor out = bias.defined() ? torch::baddbmm(bias.unsqueeze(1), rows, matrix) : torch::bmm(rows, matrix);
  return out.view({members, prompts, length, weight.size(1)});
}

}  // namespace rung::learn
