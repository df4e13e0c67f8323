// The gradients of causal attention (causal_attention.h) on tensor cores, as templates on the machine: heads that one
// block owns. causal_attention_stream.cuh has the longer ones.
//
// A block goes over the triangle twice: first a warp owns keys, goes down the queries and keeps dk and dv in registers;
// then it owns queries, goes along the keys and keeps dq. Nobody adds to what another has: the order of every sum is
// fixed.
#pragma once

#include "rung/learn/kernels/causal_attention_tile.cuh"

namespace rung::kernels {

// dy of the head's positions to shared memory, 0 after the last, with l / ln 2 (infinite after the last) and D of each.
template <class Core, int D>
RUNG_DEVICE void load_output_gradients(const AttentionShared<D>& at, const Slice& y, const Slice& dy,
                                       const float* log_sums, const AttentionPlan& plan,
                                       const AttentionPlace& place) {
  constexpr int kParts = D / 8, kBatch = 4;
  const int part = Core::thread() % kParts, step = 32 * plan.warps / kParts;
  const Bf16 *from = attention_head<D>(dy, place) + 8 * part,
             *output = attention_head<D>(y, place) + 8 * part;
  const float* sums = log_sums + (place.n * plan.heads + place.h) * plan.positions;
  // Rows come in sixteens, and a warp has 16 at most: its lanes agree on whether there are any.
#pragma unroll 1
  for (int row = Core::thread() / kParts; row < plan.rows; row += kBatch * step) {
    AttentionVector slope[kBatch], value[kBatch];
    float l[kBatch];
#pragma unroll
    for (int b = 0; b < kBatch; ++b) {
      const int position = row + b * step;
      slope[b] = value[b] = AttentionVector{};
      l[b] = INFINITY;
      if (position < plan.positions) {
        slope[b] = *reinterpret_cast<const AttentionVector*>(from + position * dy.position_stride);
        value[b] = *reinterpret_cast<const AttentionVector*>(output + position * y.position_stride);
        l[b] = sums[position] * kLog2E;
      }
    }
#pragma unroll
    for (int b = 0; b < kBatch; ++b) {
      const int to = row + b * step;
      if (to >= plan.rows) continue;
      *Core::template shared<AttentionVector>(at.dy + AttentionShared<D>::kPitch * to + 16 * part) = slope[b];
      float dot = 0.0f;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        dot = fmaf(Core::low(slope[b].x[i]), Core::low(value[b].x[i]), dot);
        dot = fmaf(Core::high(slope[b].x[i]), Core::high(value[b].x[i]), dot);
      }
#pragma unroll
      for (int lanes = 1; lanes < kParts; lanes *= 2) dot += Core::shuffle_xor(dot, lanes);
      if (part == 0) {
        float* stats = Core::template shared<float>(at.stats + 8 * to);
        stats[0] = l[b];
        stats[1] = dot;
      }
    }
  }
}

// The gradients of 16 keys. Where registers are too few for all of it, v is read again for every 16 queries.
template <int D>
struct AttentionKeys {
  static constexpr bool kHoldsValues = D < 64;
  unsigned k[D / 16][4], v[D / 16][4];
  unsigned v_at;  // its rows in shared memory, the lane's offset included
  float dk[D / 8][4], dv[D / 8][4];
};
struct alignas(16) AttentionStats {
  float l0, d0, l1, d1;  // of two neighbouring queries
};

// What 16 queries add to the gradients of 16 keys; keys are rows, queries columns.
template <class Core, int D, bool Diagonal>
RUNG_DEVICE void add_queries(AttentionKeys<D>& keys, unsigned q, unsigned dy, unsigned stats, float scale) {
  const int lane = Core::thread() % 32, g = lane / 4, t = lane % 4;
  float p[2][4] = {}, s[2][4] = {};
  multiply_rows<Core, D>(p[0], p[1], keys.k, q);
  if (!keys.kHoldsValues) load_operand<Core, D>(keys.v, keys.v_at);
  multiply_rows<Core, D>(s[0], s[1], keys.v, dy);
#pragma unroll
  for (int j = 0; j < 2; ++j) {
    const AttentionStats of = *Core::template shared<AttentionStats>(stats + 64 * j);
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      float score = fmaf(p[j][e], scale, e % 2 ? -of.l1 : -of.l0);
      if (Diagonal && g + e / 2 * 8 > 8 * j + 2 * t + e % 2) score = -INFINITY;
      p[j][e] = Core::power_of_two(score);
      s[j][e] = p[j][e] * (s[j][e] - (e % 2 ? of.d1 : of.d0));
    }
  }
  unsigned a[4];
  round_to_operand<Core>(a, p[0], p[1]);
  add_products<Core, D>(keys.dv, a, dy);
  round_to_operand<Core>(a, s[0], s[1]);
  add_products<Core, D>(keys.dk, a, q);
}

// The gradient of 16 queries, rows g and g + 8 of this lane.
template <int D>
struct AttentionQueries {
  unsigned q[D / 16][4], dy[D / 16][4];
  float dq[D / 8][4];
  float l[2], d[2];
};

// What 16 keys add to the gradient of 16 queries; queries are rows, keys columns.
template <class Core, int D, bool Diagonal>
RUNG_DEVICE void add_keys(AttentionQueries<D>& queries, unsigned k, unsigned v, float scale) {
  const int lane = Core::thread() % 32, g = lane / 4, t = lane % 4;
  float p[2][4] = {}, s[2][4] = {};
  multiply_rows<Core, D>(p[0], p[1], queries.q, k);
  multiply_rows<Core, D>(s[0], s[1], queries.dy, v);
#pragma unroll
  for (int j = 0; j < 2; ++j)
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      float score = fmaf(p[j][e], scale, -queries.l[e / 2]);
      if (Diagonal && 8 * j + 2 * t + e % 2 > g + e / 2 * 8) score = -INFINITY;
      s[j][e] = Core::power_of_two(score) * (s[j][e] - queries.d[e / 2]);
    }
  unsigned a[4];
  round_to_operand<Core>(a, s[0], s[1]);
  add_products<Core, D>(queries.dq, a, k);
}

template <class Core, int D>
RUNG_DEVICE void load_keys(AttentionKeys<D>& keys, const AttentionShared<D>& at, int row) {
  const unsigned offset = AttentionShared<D>::kPitch * row + lane_offset<Core, D>();
  load_operand<Core, D>(keys.k, at.k + offset);
  keys.v_at = at.v + offset;
  if (keys.kHoldsValues) load_operand<Core, D>(keys.v, keys.v_at);
}
// The keys that begin at `first`, from the queries before `stop` that see them.
template <class Core, int D>
RUNG_DEVICE void add_all_queries(AttentionKeys<D>& keys, const AttentionShared<D>& at, int first, int stop,
                                 float scale) {
  constexpr unsigned kPitch = AttentionShared<D>::kPitch, kTileBytes = kAttentionTile * kPitch;
  unsigned q = at.q + kPitch * first + lane_offset<Core, D>(), dy = q + (at.dy - at.q),
           stats = at.stats + 8 * first + 16 * (Core::thread() % 4);
  add_queries<Core, D, true>(keys, q, dy, stats, scale);
#pragma unroll 1
  for (int query = first + kAttentionTile; query < stop; query += kAttentionTile) {
    q += kTileBytes;
    dy += kTileBytes;
    stats += 8 * kAttentionTile;
    add_queries<Core, D, false>(keys, q, dy, stats, scale);
  }
}
template <class Core, int D>
RUNG_DEVICE void finish_keys(const AttentionKeys<D>& keys, const AttentionPlan& plan, int first,
                             const CausalAttentionGradients& out) {
  write_rows<Core, D>(out.dk, plan, first, keys.dk, plan.tau, plan.tau);
  write_rows<Core, D>(out.dv, plan, first, keys.dv, 1.0f, 1.0f);
}

template <class Core, int D>
RUNG_DEVICE void load_queries(AttentionQueries<D>& queries, const AttentionShared<D>& at, int row) {
  const unsigned offset = AttentionShared<D>::kPitch * row + lane_offset<Core, D>();
  load_operand<Core, D>(queries.q, at.q + offset);
  load_operand<Core, D>(queries.dy, at.dy + offset);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float* stats =
        Core::template shared<float>(at.stats + 8 * (row + Core::thread() % 32 / 4 + 8 * half));
    queries.l[half] = stats[0];
    queries.d[half] = stats[1];
  }
}
// The queries that begin at `first`, from the keys that they see.
template <class Core, int D>
RUNG_DEVICE void add_all_keys(AttentionQueries<D>& queries, const AttentionShared<D>& at, int first,
                              float scale) {
  constexpr unsigned kTileBytes = kAttentionTile * AttentionShared<D>::kPitch;
  unsigned k = at.k + lane_offset<Core, D>(), v = at.v + lane_offset<Core, D>();
#pragma unroll 1
  for (int key = 0; key < first; key += kAttentionTile) {
    add_keys<Core, D, false>(queries, k, v, scale);
    k += kTileBytes;
    v += kTileBytes;
  }
  add_keys<Core, D, true>(queries, k, v, scale);
}

// REQUIRES a plan of one block a head.
template <class Core, int D>
RUNG_DEVICE void attention_backward_block(const AttentionPlan& plan, const CausalAttentionInputs& in,
                                          const Slice& y, const float* log_sums, const Slice& dy,
                                          const CausalAttentionGradients& out) {
  const AttentionShared<D> at(plan, true);
  const AttentionPlace place = attention_place<Core>(plan);
  const float scale = plan.tau * kLog2E;
  copy_positions<Core, D>(at.k, in.k, plan, place, 0, plan.rows);
  copy_positions<Core, D>(at.v, in.v, plan, place, 0, plan.rows);
  copy_positions<Core, D>(at.q, in.q, plan, place, 0, plan.rows);
  load_output_gradients<Core, D>(at, y, dy, log_sums, plan, place);
  Core::wait_copies();
  Core::sync_block();
#pragma unroll 1
  for (int round = 0; round < 2; ++round) {
    const int first = attention_tile<Core>(plan, place, round);
    if (first >= place.end) continue;
    AttentionKeys<D> keys;
    load_keys<Core, D>(keys, at, first);
    clear_sums<D>(keys.dk);
    clear_sums<D>(keys.dv);
    add_all_queries<Core, D>(keys, at, first, plan.rows, scale);
    finish_keys<Core, D>(keys, plan, first, out);
  }
#pragma unroll 1
  for (int round = 0; round < 2; ++round) {
    const int first = attention_tile<Core>(plan, place, round);
    if (first >= place.end) continue;
    AttentionQueries<D> queries;
    load_queries<Core, D>(queries, at, first);
    clear_sums<D>(queries.dq);
    add_all_keys<Core, D>(queries, at, first, scale);
    write_rows<Core, D>(out.dq, plan, first, queries.dq, plan.tau, plan.tau);
  }
}

}  // namespace rung::kernels
