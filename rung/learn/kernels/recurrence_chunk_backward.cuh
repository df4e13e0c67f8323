// The two passes backward of recurrence_chunk.cuh, a warp a head: in reverse, and forward once more.
#pragma once

#include "rung/learn/kernels/recurrence_chunk.cuh"

namespace rung::kernels {

// dk = dv = 16 B in all that follows.

// What backward keeps between its two passes.
struct ChunkScratch {
  float *de = nullptr, *dk = nullptr;               // delta: [N, T, H, dv], [N, T, H, dk]: de, and [1] above
  float *divisors = nullptr, *ddivisors = nullptr;  // normalised: [N, T, H]: 1 / z, and dz
  // Decay: [N, T, H]: what writes at t send on, less what reads at t take from writes of their chunk.
  float* writes = nullptr;
};

template <int B, bool Delta>
struct ReverseTiles {
  struct Input {
    RowTile<32 * B> q, k, dy;
    RowTile<(Delta ? 64 : 32) * B> u;  // v, or e
  } input[2];
  RowTile<32 * B> dv;
  std::conditional_t<Delta, Triangle, RowTile<32 * B>> more;  // the system, or dk
};

template <int B, bool Decay, bool Delta, bool Normalised>
__device__ void reverse_chunks(const RecurrenceInputs& in, const float* error, const Slice& dy,
                               const RecurrenceGradients& out, const ChunkScratch& scratch,
                               const HeadPlace& head, ReverseTiles<B, Delta>& tiles) {
  constexpr int kSize = kSide * B;
  const int last = head.last_chunk();
  HeadRows<32 * B> q_rows(in.q, head.n, head.h, last, 2), k_rows(in.k, head.n, head.h, last, 2),
      dy_rows(dy, head.n, head.h, last, 2), dk_rows(out.dk, head.n, head.h, last, 2),
      dv_rows(out.dv, head.n, head.h, last, 2);
  HeadRows<(Delta ? 64 : 32) * B> u_rows(Delta ? head.tensor(error, kSize) : in.v, head.n, head.h, last,
                                         Delta ? 4 : 2);
  Sum flow[B][B], queries[Normalised ? B : 1];  // H; queries: the sum of dz_t q_t of all after, in every row
#pragma unroll
  for (int i = 0; i < B; ++i)
#pragma unroll
    for (int j = 0; j < B; ++j) flow[i][j] = zeros();
#pragma unroll
  for (Sum& sum : queries) sum = zeros();

  float next_decay = 0.0f, next_beta = 0.0f, next_divisor = 0.0f, next_ddivisor = 0.0f;
  const auto begin = [&](int t0, int which) {
    fetch(tiles.input[which].q, q_rows, head.length - t0);
    fetch(tiles.input[which].k, k_rows, head.length - t0);
    fetch(tiles.input[which].dy, dy_rows, head.length - t0);
    fetch(tiles.input[which].u, u_rows, head.length - t0);
    q_rows.advance(-1);
    k_rows.advance(-1);
    dy_rows.advance(-1);
    u_rows.advance(-1);
    if (Decay) next_decay = head.own(in.log_decay, t0);
    if (Delta) next_beta = head.own(in.beta, t0);
    if (Normalised) {
      next_divisor = head.own(scratch.divisors, t0);
      next_ddivisor = head.own(scratch.ddivisors, t0);
    }
  };
  begin(last, 0);
  int which = 0;
#pragma unroll 1
  for (int t0 = last; t0 >= 0; t0 -= kSide, which ^= 1) {
    WarpCore::wait_copies();
    warp_barrier();
    const auto& tile = tiles.input[which];
    const ChunkDecays<Decay> decays(next_decay);
    const float beta = next_beta;
    float divisors[4], ddivisors[4];  // of columns
    if (Normalised) {
      spread_columns(divisors, next_divisor);
      spread_columns(ddivisors, next_ddivisor);
    }
    if (t0 > 0) begin(t0 - kSide, which ^ 1);

    Factor k[B];
    Sum scores = zeros(), overlaps = zeros();  // k_s . q_t, k_s . k_t
#pragma unroll
    for (int j = 0; j < B; ++j) {
      k[j] = tile.k.rows(j);
      accumulate(scores, k[j], tile.q.rows(j));
      if (Delta) accumulate(overlaps, k[j], k[j]);
    }
    if (Normalised) scale_columns(scores, divisors);
    const SplitFactor reads = split(masked(decays.by_later_columns(), scores));  // [s, t]
    float betas[2];
    SplitFactor inverse;
    if constexpr (Delta) {
      float column_betas[4];
      spread_rows(betas, beta);
      spread_columns(column_betas, beta);
      Sum below = masked(decays.by_later_columns(), overlaps);
      scale_columns(below, column_betas);
      tiles.more.put(below, true);
      inverse = tiles.more.inverse(true);
    }

    const float through = decays.through();
    Sum answers = zeros(), returns = zeros();  // u_s . dy_t, u_s . de_t
    float dbeta[2] = {0.0f, 0.0f};
    Sum dk[B];
#pragma unroll
    for (int j = 0; j < B; ++j) dk[j] = zeros();
#pragma unroll
    for (int i = 0; i < B; ++i) {
      const Factor dy_columns = tile.dy.columns(i);
      std::conditional_t<Delta, SplitFactor, Factor> u;
      if constexpr (Delta) {
        Sum e = tile.u.numbers(i);
        scale_rows(e, betas);
        u = split(e);
      } else {
        u = tile.u.rows(i);
      }
      accumulate(answers, u, tile.dy.rows(i));
      Sum dv = zeros();  // delta: first values by positions
#pragma unroll
      for (int j = 0; j < B; ++j) {
        const SplitFactor after = split(flow[i][j]);
        accumulate(dk[j], u, transposed(after));
        if constexpr (Delta)
          accumulate(dv, after, k[j]);
        else
          accumulate(dv, k[j], after);
        if (Decay) scale(flow[i][j], through);
      }
      if constexpr (Delta) {
        if (Decay) {
          float until[4];
          decays.columns_until(until);
          scale_columns(dv, until);
        }
        accumulate(dv, dy_columns, reads);
        const SplitFactor rest = split(dv);
        dv = zeros();  // du, then de
        accumulate(dv, inverse, rest);
        add_products(dbeta, dv, tile.u.numbers(i));
        scale_rows(dv, betas);
        head.put_rows(scratch.de, kSize, t0, i, dv);
        accumulate(returns, u, split(dv));
      } else {
        if (Decay) {
          float until[2];
          decays.rows_until(until);
          scale_rows(dv, until);
        }
        accumulate(dv, reads, dy_columns);
      }
      tiles.dv.put(i, dv);

      if constexpr (Decay || Normalised) {
        float since[4];
        decays.columns_since(since);
        Sum sum = widened(dy_columns);
        scale_columns(sum, Normalised ? divisors : since);
        const SplitFactor added = split(sum);
#pragma unroll
        for (int j = 0; j < B; ++j) accumulate(flow[i][j], added, tile.q.columns(j));
      } else {
#pragma unroll
        for (int j = 0; j < B; ++j) accumulate(flow[i][j], dy_columns, tile.q.columns(j));
      }
      if constexpr (Delta) {
        float since[2];
        decays.rows_since(since);
        const float less[2] = {-since[0], -since[1]};
        scale_rows(dv, less);
        const SplitFactor removed = transposed(split(dv));
#pragma unroll
        for (int j = 0; j < B; ++j) accumulate(flow[i][j], removed, tile.k.columns(j));
      }
    }

    if constexpr (Normalised) {
      Sum added = filled(1.0f);
      scale_columns(added, ddivisors);
      scale_columns(answers, divisors);
      add(answers, added);
      const SplitFactor factor = split(added);
#pragma unroll
      for (int j = 0; j < B; ++j) {
        add(dk[j], queries[j]);
        accumulate(queries[j], factor, tile.q.columns(j));
      }
    }
    const Sum within = decays.by_later_columns();
    const SplitFactor asks = split(masked(within, answers));
    SplitFactor corrections;
    if constexpr (Delta) corrections = split(without_diagonal(masked(within, returns, -1.0f)));
    float sent[2] = {0.0f, 0.0f};  // by the writes: within the chunk and beyond it
#pragma unroll
    for (int j = 0; j < B; ++j) {
      if (Decay) {
        float until[2];
        decays.rows_until(until);
        scale_rows(dk[j], until);
        add_products(sent, dk[j], widened(k[j]));
      }
      accumulate(dk[j], asks, tile.q.columns(j));
      if constexpr (Delta) {
        accumulate(dk[j], corrections, tile.k.columns(j));
        head.put_rows(scratch.dk, kSize, t0, j, dk[j]);
      } else {
        tiles.more.put(j, dk[j]);
      }
    }
    if constexpr (Decay) {
      float taken[4] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        float pair = scores.x[i] * answers.x[i];
        if (Delta) pair -= overlaps.x[i] * returns.x[i];
        pair = block_row(i) < block_column(i) && within.x[i] != 0.0f ? within.x[i] * pair : 0.0f;
        sent[row_slot(i)] += pair;
        taken[column_slot(i)] += pair;
      }
      head.put_own(scratch.writes, t0, gather_rows(sent) - gather_columns(taken));
    }
    if constexpr (Delta) head.put_own(out.dbeta, t0, gather_rows(dbeta));
    warp_barrier();
    flush(tiles.dv, dv_rows, head.length - t0);
    dv_rows.advance(-1);
    if constexpr (!Delta) {
      flush(tiles.more, dk_rows, head.length - t0);
      dk_rows.advance(-1);
    }
  }
}

template <int B, bool Delta>
struct ReplayTiles {
  struct Input {
    RowTile<32 * B> q, k, dy;
    RowTile<(Delta ? 64 : 32) * B> u;  // v, or e
    std::conditional_t<Delta, RowTile<64 * B>, Absent> de;
  } input[2];
  RowTile<32 * B> dq;
  std::conditional_t<Delta, RowTile<32 * B>, Absent> dk;
};

template <int B, bool Decay, bool Delta, bool Normalised>
__device__ void replay_chunks(const RecurrenceInputs& in, const float* error, const Slice& dy,
                              const RecurrenceGradients& out, const ChunkScratch& scratch,
                              const HeadPlace& head, ReplayTiles<B, Delta>& tiles) {
  constexpr int kSize = kSide * B;
  HeadRows<32 * B> q_rows(in.q, head.n, head.h, 0, 2), k_rows(in.k, head.n, head.h, 0, 2),
      dy_rows(dy, head.n, head.h, 0, 2), dq_rows(out.dq, head.n, head.h, 0, 2),
      dk_rows(out.dk, head.n, head.h, 0, 2);
  HeadRows<(Delta ? 64 : 32) * B> u_rows(Delta ? head.tensor(error, kSize) : in.v, head.n, head.h, 0,
                                         Delta ? 4 : 2);
  HeadRows<64 * B> de_rows(head.tensor(scratch.de, kSize), head.n, head.h, 0, 4);
  Sum state[B][B], keys[Normalised ? B : 1];  // S^T; keys: the sum of all before, in every row
#pragma unroll
  for (int j = 0; j < B; ++j)
#pragma unroll
    for (int i = 0; i < B; ++i) state[j][i] = zeros();
#pragma unroll
  for (Sum& sum : keys) sum = zeros();

  float next_decay = 0.0f, next_beta = 0.0f, next_writes = 0.0f, carried = 0.0f;
  const auto begin = [&](int t0, int which) {
    if (Decay || Normalised) {
      fetch(tiles.input[which].q, q_rows, head.length - t0);
      q_rows.advance(1);
    }
    if (Decay) {
      next_decay = head.own(in.log_decay, t0);
      next_writes = head.own(scratch.writes, t0);
    }
    fetch(tiles.input[which].k, k_rows, head.length - t0);
    fetch(tiles.input[which].dy, dy_rows, head.length - t0);
    fetch(tiles.input[which].u, u_rows, head.length - t0);
    k_rows.advance(1);
    dy_rows.advance(1);
    u_rows.advance(1);
    if constexpr (Delta) {
      fetch(tiles.input[which].de, de_rows, head.length - t0);
      de_rows.advance(1);
      next_beta = head.own(in.beta, t0);
    }
  };
  begin(0, 0);
  int which = 0;
#pragma unroll 1
  for (int t0 = 0; t0 < head.length; t0 += kSide, which ^= 1) {
    WarpCore::wait_copies();
    warp_barrier();
    const auto& tile = tiles.input[which];
    const ChunkDecays<Decay> decays(next_decay);
    const float beta = next_beta, writes = next_writes;
    if (t0 + kSide < head.length) begin(t0 + kSide, which ^ 1);

    float betas[2];
    if (Delta) spread_rows(betas, beta);
    const float through = decays.through();
    Sum answers = zeros(), returns = zeros();  // dy_t . u_s, de_t . u_s
    Sum dq[B], dk[Delta ? B : 1];
#pragma unroll
    for (int j = 0; j < B; ++j) {
      dq[j] = zeros();
      if (Delta) dk[j] = zeros();
    }
#pragma unroll
    for (int i = 0; i < B; ++i) {
      const Factor dy_factor = tile.dy.rows(i);
      SplitFactor de;
      std::conditional_t<Delta || Decay, SplitFactor, Factor> written;  // D_Cs u_s, values by positions
      if constexpr (Delta) {
        Sum u = tile.u.numbers(i);
        scale_rows(u, betas);
        written = split(u);
        accumulate(answers, dy_factor, written);
        de = split(tile.de.numbers(i));
        accumulate(returns, de, written);
        if (Decay) {
          float until[2];
          decays.rows_until(until);
          scale_rows(u, until);
          written = split(u);
        }
        written = transposed(written);
      } else {
        accumulate(answers, dy_factor, tile.u.rows(i));
        if constexpr (Decay) {
          float until[4];
          decays.columns_until(until);
          Sum u = widened(tile.u.columns(i));
          scale_columns(u, until);
          written = split(u);
        } else {
          written = tile.u.columns(i);
        }
      }
#pragma unroll
      for (int j = 0; j < B; ++j) {
        const SplitFactor before = split(state[j][i]);
        accumulate(dq[j], dy_factor, before);
        if constexpr (Delta) accumulate(dk[j], de, before);
        if (Decay) scale(state[j][i], through);
        accumulate(state[j][i], tile.k.columns(j), written);
      }
    }

    const Sum within = decays.by_later_rows();  // [t, s]
    const SplitFactor asks = split(masked(within, answers));
    SplitFactor corrections;
    if constexpr (Delta) corrections = split(without_diagonal(masked(within, returns, -1.0f)));
    float since[2], taken[2] = {0.0f, 0.0f};  // by the reads, from before the chunk
    decays.rows_since(since);
#pragma unroll
    for (int j = 0; j < B; ++j) {
      const Factor k_columns = tile.k.columns(j);
      if (Decay) {
        scale_rows(dq[j], since);
        add_products(taken, dq[j], widened(tile.q.rows(j)));
      }
      accumulate(dq[j], asks, k_columns);
      if (!Normalised) tiles.dq.put(j, dq[j]);
      if constexpr (Delta) {
        const float less[2] = {-since[0], -since[1]};
        scale_rows(dk[j], less);
        if (Decay) add_products(taken, dk[j], widened(tile.k.rows(j)));
        accumulate(dk[j], corrections, k_columns);
        head.add_rows(dk[j], scratch.dk, kSize, t0, j);
        tiles.dk.put(j, dk[j]);
      }
    }
    if constexpr (Normalised) {
      const Factor before = rounded(within), all = rounded(filled(1.0f));
      Sum seen[B];  // keys until t, by rows
      float divisors[2] = {0.0f, 0.0f}, less[2] = {0.0f, 0.0f};
#pragma unroll
      for (int j = 0; j < B; ++j) {
        const Sum q = widened(tile.q.rows(j));
        const Factor k_columns = tile.k.columns(j);
        seen[j] = keys[j];
        accumulate(seen[j], before, k_columns);
        accumulate(keys[j], all, k_columns);
        add_products(divisors, q, seen[j]);
        add_products(less, q, dq[j]);
      }
      sum_rows(divisors);
      sum_rows(less);
#pragma unroll
      for (int slot = 0; slot < 2; ++slot) {
        divisors[slot] = inverse_or_zero(divisors[slot]);
        less[slot] *= -divisors[slot] * divisors[slot];
      }
#pragma unroll
      for (int j = 0; j < B; ++j) {
        scale_rows(dq[j], divisors);
        scale_rows(seen[j], less);
        add(dq[j], seen[j]);
        tiles.dq.put(j, dq[j]);
      }
      // Every lane of a row has the sums; those of one column put them.
      if (lane_index() % 4 == 0) {
#pragma unroll
        for (int slot = 0; slot < 2; ++slot)
          if (const int t = t0 + slot_row(slot); t < head.length) {
            scratch.divisors[head.first + t * head.heads] = divisors[slot];
            scratch.ddivisors[head.first + t * head.heads] = less[slot];
          }
      }
    }
    if constexpr (Decay) {
      float sum = writes - gather_rows(taken);
#pragma unroll
      for (int lanes = 1; lanes < kSide; lanes *= 2) {
        const float below = from_lane_below(sum, lanes);
        if (lane_index() % kSide >= lanes) sum += below;
      }
      const float before = from_lane_below(sum, 1);
      head.put_own(out.dlog_decay, t0, lane_index() == 0 ? carried : carried + before);
      carried += from_lane(sum, kSide - 1);
    }
    warp_barrier();
    flush(tiles.dq, dq_rows, head.length - t0);
    dq_rows.advance(1);
    if constexpr (Delta) {
      flush(tiles.dk, dk_rows, head.length - t0);
      dk_rows.advance(1);
    }
  }
}

}  // namespace rung::kernels
