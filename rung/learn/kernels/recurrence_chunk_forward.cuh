// The forward pass of recurrence_chunk.cuh, a warp a head.
#pragma once

#include "rung/learn/kernels/recurrence_chunk.cuh"

namespace rung::kernels {

// dk = dv = 16 B in all that follows.
template <int B, bool Delta>
struct ForwardTiles {
  struct Input {
    RowTile<32 * B> q, k, v;
  } input[2];  // read, and being filled
  RowTile<32 * B> y;
  std::conditional_t<Delta, Triangle, Absent> triangle;
};

template <int B, bool Decay, bool Delta, bool Normalised>
__device__ void forward_chunks(const RecurrenceInputs& in, const MutableSlice& y_out, float* error,
                               const HeadPlace& head, ForwardTiles<B, Delta>& tiles) {
  constexpr int kSize = kSide * B;
  HeadRows<32 * B> q_rows(in.q, head.n, head.h, 0, 2), k_rows(in.k, head.n, head.h, 0, 2),
      v_rows(in.v, head.n, head.h, 0, 2), y_rows(y_out, head.n, head.h, 0, 2);
  Sum state[B][B], keys[Normalised ? B : 1];  // keys: the sum of all before, in every row
#pragma unroll
  for (int i = 0; i < B; ++i)
#pragma unroll
    for (int j = 0; j < B; ++j) state[i][j] = zeros();
#pragma unroll
  for (Sum& sum : keys) sum = zeros();

  float next_decay = 0.0f, next_beta = 0.0f;
  const auto begin = [&](int t0, int which) {
    fetch(tiles.input[which].q, q_rows, head.length - t0);
    fetch(tiles.input[which].k, k_rows, head.length - t0);
    fetch(tiles.input[which].v, v_rows, head.length - t0);
    q_rows.advance(1);
    k_rows.advance(1);
    v_rows.advance(1);
    if (Decay) next_decay = head.own(in.log_decay, t0);
    if (Delta) next_beta = head.own(in.beta, t0);
  };
  begin(0, 0);
  int which = 0;
#pragma unroll 1
  for (int t0 = 0; t0 < head.length; t0 += kSide, which ^= 1) {
    WarpCore::wait_copies();
    warp_barrier();  // this chunk is there, and the one before has been read
    const auto& tile = tiles.input[which];
    const ChunkDecays<Decay> decays(next_decay);
    const float beta = next_beta;
    if (t0 + kSide < head.length) begin(t0 + kSide, which ^ 1);

    Factor q[B], k[B];
#pragma unroll
    for (int j = 0; j < B; ++j) {
      q[j] = tile.q.rows(j);
      k[j] = tile.k.rows(j);
    }
    SplitFactor reads, inverse;
    float betas[4], divisors[2] = {0.0f, 0.0f};  // of rows; 1 / z in the end
    {
      const Sum within = decays.by_later_rows();
      Sum scores = zeros();  // q_t . k_s
#pragma unroll
      for (int j = 0; j < B; ++j) accumulate(scores, q[j], k[j]);
      scores = masked(within, scores);
      reads = split(scores);
      if constexpr (Normalised) {
        add_products(divisors, scores, filled(1.0f));
#pragma unroll
        for (int j = 0; j < B; ++j) {
          add_products(divisors, widened(q[j]), keys[j]);
          accumulate(keys[j], rounded(filled(1.0f)), tile.k.columns(j));
        }
        sum_rows(divisors);
#pragma unroll
        for (float& divisor : divisors) divisor = inverse_or_zero(divisor);
      }
      if constexpr (Delta) {
        spread_columns(betas, beta);
        Sum overlaps = zeros();  // k_t . k_s
#pragma unroll
        for (int j = 0; j < B; ++j) accumulate(overlaps, k[j], k[j]);
        overlaps = masked(within, overlaps);
        scale_columns(overlaps, betas);
        tiles.triangle.put(overlaps, false);
        inverse = tiles.triangle.inverse(false);
      }
    }
    const float through = decays.through();

#pragma unroll
    for (int i = 0; i < B; ++i) {
      Sum y = zeros(), u = zeros();  // u: values by positions, first the errors' prediction
#pragma unroll
      for (int j = 0; j < B; ++j) {
        const SplitFactor before = split(state[i][j]);
        accumulate(y, q[j], before);
        if (Delta) accumulate(u, before, k[j]);
        if (Decay) scale(state[i][j], through);
      }
      if (Decay) {
        float since[2];
        decays.rows_since(since);
        scale_rows(y, since);
      }
      const Factor v = tile.v.columns(i);
      if constexpr (Delta) {
        if (Decay) {
          float since[4];
          decays.columns_since(since);
          scale_columns(u, since);
        }
        const Sum values = widened(v);
#pragma unroll
        for (int x = 0; x < 8; ++x) u.x[x] = values.x[x] - u.x[x];
        const SplitFactor rest = split(u);
        u = zeros();
        accumulate(u, rest, inverse);
        if (error) {
#pragma unroll
          for (int x = 0; x < 8; ++x) {
            const int t = t0 + block_column(x);
            if (t < head.length)
              error[(head.first + t * head.heads) * kSize + kSide * i + block_row(x)] = u.x[x];
          }
        }
        scale_columns(u, betas);
        accumulate(y, reads, split(u));
      } else {
        accumulate(y, reads, v);
        if (Normalised) scale_rows(y, divisors);
        u = widened(v);
      }
      tiles.y.put(i, y);
      if constexpr (Decay) {
        float until[4];
        decays.columns_until(until);
        scale_columns(u, until);
      }
      if constexpr (Decay || Delta) {
        const SplitFactor update = split(u);
#pragma unroll
        for (int j = 0; j < B; ++j) accumulate(state[i][j], update, tile.k.columns(j));
      } else {
#pragma unroll
        for (int j = 0; j < B; ++j) accumulate(state[i][j], v, tile.k.columns(j));
      }
    }
    warp_barrier();
    flush(tiles.y, y_rows, head.length - t0);
    y_rows.advance(1);
  }
}

}  // namespace rung::kernels
