// The gradients of causal attention (causal_attention.h) for heads that are shared among blocks, as templates on the
// machine.
//
// Every fragment that comes from shared memory serves 32 positions, because heads of 64 wait for that memory: a warp
// keeps the vectors of 32 keys and their gradients in registers (then of 32 queries), and the other side streams by in
// chunks, the next one on its way while the one at hand is worked on. What backward needs of a query besides q and dy,
// l / ln 2 and D, a kernel before it puts side by side.
#pragma once

#include "rung/learn/kernels/causal_attention_gradient.cuh"

namespace rung::kernels {

inline constexpr int kStreamWarps = 4, kStreamSquares = 2;  // of a block; tiles of a warp
inline constexpr int kStreamRows = 64;                      // of a chunk
inline constexpr int kStreamOwn = kStreamWarps * kStreamSquares * kAttentionTile;

constexpr AttentionPlan attention_stream_plan(const CausalAttentionShape& shape) {
  AttentionPlan plan;
  plan.positions = static_cast<int>(shape.positions);
  plan.heads = static_cast<int>(shape.heads);
  plan.tau = shape.tau;
  plan.rows = kStreamRows;
  plan.own = kStreamOwn;
  plan.blocks = (plan.positions + plan.own - 1) / plan.own;
  plan.warps = kStreamWarps;
  return plan;
}

// Two numbers a query, heads after each other, each filled up to whole chunks.
RUNG_HOST_DEVICE constexpr std::int64_t stream_positions(std::int64_t positions) {
  return (positions + kStreamRows - 1) / kStreamRows * kStreamRows;
}

// Two chunks of two vectors and of numbers a query. A chunk's vectors have room for one vector of all that is owned.
template <int D>
struct StreamShared {
  static_assert(2 * kStreamRows == kStreamOwn);
  static constexpr unsigned kVector = AttentionShared<D>::kPitch * kStreamRows, kStats = 2 * kVector,
                            kChunk = kStats + 8 * kStreamRows, kSize = 2 * kChunk;
};

// Queries that a block puts together: threads that read one vector are neighbours.
template <int D>
inline constexpr int kStatsRows = 32 * kStreamWarps / (D / 8);

// l / ln 2, infinite after the last position, and D = dy . y.
template <class Core, int D>
RUNG_DEVICE void gather_stats(const AttentionPlan& plan, const Slice& y, const Slice& dy,
                              const float* log_sums, float* stats) {
  constexpr int kParts = D / 8;
  static_assert(kStreamRows % kStatsRows<D> == 0);
  const int padded = static_cast<int>(stream_positions(plan.positions)), blocks = padded / kStatsRows<D>,
            pair = Core::block() / blocks,
            position = Core::block() % blocks * kStatsRows<D> + Core::thread() / kParts,
            part = Core::thread() % kParts;
  const bool inside = position < plan.positions;
  float dot = 0.0f;
  if (inside) {
    AttentionPlace place;
    place.n = pair / plan.heads;
    place.h = pair % plan.heads;
    const auto at = [&](const Slice& slice) {
      return *reinterpret_cast<const AttentionVector*>(attention_head<D>(slice, place) +
                                                       position * slice.position_stride + 8 * part);
    };
    const AttentionVector slope = at(dy), value = at(y);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      dot = fmaf(Core::low(slope.x[i]), Core::low(value.x[i]), dot);
      dot = fmaf(Core::high(slope.x[i]), Core::high(value.x[i]), dot);
    }
  }
#pragma unroll
  for (int lanes = 1; lanes < kParts; lanes *= 2) dot += Core::shuffle_xor(dot, lanes);
  const std::int64_t head = pair;
  if (part == 0)
    Core::save_pair(stats + 2 * (head * padded + position),
                    inside ? log_sums[head * plan.positions + position] * kLog2E : INFINITY, dot);
}

// sums [R][16 x 16] += a [R][16 x D] times the transpose of the 16 rows at `rows`.
template <class Core, int D, int R>
RUNG_DEVICE void multiply_rows(float (&sums)[R][2][4], const unsigned (&a)[R][D / 16][4], unsigned rows) {
#pragma unroll
  for (int step = 0; step < D / 16; ++step) {
    unsigned b[4];
    Core::load_matrices(b, rows + 32 * step);
#pragma unroll
    for (int r = 0; r < R; ++r) {
      Core::multiply_add(sums[r][0], a[r][step], b[0], b[2]);
      Core::multiply_add(sums[r][1], a[r][step], b[1], b[3]);
    }
  }
}
// sums [R][16 x D] += values [R][16 x 16], rounded, times the 16 rows at `rows`.
template <class Core, int D, int R>
RUNG_DEVICE void add_products(float (&sums)[R][D / 8][4], const float (&values)[R][2][4], unsigned rows) {
  unsigned a[R][4];
#pragma unroll
  for (int r = 0; r < R; ++r) round_to_operand<Core>(a[r], values[r][0], values[r][1]);
#pragma unroll
  for (int pair = 0; pair < D / 16; ++pair) {
    unsigned b[4];
    Core::load_transposed(b, rows + 32 * pair);
#pragma unroll
    for (int r = 0; r < R; ++r) {
      Core::multiply_add(sums[r][2 * pair], a[r], b[0], b[1]);
      Core::multiply_add(sums[r][2 * pair + 1], a[r], b[2], b[3]);
    }
  }
}

// 16 queries at `q` and `dy` (their rows in shared memory, the lane's offset included) with their numbers at `stats`,
// against 16 R keys; keys are rows. Where Edge some of the pairs are not causal: the queries begin `ahead` positions
// after the keys.
template <class Core, int D, int R, bool Edge>
RUNG_DEVICE void stream_queries(float (&dk)[R][D / 8][4], float (&dv)[R][D / 8][4],
                                const unsigned (&k)[R][D / 16][4], const unsigned (&v)[R][D / 16][4],
                                unsigned q, unsigned dy, unsigned stats, float scale, int ahead) {
  const int lane = Core::thread() % 32, g = lane / 4, t = lane % 4;
  float p[R][2][4] = {}, s[R][2][4] = {};
  multiply_rows<Core, D, R>(p, k, q);
  multiply_rows<Core, D, R>(s, v, dy);
#pragma unroll
  for (int j = 0; j < 2; ++j) {
    const AttentionStats of = *Core::template shared<AttentionStats>(stats + 64 * j + 16 * t);
#pragma unroll
    for (int r = 0; r < R; ++r)
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        float score = fmaf(p[r][j][e], scale, e % 2 ? -of.l1 : -of.l0);
        if (Edge && 16 * r + g + e / 2 * 8 > ahead + 8 * j + 2 * t + e % 2) score = -INFINITY;
        p[r][j][e] = Core::power_of_two(score);
        s[r][j][e] = p[r][j][e] * (s[r][j][e] - (e % 2 ? of.d1 : of.d0));
      }
  }
  add_products<Core, D, R>(dv, p, dy);
  add_products<Core, D, R>(dk, s, q);
}
// 16 keys at `k` and `v` against 16 R queries; queries are rows. Where Edge the keys begin `ahead` positions after the
// queries.
template <class Core, int D, int R, bool Edge>
RUNG_DEVICE void stream_keys(float (&dq)[R][D / 8][4], const unsigned (&q)[R][D / 16][4],
                             const unsigned (&dy)[R][D / 16][4], const float (&l)[R][2],
                             const float (&d)[R][2], unsigned k, unsigned v, float scale, int ahead) {
  const int lane = Core::thread() % 32, g = lane / 4, t = lane % 4;
  float p[R][2][4] = {}, s[R][2][4] = {};
  multiply_rows<Core, D, R>(p, q, k);
  multiply_rows<Core, D, R>(s, dy, v);
#pragma unroll
  for (int r = 0; r < R; ++r)
#pragma unroll
    for (int j = 0; j < 2; ++j)
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        float score = fmaf(p[r][j][e], scale, -l[r][e / 2]);
        if (Edge && ahead + 8 * j + 2 * t + e % 2 > 16 * r + g + e / 2 * 8) score = -INFINITY;
        s[r][j][e] = Core::power_of_two(score) * (s[r][j][e] - d[r][e / 2]);
      }
  add_products<Core, D, R>(dq, s, k);
}

template <int D, int R>
RUNG_DEVICE void clear_sums(float (&sums)[R][D / 8][4]) {
#pragma unroll
  for (int r = 0; r < R; ++r) clear_sums<D>(sums[r]);
}
// Two vectors of what the warps own, through shared memory to registers.
template <class Core, int D, int R>
RUNG_DEVICE void load_owned(unsigned (&a)[R][D / 16][4], unsigned (&b)[R][D / 16][4], const Slice& of_a,
                            const Slice& of_b, const AttentionPlan& plan, const AttentionPlace& place) {
  using At = StreamShared<D>;
  copy_positions<Core, D>(0, of_a, plan, place, place.begin, plan.own);
  copy_positions<Core, D>(At::kChunk, of_b, plan, place, place.begin, plan.own);
  Core::wait_copies();
  Core::sync_block();
  const unsigned rows =
      AttentionShared<D>::kPitch * (16 * R * (Core::thread() / 32)) + lane_offset<Core, D>();
#pragma unroll
  for (int r = 0; r < R; ++r) {
    load_operand<Core, D>(a[r], rows + 16 * r * AttentionShared<D>::kPitch);
    load_operand<Core, D>(b[r], At::kChunk + rows + 16 * r * AttentionShared<D>::kPitch);
  }
  Core::sync_block();
}

template <class Core, int D>
RUNG_DEVICE void attention_stream_block(const AttentionPlan& plan, const CausalAttentionInputs& in,
                                        const float* stats, const Slice& dy,
                                        const CausalAttentionGradients& out) {
  using At = StreamShared<D>;
  constexpr int R = kStreamSquares, kOwn = 16 * R;
  constexpr unsigned kTileBytes = kAttentionTile * AttentionShared<D>::kPitch;
  const AttentionPlace place = attention_place<Core>(plan);
  const float scale = plan.tau * kLog2E;
  const int first = place.begin + kOwn * (Core::thread() / 32);
  const float* of_head = stats + 2 * (place.n * plan.heads + place.h) * stream_positions(plan.positions);
  {
    unsigned k[R][D / 16][4], v[R][D / 16][4];
    float dk[R][D / 8][4], dv[R][D / 8][4];
    const auto fetch = [&](int chunk) {
      const unsigned to = chunk / kStreamRows % 2 * At::kChunk;
      copy_positions<Core, D>(to, in.q, plan, place, chunk, kStreamRows);
      copy_positions<Core, D>(to + At::kVector, dy, plan, place, chunk, kStreamRows);
      if (Core::thread() < kStreamRows / 2)
        Core::copy_async(to + At::kStats + 16 * Core::thread(), of_head + 2 * chunk + 4 * Core::thread(),
                         true);
    };
    load_owned<Core, D, R>(k, v, in.k, in.v, plan, place);
    clear_sums<D, R>(dk);
    clear_sums<D, R>(dv);
    fetch(place.begin);
#pragma unroll 1
    for (int chunk = place.begin; chunk < plan.positions; chunk += kStreamRows) {
      Core::wait_copies();
      Core::sync_block();
      if (chunk + kStreamRows < plan.positions) fetch(chunk + kStreamRows);
      const unsigned at = chunk / kStreamRows % 2 * At::kChunk;
      unsigned q = at + lane_offset<Core, D>(), numbers = at + At::kStats;
#pragma unroll 1
      for (int query = chunk; query < chunk + kStreamRows; query += kAttentionTile) {
        if (query >= first + kOwn)
          stream_queries<Core, D, R, false>(dk, dv, k, v, q, q + At::kVector, numbers, scale, 0);
        else if (query >= first)
          stream_queries<Core, D, R, true>(dk, dv, k, v, q, q + At::kVector, numbers, scale, query - first);
        q += kTileBytes;
        numbers += 8 * kAttentionTile;
      }
    }
#pragma unroll
    for (int r = 0; r < R; ++r) {
      write_rows<Core, D>(out.dk, plan, first + 16 * r, dk[r], plan.tau, plan.tau);
      write_rows<Core, D>(out.dv, plan, first + 16 * r, dv[r], 1.0f, 1.0f);
    }
  }
  Core::sync_block();
  {
    unsigned q[R][D / 16][4], slope[R][D / 16][4];
    float dq[R][D / 8][4], l[R][2], d[R][2];
    const auto fetch = [&](int chunk) {
      const unsigned to = chunk / kStreamRows % 2 * At::kChunk;
      copy_positions<Core, D>(to, in.k, plan, place, chunk, kStreamRows);
      copy_positions<Core, D>(to + At::kVector, in.v, plan, place, chunk, kStreamRows);
    };
    load_owned<Core, D, R>(q, slope, in.q, dy, plan, place);
    clear_sums<D, R>(dq);
    fetch(0);
#pragma unroll
    for (int r = 0; r < R; ++r)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int position = first + 16 * r + Core::thread() % 32 / 4 + 8 * half;
        const bool inside = position < plan.positions;
        l[r][half] = inside ? of_head[2 * position] : INFINITY;
        d[r][half] = inside ? of_head[2 * position + 1] : 0.0f;
      }
#pragma unroll 1
    for (int chunk = 0; chunk < place.end; chunk += kStreamRows) {
      Core::wait_copies();
      Core::sync_block();
      if (chunk + kStreamRows < place.end) fetch(chunk + kStreamRows);
      unsigned k = chunk / kStreamRows % 2 * At::kChunk + lane_offset<Core, D>();
#pragma unroll 1
      for (int key = chunk; key < chunk + kStreamRows; key += kAttentionTile) {
        if (key < first)
          stream_keys<Core, D, R, false>(dq, q, slope, l, d, k, k + At::kVector, scale, 0);
        else if (key < first + kOwn)
          stream_keys<Core, D, R, true>(dq, q, slope, l, d, k, k + At::kVector, scale, key - first);
        k += kTileBytes;
      }
    }
#pragma unroll
    for (int r = 0; r < R; ++r) write_rows<Core, D>(out.dq, plan, first + 16 * r, dq[r], plan.tau, plan.tau);
  }
}

}  // namespace rung::kernels
