// Log-linear attention (log_linear_attention.h) on tensor cores, as templates on the machine (tensor_core.cuh). It is
// causal attention with another weight: blocks, warps and shared memory are those of causal_attention_tile.cuh.
//
// A square is 16 queries by 16 keys, both from multiples of 16 on. Off the diagonal all its pairs have one level, so
// that its weights are a number a query times a number a key: with a the first of the queries
//   share[i, level] exp(A_i - A_j) = (share[i, level] exp(A_i - A_a)) exp(A_a - A_j),
// where A falls, so that neither exponential exceeds 1. The first of them is multiplied in when shares come to shared
// memory. On the diagonal every pair has its own level and its own exponential.
//
// Of a row every level is a run of neighbouring squares, from the left to the diagonal one after the other: the
// gradient of a share is summed in a register while they pass, and takes the share's place in shared memory, or one of
// its own where warps are not to wait for each other.
#pragma once

#include <bit>

#include "rung/learn/kernels/causal_attention_tile.cuh"
#include "rung/learn/kernels/log_linear_attention.h"

namespace rung::kernels {

inline constexpr int kSquareLevels = 5;  // within a square on the diagonal: 0 ... 4

struct LogLinearPlan {
  AttentionPlan tiles;
  int key_size = 0, value_size = 0;
  int levels = 0;       // of share
  int staged = 0;       // in shared memory: the levels that positions reach, and those of a square
  bool packed = false;  // all vectors begin and end at multiples of 16 bytes
};
// As of causal attention; a head that is shared among blocks passes by in as many positions as a block owns.
constexpr AttentionRoom log_linear_room(int size, bool backward, bool large) {
  AttentionRoom room =
      backward ? backward_attention_room(size, large) : AttentionRoom{.whole = size < 64 ? 256 : 128};
  room.part = kAttentionWarps * kAttentionTile;
  return room;
}
constexpr LogLinearPlan log_linear_plan(const LogLinearShape& shape, const AttentionRoom& room, bool packed) {
  LogLinearPlan plan;
  plan.tiles = attention_plan(shape.positions, shape.heads, room);
  plan.key_size = static_cast<int>(shape.key_size);
  plan.value_size = static_cast<int>(shape.value_size);
  plan.levels = static_cast<int>(shape.levels);
  const int reached = static_cast<int>(log_linear_levels(shape.positions));
  plan.staged = reached > kSquareLevels ? reached : kSquareLevels;
  plan.packed = packed;
  return plan;
}

// Bytes from the beginning of shared memory. Shares lie by levels, `level` bytes apart: two more numbers than there
// are rows, so that neighbouring levels are in different banks.
template <int D>
struct LogLinearShared {
  static constexpr bool kApart = D == 64;  // dshare of a whole head has a place of its own
  unsigned q, k, v, dy, shares, dshares, level, query_decay, key_decay, size;
  RUNG_HOST_DEVICE constexpr LogLinearShared(const LogLinearPlan& plan, bool backward) {
    const unsigned rows = static_cast<unsigned>(plan.tiles.rows), vectors = AttentionShared<D>::kPitch * rows;
    const bool whole = plan.tiles.blocks == 1;
    q = 0;
    k = vectors;
    v = 2 * vectors;
    dy = 3 * vectors;
    shares = (backward ? 4 : 3) * vectors;
    level = 4 * rows + 8;
    const unsigned table = level * static_cast<unsigned>(plan.staged);
    dshares = kApart && backward && whole ? shares + table : shares;
    query_decay = dshares + table;
    key_decay = whole ? query_decay : query_decay + 4 * rows;
    size = key_decay + 4 * rows;
  }
  // The share of this level of the query in this row, and its gradient.
  RUNG_DEVICE unsigned share(int of_level, int row) const {
    return shares + level * static_cast<unsigned>(of_level) + 4u * static_cast<unsigned>(row);
  }
  RUNG_DEVICE unsigned dshare(int of_level, int row) const {
    return share(of_level, row) + (dshares - shares);
  }
};

RUNG_DEVICE int binary_digits(int x) {
#if defined(__CUDA_ARCH__)
  return 32 - __clz(x);
#else
  return std::bit_width(static_cast<unsigned>(x));
#endif
}

// Positions to shared memory as copy_positions has it, also where vectors begin anywhere.
template <class Core, int D>
RUNG_DEVICE void gather_positions(unsigned to, const Slice& slice, const LogLinearPlan& plan,
                                  const AttentionPlace& place, int first, int rows, int size) {
  if (plan.packed) {
    copy_positions<Core, D>(to, slice, plan.tiles, place, first, rows, size);
    return;
  }
  const Bf16* from = attention_head<D>(slice, place, size);
#pragma unroll 1
  for (int i = Core::thread(); i < rows * (D / 2); i += 32 * plan.tiles.warps) {
    const int row = i / (D / 2), column = i % (D / 2) * 2;
    unsigned both = 0;
    if (first + row < plan.tiles.positions) {
      const Bf16* pair = from + (first + row) * slice.position_stride + column;
      if (column < size) both = pair[0].bits;
      if (column + 1 < size) both |= static_cast<unsigned>(pair[1].bits) << 16;
    }
    *Core::template shared<unsigned>(to + AttentionShared<D>::kPitch * row + 2 * column) = both;
  }
}

// A / ln 2 of positions first .. first + rows - 1, the last one's after it.
template <class Core>
RUNG_DEVICE void stage_decays(unsigned to, const LogLinearPlan& plan, const AttentionPlace& place,
                              const float* prefix, int first, int rows) {
  const std::int64_t head = (place.n * plan.tiles.heads + place.h) * plan.tiles.positions;
  for (int row = Core::thread(); row < rows; row += 32 * plan.tiles.warps) {
    const int last = plan.tiles.positions - 1, position = first + row < last ? first + row : last;
    *Core::template shared<float>(to + 4 * row) = prefix ? prefix[head + position] * kLog2E : 0.0f;
  }
}

// Row and level of the numbers begin, begin + step, ... of a table whose rows have so many levels, with one division.
struct LevelWalk {
  int row, level, rows_a_step, levels_a_step, levels;
  RUNG_DEVICE LevelWalk(int begin, int step, int of_row)
      : row(begin / of_row),
        level(begin - row * of_row),
        rows_a_step(step / of_row),
        levels_a_step(step - rows_a_step * of_row),
        levels(of_row) {}
  RUNG_DEVICE void next() {
    row += rows_a_step;
    level += levels_a_step;
    if (level >= levels) level -= levels, ++row;
  }
};

// The shares of positions first .. first + rows - 1, of levels off the diagonal times exp(A_i - A_a); 0 after the
// last position.
template <class Core, int D>
RUNG_DEVICE void stage_shares(const LogLinearShared<D>& at, const LogLinearPlan& plan,
                              const AttentionPlace& place, const float* share, const float* prefix, int first,
                              int rows) {
  constexpr int kBatch = 3;
  const float* decays =
      prefix ? prefix + (place.n * plan.tiles.heads + place.h) * plan.tiles.positions + first : nullptr;
  const float* shares =
      share + ((place.n * plan.tiles.positions + first) * plan.tiles.heads + place.h) * plan.levels;
  const std::int64_t pitch = static_cast<std::int64_t>(plan.tiles.heads) * plan.levels;
  const int there = plan.tiles.positions - first;
#pragma unroll 1
  for (LevelWalk walk(Core::thread(), 32 * plan.tiles.warps, plan.staged); walk.row < rows;) {
    float value[kBatch], decay[kBatch];
    unsigned to[kBatch];
#pragma unroll
    for (int b = 0; b < kBatch; ++b) {
      value[b] = decay[b] = 0.0f;
      to[b] = walk.row < rows ? at.share(walk.level, walk.row) : 0u;
      if (walk.row < rows && walk.row < there && walk.level < plan.levels) {
        value[b] = shares[walk.row * pitch + walk.level];
        if (decays && walk.level >= kSquareLevels)
          decay[b] = decays[walk.row] - decays[walk.row / kAttentionTile * kAttentionTile];
      }
      walk.next();
    }
#pragma unroll
    for (int b = 0; b < kBatch; ++b)
      if (to[b] != 0) *Core::template shared<float>(to[b]) = value[b] * Core::power_of_two(decay[b] * kLog2E);
  }
}

// Rows g and g + 8 of this lane, of the 16 that begin at `row`.
template <class Core>
RUNG_DEVICE int lane_row(int row, int half) {
  return row + Core::thread() % 32 / 4 + 8 * half;
}
template <class Core>
RUNG_DEVICE float quad_sum(float x) {
  x += Core::shuffle_xor(x, 1);
  return x + Core::shuffle_xor(x, 2);
}
template <class Core>
RUNG_DEVICE void load_decays(float (&decay)[2], unsigned decays, int row) {
#pragma unroll
  for (int half = 0; half < 2; ++half)
    decay[half] = *Core::template shared<float>(decays + 4 * lane_row<Core>(row, half));
}

// Where a run of squares of one level ends: keys from `key` on, before the 16 queries that begin at `first`.
RUNG_DEVICE int level_end(int key, int level) { return (key | ((1 << (level - 1)) - 1)) + 1; }

template <int D>
struct LogLinearRows {
  unsigned q[D / 16][4];
  float y[D / 8][4];
};

// Sixteen keys off the diagonal. `decays`: where this lane finds A of its columns' keys; `start`: A_a.
template <class Core, int D>
RUNG_DEVICE void read_square(LogLinearRows<D>& rows, unsigned k, unsigned v, unsigned decays, float start,
                             const float (&share)[2]) {
  float s[2][4] = {};
  multiply_rows<Core, D>(s[0], s[1], rows.q, k);
#pragma unroll
  for (int j = 0; j < 2; ++j) {
    float key[2];
    Core::load_pair(key, decays + 32 * j);
#pragma unroll
    for (int e = 0; e < 2; ++e) key[e] = Core::power_of_two(start - key[e]);
#pragma unroll
    for (int e = 0; e < 4; ++e) s[j][e] *= share[e / 2] * key[e % 2];
  }
  unsigned a[4];
  round_to_operand<Core>(a, s[0], s[1]);
  add_products<Core, D>(rows.y, a, v);
}
// The sixteen keys of the queries' own positions.
template <class Core, int D>
RUNG_DEVICE void read_own_square(LogLinearRows<D>& rows, const LogLinearShared<D>& at, unsigned k, unsigned v,
                                 unsigned decays, int row) {
  const int lane = Core::thread() % 32, g = lane / 4, t = lane % 4;
  float s[2][4] = {}, own[2];
  load_decays<Core>(own, at.query_decay, row);
  multiply_rows<Core, D>(s[0], s[1], rows.q, k);
#pragma unroll
  for (int j = 0; j < 2; ++j) {
    float key[2];
    Core::load_pair(key, decays + 32 * j);
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const int i = g + e / 2 * 8, column = 8 * j + 2 * t + e % 2;
      const float share = *Core::template shared<float>(at.share(binary_digits(i ^ column), row + i));
      s[j][e] = column <= i ? s[j][e] * share * Core::power_of_two(own[e / 2] - key[e % 2]) : 0.0f;
    }
  }
  unsigned a[4];
  round_to_operand<Core>(a, s[0], s[1]);
  add_products<Core, D>(rows.y, a, v);
}

// The queries that begin at `first`, in shared memory from `row` on, and the keys `chunk` .. chunk + count - 1 there.
template <class Core, int D>
RUNG_DEVICE void read_chunk(LogLinearRows<D>& rows, const LogLinearShared<D>& at, int first, int row,
                            int chunk, int count) {
  constexpr unsigned kTileBytes = kAttentionTile * AttentionShared<D>::kPitch;
  const float start = *Core::template shared<float>(at.query_decay + 4 * row);
  const int stop = first < chunk + count ? first : chunk + count;
  unsigned k = at.k + lane_offset<Core, D>(), v = k + (at.v - at.k),
           decays = at.key_decay + 8 * (Core::thread() % 4);
#pragma unroll 1
  for (int key = chunk; key < stop;) {
    const int level = binary_digits(first ^ key), end = level_end(key, level);
    float share[2];
#pragma unroll
    for (int half = 0; half < 2; ++half)
      share[half] = *Core::template shared<float>(at.share(level, lane_row<Core>(row, half)));
#pragma unroll 1
    for (; key < stop && key < end; key += kAttentionTile) {
      read_square<Core, D>(rows, k, v, decays, start, share);
      k += kTileBytes;
      v += kTileBytes;
      decays += 4 * kAttentionTile;
    }
  }
  if (first < chunk + count) read_own_square<Core, D>(rows, at, k, v, decays, row);
}

// Whole: the block owns the head. Otherwise each warp owns 16 positions of it.
template <class Core, int D, bool Whole>
RUNG_DEVICE void log_linear_forward_block(const LogLinearPlan& plan, const LogLinearInputs& in,
                                          const MutableSlice& y, const float* prefix) {
  const LogLinearShared<D> at(plan, false);
  const AttentionPlan& tiles = plan.tiles;
  const AttentionPlace place = attention_place<Core>(tiles);
  LogLinearRows<D> rows;
  gather_positions<Core, D>(at.q, in.q, plan, place, place.begin, tiles.own, plan.key_size);
  if constexpr (Whole) {
    gather_positions<Core, D>(at.k, in.k, plan, place, 0, tiles.rows, plan.key_size);
    gather_positions<Core, D>(at.v, in.v, plan, place, 0, tiles.rows, plan.value_size);
  }
  stage_decays<Core>(at.query_decay, plan, place, prefix, place.begin, tiles.own);
  stage_shares<Core, D>(at, plan, place, in.share, prefix, place.begin, tiles.own);
  if constexpr (Whole) {
    Core::wait_copies();
    Core::sync_block();
#pragma unroll 1
    for (int round = 0; round < 2; ++round) {
      const int first = attention_tile<Core>(tiles, place, round);
      if (first >= place.end) continue;
      load_operand<Core, D>(rows.q, at.q + AttentionShared<D>::kPitch * first + lane_offset<Core, D>());
      clear_sums<D>(rows.y);
      read_chunk<Core, D>(rows, at, first, first, 0, tiles.rows);
      write_rows<Core, D>(y, tiles, first, rows.y, 1.0f, 1.0f, plan.value_size, plan.packed);
    }
  } else {
    const int first = attention_tile<Core>(tiles, place, 0), row = first - place.begin;
    clear_sums<D>(rows.y);
#pragma unroll 1
    for (int chunk = 0; chunk < place.end; chunk += tiles.rows) {
      if (chunk > 0) Core::sync_block();
      const int count = chunk_rows(tiles, place.end - chunk);
      gather_positions<Core, D>(at.k, in.k, plan, place, chunk, count, plan.key_size);
      gather_positions<Core, D>(at.v, in.v, plan, place, chunk, count, plan.value_size);
      stage_decays<Core>(at.key_decay, plan, place, prefix, chunk, count);
      Core::wait_copies();
      Core::sync_block();
      if (first >= place.end) continue;
      load_operand<Core, D>(rows.q, at.q + AttentionShared<D>::kPitch * row + lane_offset<Core, D>());
      read_chunk<Core, D>(rows, at, first, row, chunk, count);
    }
    if (first < place.end)
      write_rows<Core, D>(y, tiles, first, rows.y, 1.0f, 1.0f, plan.value_size, plan.packed);
  }
}

}  // namespace rung::kernels
