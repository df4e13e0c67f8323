// The gradients of the feed-forward block (feed_forward.h) on tensor cores, beside feed_forward_tile.cuh. A block of
// threads has `block_rows` rows of a member, or what is left, and takes them by tiles of 128:
//   norm_tile   a warp norms 16 rows of x where they were copied to, and adds their dy for db2;
//   slice_tile  a warp takes 32 hidden units and all rows: the products give a and dh transposed, [units x rows], so
//               that g and h are A operands of dW1 += g^T u and dW2^T += h^T dy as they stand; those sums stay in
//               registers over all tiles of the block. g goes to shared memory;
//   row_tile    a warp takes its 16 rows again: du = g W1, the norm's gradient, dx.
// The next tile is copied while this one is computed.
#pragma once

#include "rung/learn/kernels/feed_forward_tile.cuh"

namespace rung::kernels {

inline constexpr int kBackwardThreads = 256, kBackwardRows = 128;
inline constexpr int kBackwardWarps = kBackwardThreads / 32;
inline constexpr int kSliceUnits = 32;  // hidden units whose gradients a warp has in registers

// Bytes from the beginning of shared memory.
struct BackwardShared {
  unsigned w1, w2, u, dy, g, tile, b1, gain, inverse, dgain, db2, size;
  RUNG_HOST_DEVICE constexpr BackwardShared(int width, int hidden)
      : w1(0),
        w2(w1 + 2 * hidden * (width + kPad)),
        u(w2 + 2 * width * (hidden + kPad)),  // x, then u in its place; two tiles of each
        dy(u + 2 * 2 * kBackwardRows * (width + kPad)),
        g(dy + 2 * 2 * kBackwardRows * (width + kPad)),  // transposed: [hidden, rows]
        tile(2 * kBackwardRows * (width + kPad)),        // bytes between the two tiles
        b1(g + 2 * hidden * (kBackwardRows + kPad)),
        gain(b1 + 4 * hidden),
        inverse(gain + 4 * width),
        dgain(inverse + 4 * kBackwardRows),  // a row of sums a warp
        db2(dgain + 4 * kBackwardWarps * width),
        size(db2 + 4 * kBackwardWarps * width) {}
};

// The rows of a member that one block sums gradients over: a function of the rows alone, so that the sums are.
// Few rows are still shared among several blocks, many among no more than a second launch can add quickly.
constexpr std::int64_t backward_block_rows(std::int64_t rows) {
  const std::int64_t quarter = (rows + 4 * kBackwardRows - 1) / (4 * kBackwardRows) * kBackwardRows;
  return quarter < 4 * kBackwardRows    ? 4 * kBackwardRows
         : quarter > 32 * kBackwardRows ? 32 * kBackwardRows
                                        : quarter;
}
constexpr std::int64_t backward_blocks(std::int64_t rows) {
  return (rows + backward_block_rows(rows) - 1) / backward_block_rows(rows);
}
// Warps without a slice of the hidden units of their own share one, each with a part of the rows.
RUNG_HOST_DEVICE constexpr int row_parts(int hidden) { return kBackwardWarps / (hidden / kSliceUnits); }
// Floats of one part: dW1 [hidden, width], dW2 transposed [hidden, width], db1 [hidden].
RUNG_HOST_DEVICE constexpr std::int64_t part_floats(int width, int hidden) {
  return static_cast<std::int64_t>(hidden) * (2 * width + 1);
}
// Floats of one block: its parts, then dgain [width] and db2 [width].
RUNG_HOST_DEVICE constexpr std::int64_t block_floats(int width, int hidden) {
  return row_parts(hidden) * part_floats(width, hidden) + 2 * width;
}

// h = act(a) and g = dh act'(a).
template <class Core, Activation kind>
RUNG_DEVICE void activated(float a, float dh, float& h, float& g) {
  if constexpr (kind == Activation::relu) {
    h = activated<Core, kind>(a);
    g = a > 0.0f ? dh : 0.0f;
  } else if constexpr (kind == Activation::gelu) {
    const float below = 0.5f * (1.0f + erff(a * 0.70710678118654752f));
    h = a * below;
    g = dh * (below + a * 0.39894228040143268f * Core::exponential(-0.5f * a * a));
  } else {
    const float share = Core::quotient(1.0f, 1.0f + Core::exponential(-a));
    h = a * share;
    g = dh * share * (1.0f + a * (1.0f - share));
  }
}

// Each lane's addends, added over the lanes that differ in the bits of `lanes`, the upper half of the addends in
// the lanes that have the bit: Count / 2 sums are left, of those that begin at `first`.
template <class Core, int Count>
RUNG_DEVICE void halve(float (&addend)[Count], int lane, int lanes, int left, int& first) {
  const bool upper = (lane & lanes) != 0;
#pragma unroll
  for (int i = 0; i < Count / 2; ++i) {
    if (i >= left) continue;
    const float low = addend[i], high = addend[i + left];
    addend[i] = (upper ? high : low) + Core::shuffle_xor(upper ? low : high, lanes);
  }
  if (upper) first += left;
}

// Tile `side` of x and dy, W / 8 lanes a row: each lane copies what it reads in norm_tile. `rows` of the tile are
// there.
template <int W>
struct CopyPlace {
  static constexpr int kLanes = W / 8, kRows = 32 / kLanes, kPasses = 16 / kRows;  // of a row; rows at once
  int row, column;
  RUNG_DEVICE explicit CopyPlace(int thread)
      : row(thread / 32 * 16 + thread % 32 / kLanes), column(thread % kLanes * 8) {}
};
template <class Core, int W>
RUNG_DEVICE void copy_tile(const BackwardShared& at, unsigned side, const Bf16* x, const Bf16* dy, int rows) {
  const CopyPlace<W> place(Core::thread());
#pragma unroll
  for (int pass = 0; pass < place.kPasses; ++pass) {
    const int row = place.row + pass * place.kRows;
    const bool inside = row < rows;
    const int from = inside ? row * W + place.column : 0;
    const unsigned to = side * at.tile + 2 * (row * (W + kPad) + place.column);
    Core::copy_async(at.u + to, x + from, inside);
    Core::copy_async(at.dy + to, dy + from, inside);
  }
}

template <class Core, int W>
RUNG_DEVICE void norm_tile(const BackwardShared& at, unsigned side, float epsilon) {
  const int thread = Core::thread();
  const CopyPlace<W> place(thread);
  const unsigned u = at.u + side * at.tile, dy = at.dy + side * at.tile;
  float addend[8], root[place.kPasses];
  SixteenBytes numbers[place.kPasses];
#pragma unroll
  for (int i = 0; i < 8; ++i) addend[i] = 0.0f;
#pragma unroll
  for (int pass = 0; pass < place.kPasses; ++pass) {
    const unsigned begin = 2 * ((place.row + pass * place.kRows) * (W + kPad) + place.column);
    numbers[pass] = *Core::template shared<SixteenBytes>(u + begin);
    const SixteenBytes slopes = *Core::template shared<SixteenBytes>(dy + begin);
    float squares = 0.0f;
#pragma unroll
    for (int q = 0; q < 4; ++q) {
      const float low = Core::low(numbers[pass].x[q]), high = Core::high(numbers[pass].x[q]);
      squares += low * low + high * high;
      addend[2 * q] += Core::low(slopes.x[q]);
      addend[2 * q + 1] += Core::high(slopes.x[q]);
    }
#pragma unroll
    for (int lanes = place.kLanes / 2; lanes > 0; lanes /= 2) squares += Core::shuffle_xor(squares, lanes);
    root[pass] = Core::inverse_root(squares * (1.0f / W) + epsilon);
  }
  Core::sync_warp();  // the rows are read before their numbers change places
  float gain[8];
  Core::load_eight(gain, at.gain + 4 * place.column);
#pragma unroll
  for (int pass = 0; pass < place.kPasses; ++pass) {
    const int row = place.row + pass * place.kRows;
    if (place.column == 0) *Core::template shared<float>(at.inverse + 4 * row) = root[pass];
#pragma unroll
    for (int q = 0; q < 4; ++q)
      *Core::template shared<std::uint32_t>(u + 2 * (row * (W + kPad) + place_of(place.column + 2 * q))) =
          Core::pack(Core::low(numbers[pass].x[q]) * root[pass] * gain[2 * q],
                     Core::high(numbers[pass].x[q]) * root[pass] * gain[2 * q + 1]);
  }
  int kept = 0, left = 8;
#pragma unroll
  for (int lanes = 16; lanes >= place.kLanes; lanes /= 2) halve<Core>(addend, thread, lanes, left /= 2, kept);
#pragma unroll
  for (int i = 0; i < W / 32; ++i)
    *Core::template shared<float>(at.db2 + 4 * (thread / 32 * W + place.column + kept + i)) += addend[i];
}

// A warp's sums over the tiles of a block: fragments C of 2 x 16 hidden units and all columns.
template <int W>
struct SliceSums {
  float dw1[2][W / 8][4], dw2[2][W / 8][4], db1[2][2];
};

template <class Core, int W, Activation kind>
RUNG_DEVICE void slice_tile(const BackwardShared& at, unsigned side, int hidden, SliceSums<W>& sums) {
  constexpr int kSteps = W / 16, kStride = W + kPad, kUnitStride = kBackwardRows + kPad;
  const LanePlace lane = lane_place<Core>();
  const int slices = hidden / kSliceUnits, parts = row_parts(hidden), part = lane.warp / slices;
  if (part >= parts) return;
  const int unit = lane.warp % slices * kSliceUnits;
  // The slice's weights stay in registers for the tile. Beside an activation that takes many, half of W2's have no
  // room, and are read again for every 16 rows.
  constexpr int kKept = W == 64 && kind != Activation::relu ? 1 : 2;
  unsigned w1[2][kSteps][4], w2[kKept][kSteps][4];
  const auto load_second = [&](unsigned(&weight)[4], int m, int k) {
    Core::load_transposed(weight, at.w2 + 2 * ((16 * k + lane.across_row) * (hidden + kPad) + unit + 16 * m +
                                               lane.across_column));
  };
#pragma unroll
  for (int m = 0; m < 2; ++m)
#pragma unroll
    for (int k = 0; k < kSteps; ++k) {
      Core::load_matrices(
          w1[m][k], at.w1 + 2 * ((unit + 16 * m + lane.down_row) * kStride + 16 * k + lane.down_column));
      if (m < kKept) load_second(w2[m % kKept][k], m, k);
    }
  // dy stands so far behind u.
  const unsigned apart = at.dy - at.u, row_bytes = 2 * kStride;
  unsigned across =
      at.u + side * at.tile + 2 * ((16 * part + lane.across_row) * kStride + lane.across_column);
  unsigned down = at.u + side * at.tile + 2 * ((16 * part + lane.down_row) * kStride + lane.down_column);
  unsigned to = at.g + 2 * ((unit + lane.g) * kUnitStride + 16 * part + 2 * lane.t);
  const float* bias = Core::template shared<float>(at.b1 + 4 * (unit + lane.g));
#pragma unroll 1
  for (int row = 16 * part; row < kBackwardRows; row += 16 * parts) {
    float a[2][2][4], dh[2][2][4];
#pragma unroll
    for (int m = 0; m < 2; ++m)
#pragma unroll
      for (int n = 0; n < 2; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          a[m][n][i] = bias[16 * m + i / 2 * 8];
          dh[m][n][i] = 0.0f;
        }
    unsigned matrix[4];
#pragma unroll
    for (int k = 0; k < kSteps; ++k) {
      Core::load_matrices(matrix, across + 2 * (16 * k));
#pragma unroll
      for (int m = 0; m < 2; ++m) {
        Core::multiply_add(a[m][0], w1[m][k], matrix[0], matrix[1]);
        Core::multiply_add(a[m][1], w1[m][k], matrix[2], matrix[3]);
      }
      Core::load_matrices(matrix, across + apart + 2 * (16 * k));
#pragma unroll
      for (int m = 0; m < 2; ++m) {
        unsigned again[4];
        if (m >= kKept) load_second(again, m, k);
        const unsigned(&weight)[4] = m < kKept ? w2[m % kKept][k] : again;
        Core::multiply_add(dh[m][0], weight, matrix[0], matrix[1]);
        Core::multiply_add(dh[m][1], weight, matrix[2], matrix[3]);
      }
    }
    unsigned value[2][4], change[2][4];  // h and g
#pragma unroll
    for (int m = 0; m < 2; ++m)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        float h[2], g[2];
#pragma unroll
        for (int j = 0; j < 2; ++j) {
          activated<Core, kind>(a[m][i / 2][i % 2 * 2 + j], dh[m][i / 2][i % 2 * 2 + j], h[j], g[j]);
          sums.db1[m][i % 2] += g[j];
        }
        value[m][i] = Core::pack(h[0], h[1]);
        change[m][i] = Core::pack(g[0], g[1]);
        *Core::template shared<std::uint32_t>(to + 2 * ((16 * m + i % 2 * 8) * kUnitStride + i / 2 * 8)) =
            change[m][i];
      }
#pragma unroll
    for (int n = 0; n < W / 16; ++n) {
      Core::load_transposed(matrix, down + 2 * (16 * n));
#pragma unroll
      for (int m = 0; m < 2; ++m) {
        Core::multiply_add(sums.dw1[m][2 * n], change[m], matrix[0], matrix[1]);
        Core::multiply_add(sums.dw1[m][2 * n + 1], change[m], matrix[2], matrix[3]);
      }
      Core::load_transposed(matrix, down + apart + 2 * (16 * n));
#pragma unroll
      for (int m = 0; m < 2; ++m) {
        Core::multiply_add(sums.dw2[m][2 * n], value[m], matrix[0], matrix[1]);
        Core::multiply_add(sums.dw2[m][2 * n + 1], value[m], matrix[2], matrix[3]);
      }
    }
    across += 16 * parts * row_bytes;
    down += 16 * parts * row_bytes;
    to += 2 * 16 * parts;
  }
}

// x and dx: of the tile, of which `rows` rows are there.
template <class Core, int W>
RUNG_DEVICE void row_tile(const BackwardShared& at, unsigned side, int hidden, const Bf16* x, Bf16* dx,
                          int rows) {
  constexpr int kColumns = W / 32, kStride = W + kPad, kUnitStride = kBackwardRows + kPad;
  const LanePlace lane = lane_place<Core>();
  const int t = lane.t, row = 16 * lane.warp + lane.g;  // and row + 8
  SixteenBytes numbers[2][kColumns];
#pragma unroll
  for (int half = 0; half < 2; ++half)
    load_row<W>(numbers[half], x, row + 8 * half, t, row + 8 * half < rows);
  float du[W / 8][4];
#pragma unroll
  for (int n = 0; n < W / 8; ++n)
#pragma unroll
    for (int i = 0; i < 4; ++i) du[n][i] = 0.0f;
  const unsigned across = at.g + 2 * (lane.across_row * kUnitStride + 16 * lane.warp + lane.across_column);
  const unsigned down = at.w1 + 2 * (lane.down_row * kStride + lane.down_column);
#pragma unroll 2
  for (int k = 0; k < hidden; k += 16) {
    unsigned change[4], matrix[4];
    Core::load_transposed(change, across + 2 * (k * kUnitStride));
#pragma unroll
    for (int n = 0; n < W / 16; ++n) {
      Core::load_transposed(matrix, down + 2 * (k * kStride + 16 * n));
      Core::multiply_add(du[2 * n], change, matrix[0], matrix[1]);
      Core::multiply_add(du[2 * n + 1], change, matrix[2], matrix[3]);
    }
  }
  float addend[W / 4];
#pragma unroll
  for (int i = 0; i < W / 4; ++i) addend[i] = 0.0f;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int within = row + 8 * half;
    const float root = *Core::template shared<float>(at.inverse + 4 * within);
    float inner = 0.0f;
#pragma unroll
    for (int b = 0; b < kColumns; ++b) {
      float gain[8];
      Core::load_eight(gain, at.gain + 4 * (32 * b + 8 * t));
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        const unsigned both = numbers[half][b].x[j / 2];
        const float number = j % 2 == 0 ? Core::low(both) : Core::high(both);
        float& change = du[4 * b + j / 2][2 * half + j % 2];
        addend[8 * b + j] += change * number * root;
        change *= gain[j];
        inner += change * number;
      }
    }
    inner += Core::shuffle_xor(inner, 1);
    inner += Core::shuffle_xor(inner, 2);
    const float along = inner * root * root * (1.0f / W);
#pragma unroll
    for (int b = 0; b < kColumns; ++b) {
      const int column = 32 * b + 8 * t;
      const SixteenBytes slopes =
          *Core::template shared<SixteenBytes>(at.dy + side * at.tile + 2 * (within * kStride + column));
      SixteenBytes result;
#pragma unroll
      for (int q = 0; q < 4; ++q) {
        const float* change = &du[4 * b + q][2 * half];
        const unsigned both = numbers[half][b].x[q];
        result.x[q] = Core::pack(Core::low(slopes.x[q]) + root * (change[0] - Core::low(both) * along),
                                 Core::high(slopes.x[q]) + root * (change[1] - Core::high(both) * along));
      }
      if (within < rows) Core::save_sixteen(dx + within * W + column, result.x);
    }
  }
  int kept = 0, left = W / 4;
#pragma unroll
  for (int lanes = 16; lanes >= 4; lanes /= 2) halve<Core>(addend, lane.lane, lanes, left /= 2, kept);
#pragma unroll
  for (int i = 0; i < W / 32; ++i) {
    const int column = (kept + i) / 8 * 32 + 8 * t + (kept + i) % 8;
    *Core::template shared<float>(at.dgain + 4 * (lane.warp * W + column)) += addend[i];
  }
}

// The block's sums to its place in scratch (block_floats).
template <class Core, int W>
RUNG_DEVICE void write_sums(const BackwardShared& at, int hidden, const SliceSums<W>& sums, float* to) {
  const LanePlace lane = lane_place<Core>();
  const int slices = hidden / kSliceUnits, parts = row_parts(hidden), part = lane.warp / slices;
  if (part < parts) {
    float* mine = to + part * part_floats(W, hidden);
    float* transposed = mine + hidden * W;
#pragma unroll
    for (int m = 0; m < 2; ++m)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = lane.warp % slices * kSliceUnits + 16 * m + 8 * half + lane.g;
#pragma unroll
        for (int n = 0; n < W / 8; n += 2) {
          const float(&one)[4] = sums.dw1[m][n];
          const float(&next)[4] = sums.dw1[m][n + 1];
          Core::save_four(mine + row * W + n / 4 * 32 + 8 * lane.t + n % 4 * 2, one[2 * half],
                          one[2 * half + 1], next[2 * half], next[2 * half + 1]);
        }
#pragma unroll
        for (int n = 0; n < W / 8; ++n)
          Core::save_pair(transposed + row * W + 8 * n + 2 * lane.t, sums.dw2[m][n][2 * half],
                          sums.dw2[m][n][2 * half + 1]);
        float sum = sums.db1[m][half];
        sum += Core::shuffle_xor(sum, 1);
        sum += Core::shuffle_xor(sum, 2);
        if (lane.t == 0) mine[2 * hidden * W + row] = sum;
      }
  }
  Core::sync_block();
  float* vectors = to + parts * part_floats(W, hidden);
  for (int i = Core::thread(); i < 2 * W; i += kBackwardThreads) {
    float sum = 0.0f;
    for (int from = 0; from < kBackwardWarps; ++from)
      sum += *Core::template shared<float>((i < W ? at.dgain : at.db2) + 4 * (from * W + i % W));
    vectors[i] = sum;
  }
}

template <class Core, int W, Activation kind>
RUNG_DEVICE void feed_forward_gradient_tiles(const FeedForwardShape& shape, const Bf16* x,
                                             const FeedForwardWeights& weights, const Bf16* dy, Bf16* dx,
                                             float* scratch, int blocks, int block_rows) {
  const int hidden = static_cast<int>(shape.hidden);
  const BackwardShared at(W, hidden);
  const std::int64_t member = Core::member(), begin = static_cast<std::int64_t>(Core::block()) * block_rows;
  const int rows = static_cast<int>(shape.rows - begin < block_rows ? shape.rows - begin : block_rows);
  const std::int64_t place = (member * shape.rows + begin) * W;
  copy_tile<Core, W>(at, 0, x + place, dy + place, rows);
  load_matrices_of<Core, W, kBackwardThreads, false>(shape, weights, member, at.w1, at.w2);
  load_vector_of<Core, kBackwardThreads>(weights.b1, member, hidden, at.b1);
  load_vector_of<Core, kBackwardThreads>(weights.gain, member, W, at.gain);
  for (int i = Core::thread(); i < 2 * kBackwardWarps * W; i += kBackwardThreads)
    *Core::template shared<float>(at.dgain + 4 * i) = 0.0f;
  Core::wait_copies();
  Core::sync_block();

  SliceSums<W> sums;
#pragma unroll
  for (int m = 0; m < 2; ++m) {
    sums.db1[m][0] = sums.db1[m][1] = 0.0f;
#pragma unroll
    for (int n = 0; n < W / 8; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) sums.dw1[m][n][i] = sums.dw2[m][n][i] = 0.0f;
  }
  unsigned side = 0;
#pragma unroll 1
  for (int first = 0; first < rows; first += kBackwardRows, side ^= 1u) {
    const std::int64_t here = place + first * W, next = here + kBackwardRows * W;
    Core::wait_copies();
    norm_tile<Core, W>(at, side, shape.epsilon);
    Core::sync_block();  // the other side is free as well: every warp is past row_tile
    if (first + kBackwardRows < rows)
      copy_tile<Core, W>(at, side ^ 1u, x + next, dy + next, rows - first - kBackwardRows);
    slice_tile<Core, W, kind>(at, side, hidden, sums);
    Core::sync_block();
    row_tile<Core, W>(at, side, hidden, x + here, dx + here, rows - first);
  }
  write_sums<Core, W>(at, hidden, sums,
                      scratch + (member * blocks + Core::block()) * block_floats(W, hidden));
}

// One number of the member's gradients: the blocks' sums, added in order. `index` counts the numbers of a part,
// then dgain and db2.
RUNG_DEVICE void sum_feed_forward_blocks(const FeedForwardShape& shape, const float* scratch,
                                         const FeedForwardGradients& out, int blocks, std::int64_t member,
                                         int index) {
  const int width = static_cast<int>(shape.width), hidden = static_cast<int>(shape.hidden);
  const int matrix = hidden * width, each = static_cast<int>(part_floats(width, hidden));
  const int parts = index < each ? row_parts(hidden) : 1;
  const float* from = scratch + member * blocks * block_floats(width, hidden) +
                      (index < each ? index : row_parts(hidden) * each + index - each);
  float sum = 0.0f;
  for (int block = 0; block < blocks; ++block)
    for (int part = 0; part < parts; ++part)
      sum += from[block * block_floats(width, hidden) + static_cast<std::int64_t>(part) * each];
  Bf16* to = nullptr;
  if (index < matrix)
    to = out.dw1 + member * matrix + index;
  else if (index < 2 * matrix)
    to = out.dw2 + member * matrix + (index - matrix) % width * hidden + (index - matrix) / width;
  else if (index < each)
    to = out.db1 + member * hidden + index - 2 * matrix;
  else if (index < each + width)
    to = out.dgain + member * width + index - each;
  else
    to = out.db2 + member * width + index - each - width;
  store(*to, sum);
}

}  // namespace rung::kernels
