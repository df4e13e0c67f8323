// rwkv7, learned (docs/parity.md; rung/exact/mixers/rwkv7.cc has the formulas). The stack's first such layer passes its
// values on; values=first mixes them in. The recurrence is matrix_recurrence.h's, with a = κ and b = -κ ⊙ a0.
#include <cmath>

#include "rung/learn/matrix_recurrence.h"
#include "rung/learn/mixers/mixers.h"
#include "rung/learn/mixers/released_parts.h"

namespace rung::learn {
namespace {

torch::Tensor hyperbolic_tangent(const torch::Tensor& x) { return x.tanh(); }
torch::Tensor logistic_function(const torch::Tensor& x) { return x.sigmoid(); }

class TimeMixing : public LearnedMixer {
 public:
  TimeMixing(const MixerShape& shape, const MixerPlace& place, ParameterLayout& layout)
      : shape_(shape),
        prefix_(place.prefix),
        epsilon_(place.scalar("ynorm.epsilon", kOutputEpsilon * static_cast<double>(shape.value_dim))) {
    const std::string& p = place.prefix;
    const MixerForm& f = shape.form;
    const std::int64_t keys = shape.heads * shape.key_dim, values = shape.heads * shape.value_dim,
                       w = place.width;
    for (const char* name : {"r", "w", "k", "v", "a", "g"})
      shift_.push_back(layout.add(p + "shift." + name, {w}, Start::uniform(0.5, 0.5), false));
    r_ = LearnedMap(p + "r", keys, w, 0, std::nullopt, layout);
    k_ = LearnedMap(p + "k", keys, w, 0, std::nullopt, layout);
    v_ = LearnedMap(p + "v", values, w, 0, std::nullopt, layout);
    w_ = LearnedMap(p + "w", keys, w, f.rank, Start::uniform(3, -3), layout);
    a_ = LearnedMap(p + "a", keys, w, f.rank_a, Start::constant(0), layout);
    g_ = LearnedMap(p + "g", values, w, f.rank_g, std::nullopt, layout);
    if (f.first_values) mix_ = LearnedMap(p + "mix", values, w, f.rank_v, Start::constant(0), layout);
    key_scale_ = layout.add(p + "key_scale.weight", {keys}, Start::constant(0.7), false);
    key_mix_ = layout.add(p + "key_mix.weight", {keys}, Start::constant(1), false);
    bonus_ = layout.add(p + "bonus.weight", {shape.heads, shape.key_dim}, Start::constant(0), false);
    gain_ = layout.add(p + "ynorm.gain", {values}, Start::constant(1), false);
    bias_ = layout.add(p + "ynorm.bias", {values}, Start::constant(0), false);
  }

  torch::Tensor forward(const torch::Tensor& u, const Leaves& leaves,
                        const ForwardContext& pass) const override {
    const torch::Tensor earlier =
        torch::constant_pad_nd(u.narrow(2, 0, u.size(2) - 1), {0, 0, 1, 0}) - u;  // u_{t-1} - u_t
    const auto all = [&](ParameterLayout::Index index) { return at_every_token(leaves[index]); };
    const auto mixed = [&](std::size_t c) { return u + earlier * all(shift_[c]); };
    const auto heads = [&](const torch::Tensor& x) { return split_heads(wide(x), shape_.heads); };
    const torch::Tensor k0 = k_.forward(mixed(2), leaves), xv = mixed(3),
                        g = g_.forward(mixed(5), leaves, &logistic_function);
    torch::Tensor v0 = v_.forward(xv, leaves);
    if (shape_.form.first_values)
      v0 = v0 + mix_.forward(xv, leaves).sigmoid() * (pass.first_values - v0);
    else if (!pass.first_values.defined())
      pass.first_values = v0;
    const torch::Tensor r = heads(r_.forward(mixed(0), leaves)), v = heads(v0);
    const torch::Tensor log_decay =
        heads(-std::exp(-0.5) * wide(w_.forward(mixed(1), leaves, &hyperbolic_tangent)).sigmoid());
    const torch::Tensor a0 = a_.forward(mixed(4), leaves).sigmoid();
    const torch::Tensor removed = scaled_keys(shape_.form.key_norm, heads(k0 * all(key_scale_)));
    const torch::Tensor k = heads(k0 * (1 + (a0 - 1) * all(key_mix_)));
    RecurrenceInputs recurrence{r, k, v, log_decay};
    recurrence.a = removed, recurrence.b = -removed * heads(a0);
    torch::Tensor o = matrix_recurrence(recurrence, pass.plain);  // [E, B, T, H, dv]
    o = join_heads(root_mean_square(o - o.mean(-1, true), epsilon_)) * all(gain_) + all(bias_);
    const torch::Tensor bonus = (r * k * all(bonus_)).sum(-1, true);
    return ((o + join_heads(bonus * v)) * g).to(u.dtype());
  }
  void unfused(bool on_device, std::vector<std::string>& names) const override {
    if (!channels_have_kernel(shape_.key_dim, shape_.value_dim, on_device))
      names.push_back(form_name(shape_));
  }
  void describe(Weights& weights) const override { put_scalar(weights, prefix_ + "ynorm.epsilon", epsilon_); }

 private:
  MixerShape shape_;
  std::string prefix_;
  double epsilon_;
  std::vector<ParameterLayout::Index> shift_;
  LearnedMap r_, k_, v_, w_, a_, g_, mix_;
  ParameterLayout::Index key_scale_ = 0, key_mix_ = 0, bonus_ = 0, gain_ = 0, bias_ = 0;
};

}  // namespace

std::unique_ptr<LearnedMixer> time_mixing_mixer(const MixerShape& shape, const MixerPlace& place,
                                                ParameterLayout& layout) {
  return std::make_unique<TimeMixing>(shape, place, layout);
}

}  // namespace rung::learn
