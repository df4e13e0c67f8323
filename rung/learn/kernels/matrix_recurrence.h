// The matrix recurrence of linear attention, mamba2, delta and gated delta, and on the host of gla, kda and rwkv7,
// forward and backward.
//
// Per sequence and head, S_0 = 0 [dv x dk] and for t = 1..T
//   S' = S_{t-1} diag(w_t), w_t = exp(g_t)             g = log_decay, one number or one a key channel;
//                                                      absent: S' = S_{t-1}
//   e_t = v_t - S' k_t,  u_t = beta_t e_t              delta;  otherwise u_t = v_t
//   S_t = S' + u_t k_t^T,  y_t = S_t q_t               low rank: S_t = S' + u_t k_t^T + p_t b_t^T,
//                                                      p_t = S_{t-1} a_t
// Linear attention: no decay; mamba2: decay; delta: beta; gated delta: both. gla: decay by channel; kda: with beta;
// rwkv7: with a and b, since what it removes is read before the decay and written with another key.
//
// Backward stores no states. With G_t = dL/dS_t a reverse pass has
//   G_t = dy_t q_t^T + F_t,  F_{t-1} = dS'_t diag(w_t) + dp_t a_t^T,  du = G_t k_t,  de = beta du,  dbeta = du . e,
//   dv = de (else du), dS'_t = G_t - de k_t^T (else G_t),  dk = G_t^T u_t,  dp = G_t b_t,  db = G_t^T p_t;
// a forward pass then makes S_t again from the kept e and p: dq = S_t^T dy_t, da = S_{t-1}^T dp_t, and for delta
// dk -= S'_t^T de.
//
// A head's decay has the gradient <dS'_t, S'_t> = sum over s >= t of q_s . dq_s - v_s . dv_s: <G_t, S_t> = y_t . dy_t +
// <dS'_{t+1}, S'_{t+1}>, y_t . dy_t = q_t . dq_t, and du . u + de . S' k = de . v (without delta du . v). A channel's is
// the same product over its column alone, <dS'_t, S'_t>_c. Of columns, with every vector's number c,
//   <G_t, S_t>_c = q dq + <F_t, S_t>_c,  <F_{t-1}, S_{t-1}>_c = <dS'_t, S'_t>_c + a da,
//   <G_t, S_t>_c = <dS'_t, S'_t>_c + k (G_t^T u_t + S'_t^T de) + b db,
// so that dg_t = sum over s >= t of (q dq - k (G^T u + S'^T de) - b db)_s + sum over s > t of (a da)_s. Nothing is
// divided by a decay, which may be 0. What cancels in these sums leaves their rounding: where states are forgotten at
// once the gradient is 0 but for that.
#pragma once

#include <cstdint>

#include "rung/learn/kernels/element.h"

namespace rung::kernels {

struct RecurrenceShape {
  std::int64_t sequences = 0, positions = 0, heads = 0;  // N, T, H
  std::int64_t key_size = 0, value_size = 0;             // dk, dv, each at least 1
  Element element = Element::f32;                        // of q, k, v, y and their gradients
  bool delta = false;
  // y_t = S_t q_t / z_t with z_t = (k_1 + ... + k_t) . q_t, 0 where z_t is: linear attention's weights sum to
  // 1. Without decay or delta. On a device where recurrence_fits_chunks (chunked_recurrence.h) holds, and
  // REQUIRES vectors at multiples of sixteen bytes there.
  bool normalised = false;
  bool channels = false;  // a decay per key channel; REQUIRES a log_decay. On the host alone
  bool low_rank = false;  // a and b; REQUIRES channels, and not delta
};

struct RecurrenceInputs {
  Slice q, k, v;                     // [N, T, H, dk], [N, T, H, dk], [N, T, H, dv]
  const float* log_decay = nullptr;  // [N, T, H], channels: [N, T, H, dk]; null: no decay
  const float* beta = nullptr;       // [N, T, H]; REQUIRES not null exactly for delta
  Slice a, b;                        // [N, T, H, dk]; REQUIRES data exactly for low rank
};

// Every element is overwritten.
struct RecurrenceGradients {
  MutableSlice dq, dk, dv;
  float* dlog_decay = nullptr;  // as log_decay; REQUIRES not null when there is one
  float* dbeta = nullptr;       // [N, T, H]; REQUIRES not null for delta
  MutableSlice da, db;          // REQUIRES data for low rank
};

// True when dk and dv are at most 256; normalised: and the element is float32, without a decay or beta.
bool recurrence_fits_host(const RecurrenceShape& shape);
// REQUIRES recurrence_fits_host(shape). ENSURES y [N, T, H, dv] written; for delta also error [N, T, H, dv],
// the e_t that backward needs, for low rank the p_t (null: not kept). No output overlaps an input. One thread.
void matrix_recurrence_forward(const RecurrenceShape& shape, const RecurrenceInputs& inputs,
                               const MutableSlice& y, float* error);
// REQUIRES error of the same forward for delta and low rank (else unused). One thread; the same bits on every call.
void matrix_recurrence_backward(const RecurrenceShape& shape, const RecurrenceInputs& inputs,
                                const float* error, const Slice& dy, const RecurrenceGradients& gradients);

// The same on a device, queued on `stream` (a cudaStream_t), without synchronising. Returns 0 or a
// cudaError_t. The same bits on every call. REQUIRES device pointers and recurrence_fits_device(shape).
bool recurrence_fits_device(const RecurrenceShape& shape);
// Floats of device memory that backward writes intermediate values to.
std::int64_t matrix_recurrence_scratch(const RecurrenceShape& shape);
int matrix_recurrence_forward_cuda(const RecurrenceShape& shape, const RecurrenceInputs& inputs,
                                   const MutableSlice& y, float* error, void* stream);
int matrix_recurrence_backward_cuda(const RecurrenceShape& shape, const RecurrenceInputs& inputs,
                                    const float* error, const Slice& dy, const RecurrenceGradients& gradients,
                                    float* scratch, void* stream);

}  // namespace rung::kernels
