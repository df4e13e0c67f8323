// Causal attention (causal_attention.h) on tensor cores: what each block of threads does, as templates on the
// machine (tensor_core.cuh). Forward, and what backward (causal_attention_gradient.cuh) and log-linear attention
// (log_linear_tile.cuh) share with it.
//
// A block belongs to one head of one sequence and owns some of its positions, a warp 16 of them at a time. Where the
// whole head fits into shared memory the block owns all of it, each warp an early and a late 16, so that the triangle
// is shared out evenly, and nothing waits after the vectors have come. A longer head is shared among several blocks,
// which read the positions they look at in chunks.
//
// Rows in shared memory are 16 bytes longer than their numbers: eight rows then begin in eight different groups
// of four banks, and every ldmatrix is free of conflicts. Lane i names row i % 16 and columns 8 (i / 16) .. + 7 of a
// square [16 x 16]: as it stands the four registers are an A, and 0, 2 and 1, 3 are the B of its upper and lower rows
// as columns; transposed 0, 1 and 2, 3 are the B of its left and right columns.
#pragma once

#include <cmath>
#include <cstdint>

#include "rung/learn/kernels/causal_attention.h"

namespace rung::kernels {

inline constexpr int kAttentionTile = 16;  // positions that a warp owns at a time
inline constexpr int kAttentionWarps = 8;  // of a block that has a part of a head
inline constexpr int kAttentionStep = 32;  // keys that forward takes at once

// Positions in shared memory at once, multiples of 16.
struct AttentionRoom {
  int whole = 256;       // of a head that one block owns, at most
  int part = 256;        // of a head that is shared among blocks
  int tiles_a_warp = 2;  // of a block that owns its head
};
inline constexpr AttentionRoom kForwardAttentionRoom;
// In backward four vectors of a position are there at once: two blocks a multiprocessor. A head of 64 has it for
// itself, where such `large` blocks can be, each warp one tile: early keys have as many queries as late queries keys.
constexpr AttentionRoom backward_attention_room(int size, bool large) {
  if (size < 64) return {};
  return large ? AttentionRoom{256, 128, 1} : AttentionRoom{128, 128, 2};
}

struct AttentionVector {
  alignas(16) std::uint32_t x[4];
};

// How a head is shared among blocks.
struct AttentionPlan {
  int positions = 0, heads = 0;
  int rows = 0;    // in shared memory at once, a multiple of 16
  int own = 0;     // of a block: rows where they are all, else 16 a warp
  int blocks = 0;  // of a head
  int warps = 0;   // of a block
  float tau = 0;
};
constexpr AttentionPlan attention_plan(std::int64_t positions, std::int64_t heads,
                                       const AttentionRoom& room) {
  AttentionPlan plan;
  plan.positions = static_cast<int>(positions);
  plan.heads = static_cast<int>(heads);
  const int tiles = (plan.positions + kAttentionTile - 1) / kAttentionTile;
  if (tiles * kAttentionTile <= room.whole) {
    plan.rows = plan.own = tiles * kAttentionTile;
    plan.warps = (tiles + room.tiles_a_warp - 1) / room.tiles_a_warp;
  } else {
    plan.rows = room.part;
    plan.own = kAttentionWarps * kAttentionTile;
    plan.warps = kAttentionWarps;
  }
  plan.blocks = (plan.positions + plan.own - 1) / plan.own;
  return plan;
}
constexpr AttentionPlan attention_plan(const CausalAttentionShape& shape, const AttentionRoom& room) {
  AttentionPlan plan = attention_plan(shape.positions, shape.heads, room);
  plan.tau = shape.tau;
  return plan;
}

// Rows of a chunk where so many positions are left.
RUNG_HOST_DEVICE constexpr int chunk_rows(const AttentionPlan& plan, int left) {
  const int whole = (left + kAttentionTile - 1) / kAttentionTile * kAttentionTile;
  return whole < plan.rows ? whole : plan.rows;
}

// Bytes from the beginning of shared memory.
template <int D>
struct AttentionShared {
  static constexpr unsigned kPitch = 2 * (D + 8);  // bytes of a row
  unsigned q, k, v, dy, stats, size;
  RUNG_HOST_DEVICE constexpr AttentionShared(const AttentionPlan& plan, bool backward)
      : q(0),
        k(q + kPitch * static_cast<unsigned>(backward ? plan.rows : plan.own)),
        v(k + kPitch * static_cast<unsigned>(plan.rows)),
        dy(v + kPitch * static_cast<unsigned>(plan.rows)),
        stats(dy + (backward ? kPitch * static_cast<unsigned>(plan.rows) : 0u)),  // l / ln 2 and D, float32
        size(stats + (backward ? 8u * static_cast<unsigned>(plan.rows) : 0u)) {}
};

// A block's head and the positions it owns.
struct AttentionPlace {
  std::int64_t n = 0, h = 0;
  int begin = 0, end = 0;
};
// Cheap, and asked again where it is needed: registers are short between.
template <class Core>
RUNG_DEVICE AttentionPlace attention_place(const AttentionPlan& plan) {
  const int pair = Core::block() / plan.blocks;
  AttentionPlace place;
  place.n = pair / plan.heads;
  place.h = pair % plan.heads;
  place.begin = (plan.blocks - 1 - Core::block() % plan.blocks) * plan.own;  // the longest first
  const int end = place.begin + plan.own;
  place.end = end < plan.positions ? end : plan.positions;
  return place;
}
// First position of the 16 that this warp owns in this round: an early and a late one where there are two, beyond the
// block's where there is one.
template <class Core>
RUNG_DEVICE int attention_tile(const AttentionPlan& plan, const AttentionPlace& place, int round) {
  const int warp = Core::thread() / 32;
  return place.begin + kAttentionTile * (round == 0 ? warp : 2 * plan.warps - 1 - warp);
}

template <int D>
RUNG_DEVICE const Bf16* attention_head(const Slice& slice, const AttentionPlace& place, int size = D) {
  return static_cast<const Bf16*>(slice.data) + place.n * slice.sequence_stride + place.h * size;
}

// Positions first .. first + rows - 1 to shared memory, 0 after the last and beyond `size` numbers, a multiple of 8;
// there after wait_copies.
template <class Core, int D>
RUNG_DEVICE void copy_positions(unsigned to, const Slice& slice, const AttentionPlan& plan,
                                const AttentionPlace& place, int first, int rows, int size = D) {
  constexpr int kParts = D / 8;
  const int part = Core::thread() % kParts, step = 32 * plan.warps / kParts;
  int row = Core::thread() / kParts;
  const Bf16* from = attention_head<D>(slice, place, size) + (first + row) * slice.position_stride + 8 * part;
  const std::int64_t advance = step * slice.position_stride;
  to += AttentionShared<D>::kPitch * row + 16 * part;
  for (; row < rows; row += step) {
    Core::copy_async(to, from, first + row < plan.positions && 8 * part < size);
    from += advance;
    to += AttentionShared<D>::kPitch * step;
  }
}

template <class Core, int D>
RUNG_DEVICE unsigned lane_offset() {
  const int lane = Core::thread() % 32;
  return AttentionShared<D>::kPitch * static_cast<unsigned>(lane % 16) +
         16u * static_cast<unsigned>(lane / 16);
}

// C of two blocks of columns, rounded, as an A.
template <class Core>
RUNG_DEVICE void round_to_operand(unsigned (&a)[4], const float (&left)[4], const float (&right)[4]) {
  a[0] = Core::pack(left[0], left[1]);
  a[1] = Core::pack(left[2], left[3]);
  a[2] = Core::pack(right[0], right[1]);
  a[3] = Core::pack(right[2], right[3]);
}

// sums [16 x 16] += a [16 x D] times the transpose of 16 rows at `rows` (a lane's own offset included).
template <class Core, int D>
RUNG_DEVICE void multiply_rows(float (&left)[4], float (&right)[4], const unsigned (&a)[D / 16][4],
                               unsigned rows) {
#pragma unroll
  for (int step = 0; step < D / 16; ++step) {
    unsigned b[4];
    Core::load_matrices(b, rows + 32 * step);
    Core::multiply_add(left, a[step], b[0], b[2]);
    Core::multiply_add(right, a[step], b[1], b[3]);
  }
}
// sums [16 x D] += a [16 x 16] times the 16 rows at `rows`.
template <class Core, int D>
RUNG_DEVICE void add_products(float (&sums)[D / 8][4], const unsigned (&a)[4], unsigned rows) {
#pragma unroll
  for (int pair = 0; pair < D / 16; ++pair) {
    unsigned b[4];
    Core::load_transposed(b, rows + 32 * pair);
    Core::multiply_add(sums[2 * pair], a, b[0], b[1]);
    Core::multiply_add(sums[2 * pair + 1], a, b[2], b[3]);
  }
}
template <class Core, int D>
RUNG_DEVICE void load_operand(unsigned (&a)[D / 16][4], unsigned rows) {
#pragma unroll
  for (int step = 0; step < D / 16; ++step) Core::load_matrices(a[step], rows + 32 * step);
}

template <int D>
RUNG_DEVICE void clear_sums(float (&sums)[D / 8][4]) {
#pragma unroll
  for (int j = 0; j < D / 8; ++j)
#pragma unroll
    for (int e = 0; e < 4; ++e) sums[j][e] = 0.0f;
}

// sums [16 x D], rows g and g + 8 times a factor each, to positions first .. first + 15 before `end`, the first `size`
// numbers of each. The lanes of a quad exchange what they have, so that each writes 16 neighbouring bytes, at once where
// they are all there and `packed`.
template <class Core, int D>
RUNG_DEVICE void write_rows(const MutableSlice& slice, const AttentionPlan& plan, int first,
                            const float (&sums)[D / 8][4], float upper_factor, float lower_factor,
                            int size = D, bool packed = true) {
  constexpr int kParts = D / 8;
  const AttentionPlace place = attention_place<Core>(plan);
  const int lane = Core::thread() % 32, g = lane / 4, t = lane % 4;
  unsigned all[2 * kParts];
#pragma unroll
  for (int j = 0; j < kParts; ++j) {
    all[j] = Core::pack(sums[j][0] * upper_factor, sums[j][1] * upper_factor);
    all[kParts + j] = Core::pack(sums[j][2] * lower_factor, sums[j][3] * lower_factor);
  }
#pragma unroll
  for (int four = 0; four < 2 * kParts; four += 4) {
    // A 4 x 4 transposition, lanes against registers: part four + t is this lane's.
#pragma unroll
    for (int bit = 1; bit < 4; bit *= 2) {
      const bool high = (t & bit) != 0;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if (i & bit) continue;
        unsigned &low_one = all[four + i], &high_one = all[four + i + bit];
        const unsigned got = Core::exchange(high ? low_one : high_one, bit);
        if (high)
          low_one = got;
        else
          high_one = got;
      }
    }
    const int part = four + t, position = first + g + part / kParts * 8;
    const int column = part % kParts * 8;
    if (position < place.end && column < size) {
      Bf16* to = static_cast<Bf16*>(slice.data) + place.n * slice.sequence_stride + place.h * size +
                 position * slice.position_stride + column;
      const std::uint32_t bytes[4] = {all[four], all[four + 1], all[four + 2], all[four + 3]};
      if (packed) {
        Core::save_sixteen(to, bytes);
      } else {
#pragma unroll
        for (int i = 0; i < 8; ++i)
          if (column + i < size) to[i].bits = static_cast<std::uint16_t>(bytes[i / 2] >> i % 2 * 16);
      }
    }
  }
}

inline constexpr float kLog2E = 1.44269504088896340736f, kLn2 = 0.69314718055994530942f;

// What a score may exceed the subtracted one by before y and the sum are scaled again, as a power of two: float32 has
// room for many times that, and most steps need no scaling.
inline constexpr float kAttentionSlack = 8.0f;

// The running softmax of 16 queries, rows g and g + 8 of this lane: y before the division, the score that is subtracted
// from all, and this lane's share of the sum.
template <int D>
struct AttentionRows {
  unsigned q[D / 16][4];
  float y[D / 8][4];
  float shift[2], sum[2];
};

// Keys at `k`, `v` (their rows in shared memory, the lane's offset included): 32, or where Last the first `squares`
// sixteens of them, the last on the diagonal.
template <class Core, int D, bool Last>
RUNG_DEVICE void attend_step(AttentionRows<D>& rows, unsigned k, unsigned v, float scale, int squares) {
  constexpr int kSquares = kAttentionStep / 16;
  constexpr unsigned kSquareBytes = 16 * AttentionShared<D>::kPitch;
  const int lane = Core::thread() % 32, g = lane / 4, t = lane % 4;
  float score[2 * kSquares][4];
#pragma unroll
  for (int square = 0; square < kSquares; ++square) {
    float(&left)[4] = score[2 * square], (&right)[4] = score[2 * square + 1];
#pragma unroll
    for (int e = 0; e < 4; ++e) left[e] = right[e] = 0.0f;
    if (!Last || square < squares) multiply_rows<Core, D>(left, right, rows.q, k + square * kSquareBytes);
    if (Last && square + 1 >= squares) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int row = g + e / 2 * 8, column = 2 * t + e % 2;
        if (square >= squares || column > row) left[e] = -INFINITY;
        if (square >= squares || column + 8 > row) right[e] = -INFINITY;
      }
    }
  }
  float largest[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    largest[half] = rows.shift[half];
#pragma unroll
    for (int j = 0; j < 2 * kSquares; ++j)
      largest[half] = fmaxf(largest[half], fmaxf(score[j][2 * half], score[j][2 * half + 1]));
    largest[half] = fmaxf(largest[half], Core::shuffle_xor(largest[half], 1));
    largest[half] = fmaxf(largest[half], Core::shuffle_xor(largest[half], 2));
  }
  if (Core::any((largest[0] - rows.shift[0]) * scale > kAttentionSlack ||
                (largest[1] - rows.shift[1]) * scale > kAttentionSlack)) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float kept = Core::power_of_two((rows.shift[half] - largest[half]) * scale);
      rows.shift[half] = largest[half];
      rows.sum[half] *= kept;
#pragma unroll
      for (int j = 0; j < D / 8; ++j) {
        rows.y[j][2 * half] *= kept;
        rows.y[j][2 * half + 1] *= kept;
      }
    }
  }
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float shift = -rows.shift[half] * scale;
#pragma unroll
    for (int j = 0; j < 2 * kSquares; ++j) {
      if (Last && j / 2 >= squares) continue;
#pragma unroll
      for (int e = 2 * half; e < 2 * half + 2; ++e) {
        score[j][e] = Core::power_of_two(fmaf(score[j][e], scale, shift));
        rows.sum[half] += score[j][e];
      }
    }
  }
#pragma unroll
  for (int square = 0; square < kSquares; ++square) {
    if (Last && square >= squares) continue;
    unsigned p[4];
    round_to_operand<Core>(p, score[2 * square], score[2 * square + 1]);
    add_products<Core, D>(rows.y, p, v + square * kSquareBytes);
  }
}

// Rows of queries that begin at `first`, to the keys from `chunk` on that are in shared memory, up to the queries' own.
template <class Core, int D>
RUNG_DEVICE void attend_chunk(AttentionRows<D>& rows, const AttentionShared<D>& at, int first, int chunk,
                              int count, float scale) {
  constexpr unsigned kStepBytes = kAttentionStep * AttentionShared<D>::kPitch;
  const int stop = first < chunk + count ? first : chunk + count;
  unsigned k = at.k + lane_offset<Core, D>(), v = at.v + lane_offset<Core, D>();
  int key = chunk;
#pragma unroll 1
  for (; key + kAttentionStep <= stop; key += kAttentionStep) {
    attend_step<Core, D, false>(rows, k, v, scale, 0);
    k += kStepBytes;
    v += kStepBytes;
  }
  if (first < chunk + count) attend_step<Core, D, true>(rows, k, v, scale, (first - key) / 16 + 1);
}
template <class Core, int D>
RUNG_DEVICE void load_rows(AttentionRows<D>& rows, const AttentionShared<D>& at, int row) {
  load_operand<Core, D>(rows.q, at.q + AttentionShared<D>::kPitch * row + lane_offset<Core, D>());
}
template <int D>
RUNG_DEVICE void clear_sums(AttentionRows<D>& rows) {
  rows.shift[0] = rows.shift[1] = -INFINITY;
  rows.sum[0] = rows.sum[1] = 0.0f;
  clear_sums<D>(rows.y);
}
template <class Core, int D>
RUNG_DEVICE void finish_rows(const AttentionRows<D>& rows, const AttentionPlan& plan, int first,
                             const MutableSlice& y, float* log_sums, float scale) {
  const AttentionPlace place = attention_place<Core>(plan);
  float inverse[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float sum = rows.sum[half];
    sum += Core::shuffle_xor(sum, 1);
    sum += Core::shuffle_xor(sum, 2);
    inverse[half] = 1.0f / sum;
    const int position = first + Core::thread() % 32 / 4 + 8 * half;
    if (Core::thread() % 4 == 0 && position < place.end)
      log_sums[(place.n * plan.heads + place.h) * plan.positions + position] =
          (rows.shift[half] * scale + Core::logarithm_of_two(sum)) * kLn2;
  }
  write_rows<Core, D>(y, plan, first, rows.y, inverse[0], inverse[1]);
}

// Whole: the block owns the head. Otherwise each warp owns 16 positions of it.
template <class Core, int D, bool Whole>
RUNG_DEVICE void attention_forward_block(const AttentionPlan& plan, const CausalAttentionInputs& in,
                                         const MutableSlice& y, float* log_sums) {
  const AttentionShared<D> at(plan, false);
  const AttentionPlace place = attention_place<Core>(plan);
  const float scale = plan.tau * kLog2E;
  AttentionRows<D> rows;
  copy_positions<Core, D>(at.q, in.q, plan, place, place.begin, plan.own);
  if constexpr (Whole) {
    copy_positions<Core, D>(at.k, in.k, plan, place, 0, plan.rows);
    copy_positions<Core, D>(at.v, in.v, plan, place, 0, plan.rows);
    Core::wait_copies();
    Core::sync_block();
#pragma unroll 1
    for (int round = 0; round < 2; ++round) {
      const int first = attention_tile<Core>(plan, place, round);
      if (first >= place.end) continue;
      load_rows<Core, D>(rows, at, first);
      clear_sums<D>(rows);
      attend_chunk<Core, D>(rows, at, first, 0, plan.rows, scale);
      finish_rows<Core, D>(rows, plan, first, y, log_sums, scale);
    }
  } else {
    const int first = attention_tile<Core>(plan, place, 0);
    clear_sums<D>(rows);
#pragma unroll 1
    for (int chunk = 0; chunk < place.end; chunk += plan.rows) {
      if (chunk > 0) Core::sync_block();
      const int count = chunk_rows(plan, place.end - chunk);
      copy_positions<Core, D>(at.k, in.k, plan, place, chunk, count);
      copy_positions<Core, D>(at.v, in.v, plan, place, chunk, count);
      Core::wait_copies();
      Core::sync_block();
      if (first >= place.end) continue;
      load_rows<Core, D>(rows, at, first - place.begin);
      attend_chunk<Core, D>(rows, at, first, chunk, count, scale);
    }
    if (first < place.end) finish_rows<Core, D>(rows, plan, first, y, log_sums, scale);
  }
}

}  // namespace rung::kernels
