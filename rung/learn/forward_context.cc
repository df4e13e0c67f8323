#include "rung/learn/forward_context.h"

#include <cmath>

#include "rung/learn/kernel_view.h"
#include "rung/learn/kernels/bias_rows.h"
#include "rung/learn/kernels/row_map.h"

namespace rung::learn {
namespace {

// The gradient of a rounded value is that of the value, 0 where it saturated.
class RoundStraightThrough : public torch::autograd::Function<RoundStraightThrough> {
 public:
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& x,
                               const torch::Tensor& unit, double low, double high) {
    const torch::Tensor scaled = x / unit;
    context->save_for_backward({scaled.ge(low).logical_and_(scaled.le(high))});
    return scaled.round().clamp(low, high) * unit;
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    return {gradients[0] * context->get_saved_variables()[0], torch::Tensor(), torch::Tensor(),
            torch::Tensor()};
  }
};

// rows [E, R, C] times weight [E, N, C], plus bias [E, N], of many members on a device.
class BiasedProduct : public torch::autograd::Function<BiasedProduct> {
 public:
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& rows,
                               const torch::Tensor& weight, const torch::Tensor& bias) {
    torch::Tensor out = torch::bmm(rows, weight.transpose(1, 2));
    const torch::Tensor added = bias.contiguous();
    check_device(kernels::add_bias_cuda({out.size(0), out.size(1), out.size(2), element_of(out),
                                         out.data_ptr(), added.data_ptr()},
                                        current_stream()),
                 "add_bias");
    context->save_for_backward({rows, weight});
    return out;
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const torch::Tensor& slope = gradients[0];
    return {torch::bmm(slope, saved[1]), torch::bmm(slope.transpose(1, 2), saved[0]), slope.sum(1)};
  }
};

// x [E, B, T, C] times weight [E, R, C], plus bias [E, R] where it is given, in float32 on the CPU.
class RowMap : public torch::autograd::Function<RowMap> {
 public:
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& given,
                               const torch::Tensor& given_weight, const torch::Tensor& given_bias) {
    const torch::Tensor x = given.contiguous(), weight = member_numbers(given_weight),
                        bias = is_given(given_bias) ? member_numbers(given_bias) : torch::Tensor();
    torch::Tensor y = torch::empty({x.size(0), x.size(1), x.size(2), weight.size(1)}, x.options());
    kernels::row_map_forward(shape_of(x, weight), x.data_ptr<float>(), weights_of(weight, bias),
                             y.data_ptr<float>());
    context->save_for_backward({x, weight});
    context->saved_data["biased"] = bias.defined();
    context->saved_data["of_rows"] = given.requires_grad();
    return y;
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const torch::Tensor &x = saved[0], &weight = saved[1], dy = gradients[0].contiguous();
    torch::Tensor dx, dbias, dweight = torch::empty(weight.sizes(), weight.options());
    if (context->saved_data["of_rows"].toBool()) dx = torch::empty_like(x);
    if (context->saved_data["biased"].toBool())
      dbias = torch::empty({weight.size(0), weight.size(1)}, weight.options());
    kernels::row_map_backward(shape_of(x, weight), x.data_ptr<float>(), weights_of(weight, {}),
                              dy.data_ptr<float>(),
                              {dx.defined() ? dx.data_ptr<float>() : nullptr, dweight.data_ptr<float>(),
                               dbias.defined() ? dbias.data_ptr<float>() : nullptr});
    return {dx, dweight, dbias};
  }

 private:
  // A parameter as it lies in the members' buffer, or a copy without gaps where it lies otherwise.
  static torch::Tensor member_numbers(const torch::Tensor& x) {
    return x.select(0, 0).is_contiguous() ? x : x.contiguous();
  }
  static kernels::RowMapShape shape_of(const torch::Tensor& x, const torch::Tensor& weight) {
    return {x.size(0), x.size(1) * x.size(2), weight.size(2), weight.size(1)};
  }
  static kernels::RowMapWeights weights_of(const torch::Tensor& weight, const torch::Tensor& bias) {
    return {weight.data_ptr<float>(), weight.stride(0), floats_of(bias), bias.defined() ? bias.stride(0) : 0};
  }
};

// How fast a unit forgets an outlier: by half in 70 steps.
constexpr double kKept = 0.99;

}  // namespace

int ActivationRounding::width(const std::string& name) const {
  const std::string last = name.substr(name.rfind('.') + 1);
  if (last == "gate" || last == "beta") return std::max(bits_, 12);
  return bits_ + (last.starts_with("norm") || last == "key" ? 4 : 0);
}

// The smallest power of two u with largest / u <= 2^(p-1) - 1/2: the largest value still rounds to a number
// of p bits.
torch::Tensor ActivationRounding::unit(const torch::Tensor& seen, int width) const {
  const double top = std::ldexp(1.0, width - 1) - 0.5;
  const torch::Tensor least = seen.clamp_min(1e-30) / top;
  return places_ == Places::carried ? least : torch::exp2(least.log2().ceil());
}

torch::Tensor ActivationRounding::apply(const std::string& name, const torch::Tensor& x, Unit change) {
  const bool carried = places_ == Places::carried;
  if (carried) {
    const std::string last = name.substr(name.rfind('.') + 1);
    if (last != "y" && last != "state" && last != "h") return x;
  }
  torch::Tensor units;
  {
    const torch::NoGradGuard no_grad;
    const auto found = largest.find(name);
    if (watching || change != Unit::stays || found == largest.end()) {
      const torch::Tensor all = carried ? x.detach().flatten(1, -2) : x.detach().flatten(1);
      const torch::Tensor now = all.abs().amax(1).to(torch::kFloat32);  // [E], or [E, C]
      if (found == largest.end() || found->second.sizes() != now.sizes()) {
        largest[name] = now.clone();
      } else {
        if (!watching && change == Unit::follows) found->second.mul_(kKept);
        found->second.copy_(torch::maximum(found->second, now));
      }
    }
    if (watching) return x;
    std::vector<std::int64_t> shape(static_cast<std::size_t>(x.dim()), 1);
    shape[0] = x.size(0);
    if (carried) shape.back() = x.size(-1);
    units = unit(largest.at(name), width(name)).to(x.dtype()).view(shape);
  }
  const double half_range = std::ldexp(1.0, width(name) - 1);
  return RoundStraightThrough::apply(x, units, -half_range, half_range - 1);
}

std::map<std::string, int> ActivationRounding::fractions(std::int64_t member) const {
  std::map<std::string, int> out;
  for (const auto& [name, seen] : largest) {
    const double power = std::log2(unit(seen, width(name))[member].item<double>());
    if (std::isfinite(power))
      out[name] = -static_cast<int>(std::lround(power));  // a member that failed has none
  }
  return out;
}

StateRounding ForwardContext::state_rounding(const std::string& name) const {
  if (!rounding) return {};
  return [this, name](const torch::Tensor& state, bool last) {
    using Unit = ActivationRounding::Unit;
    return rounding->apply(name, state, !training ? Unit::stays : last ? Unit::follows : Unit::makes_room);
  };
}

torch::Tensor ForwardContext::drop(const torch::Tensor& x) const {
  if (!drops()) return x;
  const torch::NoGradGuard no_grad;
  // SplitMix64's mixing of a counter (int64 arithmetic wraps; right shifts carry the sign, which mixes as
  // well).
  constexpr auto kGamma = static_cast<std::int64_t>(0x9E3779B97F4A7C15ULL),
                 kFirst = static_cast<std::int64_t>(0xBF58476D1CE4E5B9ULL),
                 kSecond = static_cast<std::int64_t>(0x94D049BB133111EBULL);
  const std::int64_t each = x.numel() / x.size(0), place = places++;
  const auto mixed = [&](torch::Tensor z) {
    z = z.bitwise_xor(z.bitwise_right_shift(30)) * kFirst;
    z = z.bitwise_xor(z.bitwise_right_shift(27)) * kSecond;
    return z.bitwise_xor(z.bitwise_right_shift(31));
  };
  const torch::Tensor key =
      mixed(mixed(seeds * kGamma) + (step + place * (std::int64_t{1} << 40)) * kGamma);  // [E]
  const torch::Tensor drawn =
      mixed(key.unsqueeze(1) + torch::arange(each, key.options()).unsqueeze(0) * kGamma);
  constexpr std::int64_t kSteps = std::int64_t{1} << 24;
  const torch::Tensor kept =
      drawn.bitwise_and(kSteps - 1) <
      static_cast<std::int64_t>(std::llround((1 - dropout) * static_cast<double>(kSteps)));
  const torch::Tensor factor = (kept.to(x.scalar_type()) / (1 - dropout)).view(x.sizes());
  const torch::AutoGradMode with_gradients(true);
  return x * factor;
}

torch::Tensor apply_map(const torch::Tensor& x, const torch::Tensor& weight, const torch::Tensor& bias) {
  const std::int64_t members = x.size(0), prompts = x.size(1), length = x.size(2);
  const auto is_host_float = [](const torch::Tensor& tensor) {
    return !tensor.defined() || (tensor.device().is_cpu() && tensor.scalar_type() == torch::kFloat32);
  };
  if (is_host_float(x) && is_host_float(weight) && is_host_float(bias) && x.numel() > 0 && weight.numel() > 0)
    return RowMap::apply(x, weight, or_empty(bias, x));
  if (members == 1) {
    const torch::Tensor rows = x.reshape({prompts * length, x.size(3)});
    const torch::Tensor matrix = weight.select(0, 0).t();
    const torch::Tensor out =
        bias.defined() ? torch::addmm(bias.select(0, 0), rows, matrix) : torch::mm(rows, matrix);
    return out.view({1, prompts, length, weight.size(1)});
  }
  const torch::Tensor rows = x.reshape({members, prompts * length, x.size(3)});
  const torch::Tensor matrix = weight.transpose(1, 2);
  const bool fast = x.is_cuda() && bias.defined() && x.scalar_type() == bias.scalar_type() &&
                    x.scalar_type() != torch::kDouble;
  const torch::Tensor out = !bias.defined() ? torch::bmm(rows, matrix)
                            : fast          ? BiasedProduct::apply(rows, weight, bias)
                                            : torch::baddbmm(bias.unsqueeze(1), rows, matrix);
  return out.view({members, prompts, length, weight.size(1)});
}

}  // namespace rung::learn
