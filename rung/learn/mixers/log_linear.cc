// loglinear over linear, mamba2 or gdelta: the prefix is split into dyadic buckets, each with a state of its
// own, and the reading is a weighted sum, y_t = sum_level share_t[level] S_t^level q_t, share =
// softplus(level map).
//
// Plain: the bucket rule of docs/weights.md, state by state. Fast: every base is linear in its values,
//   y_i = sum_{j <= i} share_i[level(i, j)] P_ij v_j,
// where P_ij is the base's own reading of token j (q_i.k_j; times the decay between them; for the delta rule
// through the inverse of a triangular matrix), and level(i, j) = 0 for i = j, else one more than the highest
// bit in which i and j differ.
#include <cmath>

#include "rung/learn/log_linear_attention.h"
#include "rung/learn/mixers/features.h"
#include "rung/learn/mixers/gates.h"
#include "rung/learn/mixers/mixers.h"
#include "rung/learn/mixers/short_convolution.h"
#include "rung/learn/row_norm.h"

namespace rung::learn {
namespace {

struct Rows {
  torch::Tensor q, k, v;          // [E, B, H, T, d]
  torch::Tensor log_decay, beta;  // [E, B, H, T] float32, or undefined
  torch::Tensor share;            // [E, B, H, T, levels]
};

// [T, T]; above the diagonal 0.
torch::Tensor bucket_levels(std::int64_t length, torch::Device device) {
  // Made where it is used: a recorded step may not wait for the host. The digits of i xor j, one comparison
  // each.
  const torch::Tensor place = torch::arange(length, torch::TensorOptions(torch::kLong).device(device));
  const torch::Tensor differ = place.unsqueeze(1).bitwise_xor(place.unsqueeze(0)).tril();
  torch::Tensor levels = torch::zeros_like(differ);
  for (std::int64_t digit = 1; digit < length; digit *= 2) levels = levels + (differ >= digit);
  return levels;
}

torch::Tensor plain_reading(const Rows& r, const StateRounding& settle) {
  const std::int64_t length = r.q.size(3), levels = r.share.size(-1);
  std::vector<torch::Tensor> states(static_cast<std::size_t>(levels)), y;
  const auto update = [&](torch::Tensor state, std::int64_t t, bool with_value) {  // [E, B, H, dv, dk]
    const torch::Tensor k = r.k.select(3, t).unsqueeze(-1);
    torch::Tensor u = r.v.select(3, t).unsqueeze(-1);
    if (!with_value) u = torch::zeros_like(u);
    if (r.log_decay.defined())
      state = state * r.log_decay.select(3, t).exp().to(state.dtype()).unsqueeze(-1).unsqueeze(-1);
    if (r.beta.defined())
      u = r.beta.select(3, t).to(u.dtype()).unsqueeze(-1).unsqueeze(-1) * (u - torch::matmul(state, k));
    state = state + torch::matmul(u, k.transpose(-1, -2));
    return settle ? settle(state, t + 1 == length && !with_value) : state;
  };
  const torch::Tensor zero = torch::zeros({r.q.size(0), r.q.size(1), r.q.size(2), r.v.size(-1), r.q.size(-1)},
                                          r.q.options().requires_grad(false));
  for (std::int64_t t = 0; t < length; ++t) {
    if (t > 0) {
      const auto low = static_cast<std::size_t>(__builtin_ctzll(static_cast<unsigned long long>(t)));
      torch::Tensor merged = states[0];
      for (std::size_t level = 1; level <= low; ++level) merged = merged + states[level];
      for (std::size_t level = 0; level <= low; ++level) states[level] = torch::Tensor();
      states[low + 1] = merged;
    }
    for (torch::Tensor& state : states)
      if (state.defined()) state = update(state, t, false);
    states[0] = update(zero, t, true);
    torch::Tensor total;
    for (std::size_t level = 0; level < states.size(); ++level) {
      if (!states[level].defined()) continue;
      const torch::Tensor part =
          torch::matmul(states[level], r.q.select(3, t).unsqueeze(-1)).squeeze(-1) *
          r.share.select(3, t).select(-1, static_cast<std::int64_t>(level)).unsqueeze(-1);
      total = total.defined() ? total + part : part;
    }
    y.push_back(total);
  }
  return torch::stack(y, 3);
}

torch::Tensor fast_reading(const Rows& r) {
  const std::int64_t length = r.q.size(3);
  const torch::Device device = r.q.device();
  const torch::Tensor later =
      torch::ones({length, length}, torch::TensorOptions(torch::kBool).device(device)).triu(1);
  torch::Tensor decay;  // exp(A_i - A_j) on and below the diagonal
  if (r.log_decay.defined()) {
    const torch::Tensor sum = r.log_decay.cumsum(-1);
    decay = (sum.unsqueeze(-1) - sum.unsqueeze(-2)).masked_fill(later, -INFINITY).exp();
  }
  torch::Tensor reading = torch::matmul(r.q, r.k.transpose(-1, -2)).to(torch::kFloat32);
  reading = decay.defined() ? reading * decay : reading.masked_fill(later, 0);
  if (r.beta.defined()) {
    // (I + L) U = diag(beta) V, L_tj = beta_t decay_tj k_j.k_t below the diagonal.
    torch::Tensor overlap = torch::matmul(r.k, r.k.transpose(-1, -2)).to(torch::kFloat32);
    if (decay.defined()) overlap = overlap * decay;
    const torch::Tensor lower = (r.beta.unsqueeze(-1) * overlap).tril(-1);
    const torch::Tensor eye = torch::eye(length, lower.options().requires_grad(false));
    const torch::Tensor solved =
        torch::linalg_solve_triangular(lower + eye, torch::diag_embed(r.beta), false, true, true);
    reading = torch::matmul(reading, solved);
  }
  const torch::Tensor levels = bucket_levels(length, device).expand(reading.sizes());
  const torch::Tensor weight = reading * r.share.to(torch::kFloat32).gather(-1, levels);
  return torch::matmul(weight.to(r.v.dtype()), r.v);
}

class LogLinear : public LearnedMixer {
 public:
  LogLinear(const MixerShape& shape, const MixerPlace& place, ParameterLayout& layout)
      : shape_(shape), place_(place) {
    const std::string& p = place.prefix;
    RUNG_REQUIRE(shape.levels > 0, "log-linear attention without a context");
    keys_ = shape.kv_heads * shape.key_dim, values_ = shape.heads * shape.value_dim;
    if (shape.base == MixerKind::linear) keys_ = shape.heads * shape.key_dim;
    gated_ = shape.base != MixerKind::linear, delta_ = shape.base == MixerKind::gdelta;
    const bool mamba = shape.base == MixerKind::mamba2;
    // Stacked as q, k, v; Mamba-2 calls them c, b, x and stacks them as x, b, c.
    const std::array<std::string, 3> names =
        mamba ? std::array<std::string, 3>{"x", "b", "c"} : std::array<std::string, 3>{"q", "k", "v"};
    const std::int64_t gates = gated_ ? shape.heads : 0, betas = delta_ ? shape.heads : 0;
    weight_ = layout.add_stacked({{p + names[0] + ".weight", mamba ? values_ : keys_},
                                  {p + names[1] + ".weight", keys_},
                                  {p + names[2] + ".weight", mamba ? keys_ : values_},
                                  {p + "level.weight", shape.heads * shape.levels},
                                  {p + "gate.weight", gates},
                                  {p + "beta.weight", betas}},
                                 {place.width}, Start::normal(fan_in_deviation(place.width)), true);
    level_bias_ = layout.add(p + "level.bias", {shape.heads * shape.levels},
                             Start::constant(std::log(std::expm1(1.0))), false);  // softplus gives 1
    if (gated_) gate_bias_ = layout.add(p + "gate.bias", {shape.heads}, gate_start(), false);
    if (delta_) beta_bias_ = layout.add(p + "beta.bias", {shape.heads}, beta_start(), false);
    if (shape.conv > 0) conv_.emplace(p, 2 * keys_ + values_, shape.conv, layout);
  }

  torch::Tensor forward(const torch::Tensor& u, const Leaves& leaves,
                        const ForwardContext& pass) const override {
    const std::string& p = place_.prefix;
    const bool mamba = shape_.base == MixerKind::mamba2;
    std::vector<std::int64_t> sizes{mamba ? values_ : keys_, keys_, mamba ? keys_ : values_,
                                    shape_.heads * shape_.levels};
    if (gated_) sizes.push_back(shape_.heads);
    if (delta_) sizes.push_back(shape_.heads);
    const std::vector<torch::Tensor> rows =
        convolved_rows(apply_map(u, leaves[weight_]), conv_, 3, sizes, leaves);
    const auto heads_of = [&](std::size_t which, std::int64_t heads, const char* name) {
      return split_heads(pass.round(p + name, rows[which]), heads);
    };
    const std::int64_t key_heads = shape_.base == MixerKind::linear ? shape_.heads : shape_.kv_heads;
    torch::Tensor q = heads_of(mamba ? 2 : 0, key_heads, mamba ? "c" : "q"),
                  k = heads_of(1, key_heads, mamba ? "b" : "k");
    if (shape_.base == MixerKind::linear)
      q = feature_map(shape_.feature, q, true), k = feature_map(shape_.feature, k, false);
    if (delta_) q = unit_rows(q, pass.plain), k = unit_rows(k, pass.plain);
    const auto biased = [&](std::size_t which, ParameterLayout::Index bias) {
      return (rows[which] + leaves[bias].unsqueeze(1).unsqueeze(1)).to(torch::kFloat32);
    };
    const LogLinearInputs inputs{spread_heads(q, shape_.heads), spread_heads(k, shape_.heads),
                                 heads_of(mamba ? 0 : 2, shape_.heads, mamba ? "x" : "v"),
                                 split_heads(torch::softplus(biased(3, level_bias_)), shape_.heads),
                                 gated_ ? log_decay(biased(4, gate_bias_)) : torch::Tensor()};
    if (!pass.plain && !delta_ && !(gated_ && pass.rounding) && log_linear_fits_device(inputs))
      return pass.round(p + "y", join_heads(log_linear_attention(inputs)));
    Rows r{inputs.q.transpose(2, 3),    inputs.k.transpose(2, 3), inputs.v.transpose(2, 3), {}, {},
           inputs.share.transpose(2, 3)};
    if (gated_) r.log_decay = inputs.log_decay.transpose(2, 3);
    if (delta_) r.beta = biased(5, beta_bias_).sigmoid().transpose(2, 3) * static_cast<double>(shape_.range);
    // Linear attention's sums are exact in the integer model; the others' states are as wide as its numbers.
    const StateRounding settle = gated_ ? pass.state_rounding(p + "state") : StateRounding();
    const torch::Tensor y = pass.plain || settle ? plain_reading(r, settle) : fast_reading(r);
    return pass.round(p + "y", join_heads(y.transpose(2, 3)).to(u.dtype()));
  }

  void describe(Weights& weights) const override {
    weights.tables[place_.prefix + "level"] = TableFunction{"softplus"};
    if (delta_) weights.tensors[place_.prefix + "key.fraction"] = integer_scalar(0);
  }

 private:
  MixerShape shape_;
  MixerPlace place_;
  bool gated_ = false, delta_ = false;
  std::int64_t keys_ = 0, values_ = 0;
  ParameterLayout::Index weight_ = 0, level_bias_ = 0, gate_bias_ = 0, beta_bias_ = 0;
  std::optional<ShortConvolution> conv_;
};

}  // namespace

std::unique_ptr<LearnedMixer> log_linear_mixer(const MixerShape& shape, const MixerPlace& place,
                                               ParameterLayout& layout) {
  return std::make_unique<LogLinear>(shape, place, layout);
}

}  // namespace rung::learn
