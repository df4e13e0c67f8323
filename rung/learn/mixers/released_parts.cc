#include "rung/learn/mixers/released_parts.h"

namespace rung::learn {

torch::Tensor activated(Activation function, const torch::Tensor& x) {
  switch (function) {
    case Activation::none:
      return x;
    case Activation::silu:
      return torch::silu(x);
    case Activation::relu:
      return x.relu();
    case Activation::elu1:
      return torch::elu(x) + 1;
    case Activation::sigmoid:
      return x.sigmoid();
  }
  return x;
}

torch::Tensor scaled_keys(KeyNorm norm, const torch::Tensor& given) {
  const torch::Tensor x = wide(given);
  const auto scaled = [&]() -> torch::Tensor {
    switch (norm) {
      case KeyNorm::none:
        break;
      case KeyNorm::l2:
        return x * (x.square().sum(-1, true) + 1e-6).rsqrt();
      case KeyNorm::sum:
        return x / x.sum(-1, true);
      case KeyNorm::unit:
        return x / x.square().sum(-1, true).clamp_min(1e-24).sqrt();
    }
    return x;
  };
  return scaled().to(given.dtype());
}

torch::Tensor root_mean_square(const torch::Tensor& given, double epsilon) {
  const torch::Tensor x = wide(given);
  return (x * (x.square().mean(-1, true) + epsilon).rsqrt()).to(given.dtype());
}

torch::Tensor turned(const torch::Tensor& x, const Turn& turn) {
  if (turn.kind == Rope::none) return x;
  const std::int64_t half = turn.size / 2, rest = x.size(-1) - turn.begin - turn.size;
  const auto options = torch::TensorOptions(torch::kFloat64).device(x.device());
  const torch::Tensor frequency =
      torch::pow(static_cast<double>(turn.theta),
                 torch::arange(half, options) * (-2.0 / static_cast<double>(turn.size)));
  const torch::Tensor angle =
      (torch::arange(x.size(-2), options) * static_cast<double>(turn.step)).unsqueeze(-1) * frequency;
  const torch::Tensor c = angle.cos().to(x.dtype()), s = angle.sin().to(x.dtype());  // [T, size / 2]
  const torch::Tensor part = x.narrow(-1, turn.begin, turn.size);
  torch::Tensor out;
  if (turn.kind == Rope::half) {
    const torch::Tensor a = part.narrow(-1, 0, half), b = part.narrow(-1, half, half);
    out = torch::cat({a * c - b * s, b * c + a * s}, -1);
  } else {
    const torch::Tensor pairs = part.unflatten(-1, std::vector<std::int64_t>{half, 2});
    const torch::Tensor a = pairs.select(-1, 0), b = pairs.select(-1, 1);
    out = torch::stack({a * c - b * s, b * c + a * s}, -1).flatten(-2);
  }
  std::vector<torch::Tensor> whole;
  if (turn.begin > 0) whole.push_back(x.narrow(-1, 0, turn.begin));
  whole.push_back(out);
  if (rest > 0) whole.push_back(x.narrow(-1, turn.begin + turn.size, rest));
  return whole.size() == 1 ? out : torch::cat(whole, -1);
}

LearnedMap::LearnedMap(const std::string& name, std::int64_t rows, std::int64_t width, std::int64_t rank,
                       std::optional<Start> bias, ParameterLayout& layout) {
  if (rank > 0)
    low_ = layout.add(name + "_low.weight", {rank, width}, Start::normal(fan_in_deviation(width)), true);
  const std::int64_t inputs = rank > 0 ? rank : width;
  weight_ = layout.add(name + ".weight", {rows, inputs}, Start::normal(fan_in_deviation(inputs)), true);
  if (bias) bias_ = layout.add(name + ".bias", {rows}, *bias, false);
}

torch::Tensor LearnedMap::forward(const torch::Tensor& u, const Leaves& leaves,
                                  torch::Tensor (*inside)(const torch::Tensor&)) const {
  torch::Tensor x = u;
  if (low_) x = apply_map(x, leaves[*low_]);
  if (inside) x = inside(x);
  return apply_map(x, leaves[weight_], bias_ ? leaves[*bias_] : torch::Tensor());
}

LearnedFront::LearnedFront(const MixerShape& shape, const MixerPlace& place,
                           const std::vector<ParameterLayout::Part>& parts, ParameterLayout& layout) {
  std::int64_t channels = 0;
  std::vector<ParameterLayout::Part> named;
  for (const auto& part : parts) {
    sizes_.push_back(part.rows);
    channels += part.rows;
    named.push_back({place.prefix + part.name, part.rows});
  }
  weight_ = layout.add_stacked(named, {place.width}, Start::normal(fan_in_deviation(place.width)), true);
  if (shape.conv > 0) conv_.emplace(place.prefix, channels, shape.conv, layout);
  if (shape.form.conv_bias)
    bias_ = layout.add(place.prefix + "conv.bias", {channels}, Start::constant(0), false);
}

std::vector<torch::Tensor> LearnedFront::forward(const torch::Tensor& u, const Leaves& leaves) const {
  torch::Tensor all = apply_map(u, leaves[weight_]);
  if (conv_) all = conv_->forward(all, leaves);
  if (bias_) all = all + at_every_token(leaves[*bias_]);
  return split_rows(all, sizes_);
}

LearnedOutput::LearnedOutput(const MixerShape& shape, const MixerPlace& place, std::int64_t width,
                             std::int64_t gain, std::int64_t group, std::int64_t rank,
                             ParameterLayout& layout)
    : form_(shape.form),
      prefix_(place.prefix),
      group_(group),
      repeats_(width / gain),
      epsilon_(place.scalar("ynorm.epsilon", kOutputEpsilon)) {
  if (form_.gate != Activation::none)
    gate_ = LearnedMap(place.prefix + "z", width, place.width, rank,
                       rank > 0 ? std::optional(Start::constant(0)) : std::nullopt, layout);
  if (form_.norm != OutputNorm::none)
    gain_ = layout.add(place.prefix + "ynorm.gain", {gain}, Start::constant(1), false);
}

torch::Tensor LearnedOutput::forward(const torch::Tensor& u, const torch::Tensor& given,
                                     const Leaves& leaves) const {
  torch::Tensor o = given.to(u.dtype()), z;
  if (form_.gate != Activation::none) z = activated(form_.gate, gate_.forward(u, leaves));
  if (z.defined() && form_.norm != OutputNorm::before) o = o * z;
  if (form_.norm != OutputNorm::none) {
    const torch::Tensor groups = o.unflatten(-1, std::vector<std::int64_t>{o.size(-1) / group_, group_});
    o = root_mean_square(groups, epsilon_).flatten(-2) * at_every_token(leaves[gain_].repeat({1, repeats_}));
  }
  if (z.defined() && form_.norm == OutputNorm::before) o = o * z;
  return o;
}

void LearnedOutput::describe(Weights& weights) const {
  if (form_.norm != OutputNorm::none) put_scalar(weights, prefix_ + "ynorm.epsilon", epsilon_);
}

void put_scalar(Weights& weights, const std::string& name, double value) {
  weights.tensors[name] = real_tensor({}, std::span(&value, 1), DType::f64);
}

}  // namespace rung::learn
