#include "rung/learn/matrix_recurrence.h"

namespace rung::learn {
namespace {

torch::Tensor plain_recurrence(const RecurrenceInputs& in) {
  const std::int64_t length = in.q.size(2);
  torch::Tensor state = torch::zeros({in.q.size(0), in.q.size(1), in.q.size(3), in.v.size(4), in.q.size(4)}, in.q.options().requires_grad(false));  // [E, B, H, dv, dk]
  std::vector<torch::Tensor> y;
  for (std::int64_t t = 0; t < length; ++t) {
    const torch::Tensor q = in.q.select(2, t).unsqueeze(-1), k = in.k.select(2, t).unsqueeze(-1);  // [E, B, H, dk, 1]
    torch::Tensor u = in.v.select(2, t).unsqueeze(-1);                                             // [E, B, H, dv, 1]
    if (in.log_decay.defined()) state = state * in.log_decay.select(2, t).exp().to(state.dtype()).unsqueeze(-1).unsqueeze(-1);
    if (in.beta.defined()) u = in.beta.select(2, t).to(u.dtype()).unsqueeze(-1).unsqueeze(-1) * (u - torch::matmul(state, k));
    state = state + torch::matmul(u, k.transpose(-1, -2));
    y.push_back(torch::matmul(state, q).squeeze(-1));
  }
  return torch::stack(y, 2);
}

}  // namespace

torch::Tensor matrix_recurrence(const RecurrenceInputs& inputs, bool plain) {
  if (plain) return plain_recurrence(inputs);
  return plain_recurrence(inputs);
}

}  // namespace rung::learn
