#include "rung/learn/mixers/level_reading.h"

#include <cmath>

#include "rung/base/require.h"

namespace rung::learn {
namespace {

// The weak partition: level(i, j) = 0 for i = j, else one more than the highest bit in which i and j differ.
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

using Tokens = std::vector<std::int64_t>;  // how many each level holds

void carry_weak(std::int64_t t, std::vector<torch::Tensor>& states) {
  const auto low = static_cast<std::size_t>(__builtin_ctzll(static_cast<unsigned long long>(t)));
  torch::Tensor merged = states[0];
  for (std::size_t level = 1; level <= low; ++level) merged = merged + states[level];
  for (std::size_t level = 0; level <= low; ++level) states[level] = torch::Tensor();
  states[low + 1] = merged;
}
// The strong partition: levels 0 and 1 hold one token, level l holds 2^(l-1); what does not fit goes up, the newer
// stays.
void carry_strong(Tokens& held, std::vector<torch::Tensor>& states) {
  torch::Tensor carry;
  std::int64_t carried = 0;
  for (std::size_t level = 0; level < states.size(); ++level) {
    const std::int64_t capacity = level == 0 ? 1 : std::int64_t{1} << (level - 1);
    if (level == 0 || held[level] + carried > capacity) {
      std::swap(states[level], carry);
      std::swap(held[level], carried);
    } else {
      if (carried > 0) states[level] = held[level] > 0 ? states[level] + carry : carry;
      held[level] += carried;
      carry = torch::Tensor();
      carried = 0;
    }
  }
  RUNG_REQUIRE(carried == 0, "{} tokens beyond the last level", carried);
}

torch::Tensor plain_reading(const LevelRows& r, const StateRounding& settle) {
  const std::int64_t length = r.q.size(3), levels = r.share.size(-1);
  std::vector<torch::Tensor> states(static_cast<std::size_t>(levels)), y;
  Tokens held(static_cast<std::size_t>(levels), 0);
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
    if (r.strong)
      carry_strong(held, states);
    else if (t > 0)
      carry_weak(t, states);
    for (torch::Tensor& state : states)
      if (state.defined()) state = update(state, t, false);
    states[0] = update(zero, t, true);
    held[0] = 1;
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

torch::Tensor fast_reading(const LevelRows& r) {
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

}  // namespace

torch::Tensor level_reading(const LevelRows& rows, const StateRounding& settle, bool plain) {
  return plain || settle || rows.strong ? plain_reading(rows, settle) : fast_reading(rows);
}

}  // namespace rung::learn
