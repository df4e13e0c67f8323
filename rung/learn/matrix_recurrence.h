// The recurrence behind linear attention, Mamba-2, the (gated) delta rule, GLA, KDA and RWKV-7, a head with a state S of
// dv x dk:
//   S' = S_{t-1} diag(w_t);  e = v_t - S' k_t, u_t = beta_t e (delta rule) or u_t = v_t;
//   S_t = S' + u_t k_t^T + (S_{t-1} a_t) b_t^T;  y_t = S_t q_t.
// The plain form is that loop in tensor operations; the fast one calls the kernels
// (kernels/matrix_recurrence.h).
#pragma once

#include "rung/learn/forward_context.h"

namespace rung::learn {

struct RecurrenceInputs {
  torch::Tensor q, k;  // [E, B, T, H, dk]
  torch::Tensor v;     // [E, B, T, H, dv]
  torch::Tensor
      log_decay;         // ln w_t, float32: [E, B, T, H], by key channel [E, B, T, H, dk]; undefined: w_t = 1
  torch::Tensor beta;    // [E, B, T, H] float32; undefined: no delta rule
  StateRounding settle;  // of S_t; where it is given, the plain form is taken: no kernel rounds its state
  bool normalised = false;  // y_t divided by (k_1 + ... + k_t) . q_t; REQUIRES neither log_decay nor beta
  torch::Tensor a, b;       // [E, B, T, H, dk], both or neither; REQUIRES decays by channel and no delta rule
};

// [E, B, T, H, dv]
torch::Tensor matrix_recurrence(const RecurrenceInputs& inputs, bool plain);

// Whether a kernel computes heads of these sizes with decays by key channel; else it is the plain form.
bool channels_have_kernel(std::int64_t key_size, std::int64_t value_size, bool on_device);

// y [.., dv] over total [.., 1]. Nothing seen, nothing read: where the total is 0 the quotient is.
torch::Tensor divided_by_total(const torch::Tensor& y, const torch::Tensor& total);

}  // namespace rung::learn
