// The released recurrences on matrix states, learned (docs/parity.md): DeltaNet, Gated DeltaNet, Kimi Delta Attention,
// GLA, Mamba-2, and log-linear attention over Mamba-2 and Gated DeltaNet. A front makes q, k, v, decay and β from the
// layer's input; what follows is shared.
//
// The kernels of the plain forms do the work (matrix_recurrence.h, level_reading.h); on a device a decay per key channel
// has none there.
#include <cmath>

#include "rung/learn/log_linear_attention.h"
#include "rung/learn/matrix_recurrence.h"
#include "rung/learn/mixers/gates.h"
#include "rung/learn/mixers/level_reading.h"
#include "rung/learn/mixers/mixers.h"
#include "rung/learn/mixers/released_parts.h"

namespace rung::learn {
namespace {

struct MatrixRows {
  torch::Tensor q, k, v;    // [E, B, T, H, d]
  torch::Tensor log_decay;  // [E, B, T, H], a key channel [E, B, T, H, dk], or undefined: 1
  torch::Tensor beta;       // [E, B, T, H], or undefined: no delta rule
  torch::Tensor skip;       // [E, B, T, H, dv], added to what is read, or undefined
};

class MatrixFront {
 public:
  explicit MatrixFront(const MixerShape& shape) : shape_(shape) {}
  virtual ~MatrixFront() = default;
  virtual MatrixRows rows(const torch::Tensor& u, const Leaves& leaves) const = 0;
  virtual void describe(Weights&) const {}

 protected:
  // Key heads to heads.
  torch::Tensor shared(const torch::Tensor& x) const {
    return spread_heads(split_heads(x, shape_.kv_heads), shape_.heads);
  }
  MixerShape shape_;
};

// A released decay is exp(-e^A s), s > 0: A is what is learned, and the file holds -e^A.
ParameterLayout::Index add_rate(const std::string& name, std::int64_t heads, ParameterLayout& layout) {
  return layout.add(name, {heads}, rate_start(), false, Stored::minus_exponential);
}

// delta, gdelta, kda, and gdelta under loglinear.
class DeltaFront : public MatrixFront {
 public:
  DeltaFront(const MixerShape& shape, MixerKind kind, const MixerPlace& place, ParameterLayout& layout)
      : MatrixFront(shape),
        kind_(kind),
        bound_name_(place.prefix + "gate.bound"),
        bound_(place.scalar("gate.bound", -5)) {
    const std::string& p = place.prefix;
    const std::int64_t keys = shape.kv_heads * shape.key_dim, values = shape.heads * shape.value_dim;
    const bool channels = kind == MixerKind::kda;
    front_ =
        LearnedFront(shape, place, {{"q.weight", keys}, {"k.weight", keys}, {"v.weight", values}}, layout);
    if (shape.form.beta) beta_ = LearnedMap(p + "beta", shape.heads, place.width, 0, std::nullopt, layout);
    if (kind == MixerKind::delta) return;
    gate_ = LearnedMap(p + "gate", channels ? shape.heads * shape.key_dim : shape.heads, place.width,
                       channels ? shape.form.rank : 0, shape.form.step ? step_start() : gate_start(), layout);
    if (shape.form.step) rate_ = add_rate(p + "a.weight", shape.heads, layout);
  }

  MatrixRows rows(const torch::Tensor& u, const Leaves& leaves) const override {
    const MixerForm& f = shape_.form;
    const auto all = front_.forward(u, leaves);
    const auto keys = [&](std::size_t which) {
      const torch::Tensor x = split_heads(activated(f.key_act, all[which]), shape_.kv_heads);
      return spread_heads(scaled_keys(f.key_norm, x), shape_.heads);
    };
    MatrixRows out{.q = keys(0), .k = keys(1), .v = split_heads(activated(f.act, all[2]), shape_.heads)};
    // Log-linear attention divides its level weights by the scale of q, which cancels it.
    if (f.scaled && shape_.kind != MixerKind::loglinear)
      out.q = out.q / std::sqrt(static_cast<double>(shape_.key_dim));
    const torch::Tensor one = torch::ones({u.size(0), u.size(1), u.size(2), shape_.heads}, wide(u).options());
    out.beta = (f.beta ? wide(beta_.forward(u, leaves)).sigmoid() : one) * static_cast<double>(shape_.range);
    if (kind_ != MixerKind::delta) out.log_decay = decay(u, leaves);
    return out;
  }
  void describe(Weights& weights) const override {
    if (shape_.form.bounded) put_scalar(weights, bound_name_, bound_);
  }

 private:
  torch::Tensor decay(const torch::Tensor& u, const Leaves& leaves) const {
    torch::Tensor z = wide(gate_.forward(u, leaves));
    if (!shape_.form.step) return torch::log_sigmoid(-z);
    torch::Tensor rate = at_every_token(wide(leaves[rate_]).exp());  // [E, 1, 1, H]
    if (kind_ == MixerKind::kda) {
      z = split_heads(z, shape_.heads);
      rate = rate.unsqueeze(-1);
    }
    return shape_.form.bounded ? bound_ * (rate * z).sigmoid() : -rate * torch::softplus(z);
  }

  MixerKind kind_;
  std::string bound_name_;
  double bound_;
  LearnedFront front_;
  LearnedMap beta_, gate_;
  ParameterLayout::Index rate_ = 0;
};

// Mamba-2, and under loglinear: k = B, q = C, v = Δ x, decay e^{-e^A Δ}, Δ = clamp(softplus(dt)).
class StepFront : public MatrixFront {
 public:
  StepFront(const MixerShape& shape, const MixerPlace& place, ParameterLayout& layout)
      : MatrixFront(shape),
        prefix_(place.prefix),
        low_(place.scalar("dt.low", 0)),
        high_(place.scalar("dt.high", INFINITY)) {
    const std::string& p = place.prefix;
    const std::int64_t values = shape.heads * shape.value_dim, keys = shape.kv_heads * shape.key_dim;
    front_ =
        LearnedFront(shape, place, {{"x.weight", values}, {"b.weight", keys}, {"c.weight", keys}}, layout);
    gate_ = LearnedMap(p + (shape.form.step ? "dt" : "gate"), shape.heads, place.width, 0,
                       shape.form.step ? step_start() : gate_start(), layout);
    if (shape.form.step) rate_ = add_rate(p + "a.weight", shape.heads, layout);
    if (shape.form.skip != Skip::none)
      skip_ = layout.add(p + "skip.weight", {shape.form.skip == Skip::head ? shape.heads : values},
                         Start::constant(1), false);
  }

  MatrixRows rows(const torch::Tensor& u, const Leaves& leaves) const override {
    const MixerForm& f = shape_.form;
    const auto all = front_.forward(u, leaves);
    const torch::Tensor x = split_heads(activated(f.act, all[0]), shape_.heads);
    MatrixRows out{.q = shared(activated(f.act, all[2])), .k = shared(activated(f.act, all[1])), .v = x};
    const torch::Tensor z = wide(gate_.forward(u, leaves));  // [E, B, T, H]
    if (f.step) {
      torch::Tensor step = torch::softplus(z);
      if (low_ > 0 || std::isfinite(high_)) step = step.clamp(low_, high_);
      out.log_decay = -at_every_token(wide(leaves[rate_]).exp()) * step;
      out.v = x * step.to(x.dtype()).unsqueeze(-1);
    } else {
      out.log_decay = torch::log_sigmoid(-z);
    }
    if (f.skip == Skip::head) out.skip = at_every_token(leaves[skip_]).unsqueeze(-1) * x;
    if (f.skip == Skip::channel) out.skip = at_every_token(split_heads(leaves[skip_], shape_.heads)) * x;
    return out;
  }
  void describe(Weights& weights) const override {
    if (low_ > 0) put_scalar(weights, prefix_ + "dt.low", low_);
    if (std::isfinite(high_)) put_scalar(weights, prefix_ + "dt.high", high_);
  }

 private:
  std::string prefix_;
  double low_, high_;
  LearnedFront front_;
  LearnedMap gate_;
  ParameterLayout::Index rate_ = 0, skip_ = 0;
};

class GatedLinearFront : public MatrixFront {
 public:
  GatedLinearFront(const MixerShape& shape, const MixerPlace& place, ParameterLayout& layout)
      : MatrixFront(shape),
        prefix_(place.prefix),
        divisor_(place.scalar("gate.divisor", 16)),  // fla's gate_logit_normalizer
        floor_(place.scalar("gate.floor", -INFINITY)) {
    front_ = LearnedFront(shape, place,
                          {{"q.weight", shape.heads * shape.key_dim},
                           {"k.weight", shape.kv_heads * shape.key_dim},
                           {"v.weight", shape.kv_heads * shape.value_dim}},
                          layout);
    gate_ = LearnedMap(place.prefix + "gate", shape.kv_heads * shape.key_dim, place.width, shape.form.rank,
                       Start::constant(0), layout);
  }
  MatrixRows rows(const torch::Tensor& u, const Leaves& leaves) const override {
    const auto all = front_.forward(u, leaves);
    const auto act = [&](std::size_t which) { return activated(shape_.form.act, all[which]); };
    torch::Tensor decay = torch::log_sigmoid(wide(gate_.forward(u, leaves))) / divisor_;
    if (std::isfinite(floor_)) decay = decay.clamp_min(floor_);
    return {.q = split_heads(act(0), shape_.heads) / std::sqrt(static_cast<double>(shape_.key_dim)),
            .k = shared(act(1)),
            .v = shared(act(2)),
            .log_decay = shared(decay)};
  }
  void describe(Weights& weights) const override {
    put_scalar(weights, prefix_ + "gate.divisor", divisor_);
    if (std::isfinite(floor_)) put_scalar(weights, prefix_ + "gate.floor", floor_);
  }

 private:
  std::string prefix_;
  double divisor_, floor_;
  LearnedFront front_;
  LearnedMap gate_;
};

class MatrixLayer : public LearnedMixer {
 public:
  MatrixLayer(const MixerShape& shape, const MixerPlace& place, ParameterLayout& layout) : shape_(shape) {
    const std::int64_t values = shape.heads * shape.value_dim;
    const MixerKind kind = shape.kind == MixerKind::loglinear ? shape.base : shape.kind;
    std::int64_t gain = shape.value_dim, group = shape.value_dim;
    if (kind == MixerKind::mamba2) {
      front_ = std::make_unique<StepFront>(shape, place, layout);
      gain = values, group = values / shape.form.norm_groups;
    } else if (kind == MixerKind::gla) {
      front_ = std::make_unique<GatedLinearFront>(shape, place, layout);
    } else {
      front_ = std::make_unique<DeltaFront>(shape, kind, place, layout);
    }
    if (shape.kind == MixerKind::loglinear)
      level_ = LearnedMap(place.prefix + "level", shape.heads * shape.levels, place.width, 0, std::nullopt,
                          layout);
    output_ = LearnedOutput(shape, place, values, gain, group, kind == MixerKind::kda ? shape.form.rank : 0,
                            layout);
  }

  torch::Tensor forward(const torch::Tensor& u, const Leaves& leaves,
                        const ForwardContext& pass) const override {
    const MatrixRows r = front_->rows(u, leaves);
    torch::Tensor o;
    if (shape_.kind == MixerKind::loglinear)
      o = by_levels(r, u, leaves, pass.plain);
    else if (by_channel())
      o = matrix_recurrence({wide(r.q), wide(r.k), wide(r.v), r.log_decay, r.beta, {}}, pass.plain);
    else
      o = matrix_recurrence({r.q, r.k, r.v, r.log_decay, r.beta, {}}, pass.plain);
    if (r.skip.defined()) o = o + r.skip;
    return output_.forward(u, join_heads(o), leaves);
  }
  void unfused(bool on_device, std::vector<std::string>& names) const override {
    const bool fused = by_channel() ? channels_have_kernel(shape_.key_dim, shape_.value_dim, on_device)
                                    : !shape_.form.strong;
    if (!fused) names.push_back(form_name(shape_));
  }
  void describe(Weights& weights) const override {
    front_->describe(weights);
    output_.describe(weights);
  }

 private:
  bool by_channel() const { return shape_.kind == MixerKind::gla || shape_.kind == MixerKind::kda; }
  torch::Tensor by_levels(const MatrixRows& r, const torch::Tensor& u, const Leaves& leaves,
                          bool plain) const {
    const torch::Tensor share =
        split_heads(torch::softplus(wide(level_.forward(u, leaves))), shape_.heads);  // [E, B, T, H, levels]
    const bool strong = shape_.form.strong;
    const LogLinearInputs inputs{r.q, r.k, r.v, share, r.log_decay};
    if (!plain && !strong && !r.beta.defined() && log_linear_fits(inputs))
      return log_linear_attention(inputs);
    LevelRows rows{.q = r.q.transpose(2, 3),
                   .k = r.k.transpose(2, 3),
                   .v = r.v.transpose(2, 3),
                   .log_decay = r.log_decay.transpose(2, 3),
                   .share = share.transpose(2, 3),
                   .strong = strong};
    if (r.beta.defined()) rows.beta = r.beta.transpose(2, 3);
    return level_reading(rows, {}, plain).transpose(2, 3);
  }

  MixerShape shape_;
  std::unique_ptr<MatrixFront> front_;
  LearnedMap level_;
  LearnedOutput output_;
};

}  // namespace

std::unique_ptr<LearnedMixer> released_matrix_mixer(const MixerShape& shape, const MixerPlace& place,
                                                    ParameterLayout& layout) {
  return std::make_unique<MatrixLayer>(shape, place, layout);
}

}  // namespace rung::learn
