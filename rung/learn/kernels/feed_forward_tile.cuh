// The feed-forward block (feed_forward.h) on tensor cores: what each block of threads does, as templates on the
// machine (tensor_core.cuh).
//
// A block belongs to one member, holds W1 and W2 in shared memory and walks over tiles of the member's rows.
// Rows in shared memory are 16 bytes longer than their numbers: eight rows then begin in eight different groups
// of four banks, and every ldmatrix is free of conflicts.
//
// Columns of the stream: mma gives the lanes of a quad two neighbouring columns each of every eight, memory
// wants eight neighbouring ones a lane. The order of a product's columns is ours to choose: W1's columns, W2's
// rows in forward, and u in backward stand at place_of(column), and a lane has columns 8t .. 8t+7 of each 32.
#pragma once

#include <cmath>
#include <cstdint>

#include "rung/learn/kernels/feed_forward.h"

namespace rung::kernels {

inline constexpr int kForwardThreads = 128, kForwardRows = 32;  // rows of a warp's tile
inline constexpr int kPad = 8;                                  // numbers after a row in shared memory

struct alignas(16) SixteenBytes {
  std::uint32_t x[4];
};

// Where column c stands among columns in the order of products.
RUNG_HOST_DEVICE constexpr int place_of(int c) {
  return c / 32 * 32 + c % 8 / 2 * 8 + c % 32 / 8 * 2 + c % 2;
}

// Bytes from the beginning of shared memory.
struct ForwardShared {
  unsigned w1, w2, b1, gain, b2, size;
  RUNG_HOST_DEVICE constexpr ForwardShared(int width, int hidden)
      : w1(0),
        w2(w1 + 2 * hidden * (width + kPad)),
        b1(w2 + 2 * width * (hidden + kPad)),
        gain(b1 + 4 * hidden),
        b2(gain + 4 * width),
        size(b2 + 4 * width) {}
};

template <class Core, Activation kind>
RUNG_DEVICE float activated(float a) {
  if constexpr (kind == Activation::relu)
    return a < 0.0f ? 0.0f : a;  // NaN stays
  else if constexpr (kind == Activation::gelu)
    return 0.5f * a * (1.0f + erff(a * 0.70710678118654752f));
  else
    return Core::quotient(a, 1.0f + Core::exponential(-a));
}

// W1 and W2 of the member to shared memory, by all threads, with many loads under way at a time; W2's rows stand
// in place where Placed. W2 is there after wait_copies.
template <class Core, int W, int Threads, bool Placed>
RUNG_DEVICE void load_matrices_of(const FeedForwardShape& shape, const FeedForwardWeights& weights,
                                  std::int64_t member, unsigned w1, unsigned w2) {
  constexpr int kBatch = 8;
  const int hidden = static_cast<int>(shape.hidden), thread = Core::thread();
  const auto* from = reinterpret_cast<const SixteenBytes*>(weights.w2.data + member * weights.w2.stride);
  const int packs = hidden / 8;
  for (int i = thread; i < W * packs; i += Threads) {
    const int row = i / packs, column = i % packs * 8;
    Core::copy_async(w2 + 2 * ((Placed ? place_of(row) : row) * (hidden + kPad) + column), from + i, true);
  }
  from = reinterpret_cast<const SixteenBytes*>(weights.w1.data + member * weights.w1.stride);
  for (int first = thread; first < hidden * (W / 8); first += kBatch * Threads) {
    SixteenBytes part[kBatch];
#pragma unroll
    for (int j = 0; j < kBatch; ++j)
      if (first + j * Threads < hidden * (W / 8)) part[j] = from[first + j * Threads];
#pragma unroll
    for (int j = 0; j < kBatch; ++j) {
      const int i = first + j * Threads, row = i / (W / 8), column = i % (W / 8) * 8;
      if (i >= hidden * (W / 8)) continue;
#pragma unroll
      for (int q = 0; q < 4; ++q)
        *Core::template shared<std::uint32_t>(w1 + 2 * (row * (W + kPad) + place_of(column + 2 * q))) =
            part[j].x[q];
    }
  }
}
template <class Core, int Threads>
RUNG_DEVICE void load_vector_of(const MemberValues& values, std::int64_t member, int count, unsigned to) {
  for (int i = Core::thread(); i < count; i += Threads)
    *Core::template shared<float>(to + 4 * i) = to_float(values.data[member * values.stride + i]);
}

// Where a lane stands in fragments: g, t of tensor_core.cuh, and the row and column, of 16 x 16 numbers in shared
// memory, where the matrix row that it names begins. Four matrices [8 x 8] go down first for an A from its rows or
// a B from rows of the sum's index, across first for a B from its columns or an A from columns.
struct LanePlace {
  int warp, lane, g, t, down_row, down_column, across_row, across_column;
};
template <class Core>
RUNG_DEVICE LanePlace lane_place() {
  const int thread = Core::thread(), lane = thread % 32;
  return {thread / 32,
          lane,
          lane / 4,
          lane % 4,
          lane % 8 + lane / 8 % 2 * 8,
          lane / 16 * 8,
          lane % 8 + lane / 16 * 8,
          lane / 8 % 2 * 8};
}

// The row's numbers at columns 32b + 8t .. 32b + 8t + 7 for every b, or 0.
template <int W>
RUNG_DEVICE void load_row(SixteenBytes (&to)[W / 32], const Bf16* rows, std::int64_t row, int t,
                          bool inside) {
#pragma unroll
  for (int b = 0; b < W / 32; ++b)
    to[b] = inside ? *reinterpret_cast<const SixteenBytes*>(rows + row * W + 32 * b + 8 * t) : SixteenBytes{};
}

// y of the member's rows, shared by `blocks` blocks: tiles of 32 rows, one a warp, which needs no other.
template <class Core, int W, Activation kind>
RUNG_DEVICE void feed_forward_tiles(const FeedForwardShape& shape, const Bf16* x,
                                    const FeedForwardWeights& weights, Bf16* y, int blocks) {
  constexpr int kWarps = kForwardThreads / 32, kSteps = W / 16, kColumns = W / 32;
  const int hidden = static_cast<int>(shape.hidden);
  const ForwardShared at(W, hidden);
  const std::int64_t member = Core::member();
  load_matrices_of<Core, W, kForwardThreads, true>(shape, weights, member, at.w1, at.w2);
  load_vector_of<Core, kForwardThreads>(weights.b1, member, hidden, at.b1);
  load_vector_of<Core, kForwardThreads>(weights.gain, member, W, at.gain);
  load_vector_of<Core, kForwardThreads>(weights.b2, member, W, at.b2);
  Core::wait_copies();
  Core::sync_block();

  const LanePlace at_lane = lane_place<Core>();
  const int g = at_lane.g, t = at_lane.t;
  const Bf16* in = x + member * shape.rows * W;
  Bf16* out = y + member * shape.rows * W;
  const unsigned w1 = at.w1 + 2 * (at_lane.across_row * (W + kPad) + at_lane.across_column);
  const unsigned w2 = at.w2 + 2 * (at_lane.across_row * (hidden + kPad) + at_lane.across_column);
  const int rows = static_cast<int>(shape.rows), step = blocks * kWarps * kForwardRows;
  for (int first = (Core::block() * kWarps + at_lane.warp) * kForwardRows; first < rows; first += step) {
    unsigned u[2][kSteps][4];
#pragma unroll
    for (int m = 0; m < 2; ++m)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = first + 16 * m + 8 * half + g;
        SixteenBytes part[kColumns];
        load_row<W>(part, in, row, t, row < rows);
        float squares = 0.0f;
#pragma unroll
        for (int b = 0; b < kColumns; ++b)
#pragma unroll
          for (int q = 0; q < 4; ++q) {
            const float low = Core::low(part[b].x[q]), high = Core::high(part[b].x[q]);
            squares += low * low + high * high;
          }
        squares += Core::shuffle_xor(squares, 1);
        squares += Core::shuffle_xor(squares, 2);
        const float root = Core::inverse_root(squares * (1.0f / W) + shape.epsilon);
#pragma unroll
        for (int b = 0; b < kColumns; ++b) {
          float gain[8];
          Core::load_eight(gain, at.gain + 4 * (32 * b + 8 * t));
#pragma unroll
          for (int q = 0; q < 4; ++q)
            u[m][2 * b + q / 2][half + 2 * (q % 2)] =
                Core::pack(Core::low(part[b].x[q]) * root * gain[2 * q],
                           Core::high(part[b].x[q]) * root * gain[2 * q + 1]);
        }
      }
    float sum[2][W / 8][4];
#pragma unroll
    for (int n = 0; n < W / 8; ++n) {
      float bias[2];
      Core::load_pair(bias, at.b2 + 4 * (n / 4 * 32 + 8 * t + n % 4 * 2));
#pragma unroll
      for (int m = 0; m < 2; ++m) {
        sum[m][n][0] = sum[m][n][2] = bias[0];
        sum[m][n][1] = sum[m][n][3] = bias[1];
      }
    }
#pragma unroll 1
    for (int unit = 0; unit < hidden; unit += 16) {
      float a[2][2][4];
#pragma unroll
      for (int n = 0; n < 2; ++n) {
        float bias[2];
        Core::load_pair(bias, at.b1 + 4 * (unit + 8 * n + 2 * t));
#pragma unroll
        for (int m = 0; m < 2; ++m) {
          a[m][n][0] = a[m][n][2] = bias[0];
          a[m][n][1] = a[m][n][3] = bias[1];
        }
      }
      unsigned matrix[4];
#pragma unroll
      for (int k = 0; k < kSteps; ++k) {
        Core::load_matrices(matrix, w1 + 2 * (unit * (W + kPad) + 16 * k));
#pragma unroll
        for (int m = 0; m < 2; ++m) {
          Core::multiply_add(a[m][0], u[m][k], matrix[0], matrix[1]);
          Core::multiply_add(a[m][1], u[m][k], matrix[2], matrix[3]);
        }
      }
      unsigned h[2][4];
#pragma unroll
      for (int m = 0; m < 2; ++m)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const float* pair = &a[m][i / 2][i % 2 * 2];
          h[m][i] = Core::pack(activated<Core, kind>(pair[0]), activated<Core, kind>(pair[1]));
        }
#pragma unroll
      for (int n = 0; n < W / 16; ++n) {
        Core::load_matrices(matrix, w2 + 2 * (16 * n * (hidden + kPad) + unit));
#pragma unroll
        for (int m = 0; m < 2; ++m) {
          Core::multiply_add(sum[m][2 * n], h[m], matrix[0], matrix[1]);
          Core::multiply_add(sum[m][2 * n + 1], h[m], matrix[2], matrix[3]);
        }
      }
    }
    // x once more, from the cache: registers are dearer. Of 16 rows before y is written, which the compiler cannot
    // tell from x. The lane's place once more, too.
    const LanePlace last = lane_place<Core>();
#pragma unroll
    for (int m = 0; m < 2; ++m) {
      SixteenBytes part[2][kColumns];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = first + 16 * m + 8 * half + last.g;
        load_row<W>(part[half], in, row, last.t, row < rows);
      }
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = first + 16 * m + 8 * half + last.g;
        if (row >= rows) continue;
#pragma unroll
        for (int b = 0; b < kColumns; ++b) {
          SixteenBytes result = part[half][b];
#pragma unroll
          for (int q = 0; q < 4; ++q) {
            const float* pair = &sum[m][4 * b + q][2 * half];
            result.x[q] = Core::pack(Core::low(result.x[q]) + pair[0], Core::high(result.x[q]) + pair[1]);
          }
          Core::save_sixteen(out + static_cast<std::int64_t>(row) * W + 32 * b + 8 * last.t, result.x);
        }
      }
    }
  }
}

}  // namespace rung::kernels
