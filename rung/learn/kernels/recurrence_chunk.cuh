// The matrix recurrence sixteen positions at a time, as products of 16 x 16 blocks; a warp has a head of a
// sequence to itself. bfloat16 vectors of 16, 32 or 64 numbers.
//
// Positions t, s of a chunk; S the state before it; D_ts = exp(g_{s+1} + ... + g_t) for s <= t, D_t0 the
// decay since the chunk began, D_Cs until it ends. Sums of log decays are taken inside a chunk and only
// differences that the recurrence itself multiplies are raised, so nothing overflows that would not overflow
// there. Forward:
//   e_t = v_t - D_t0 S k_t - sum over s < t of D_ts (k_s . k_t) u_s      (delta; u = beta e; otherwise u = v)
//   y_t = D_t0 S q_t + sum over s <= t of D_ts (k_s . q_t) u_s
//   S after it = D_C0 S + sum over s of D_Cs u_s k_s^T
// The first line is a triangular system: e = (I + L beta)^-1 (v - D S k), L_ts = D_ts k_t . k_s below the
// diagonal, whose inverse is made by substitution in float32.
//
// Backward, with H = dL/dS after the chunk, in reverse (`reverse_chunks`):
//   du_s = D_Cs H k_s + sum over t >= s of D_ts (k_s . q_t) dy_t
//          - sum over t > s of D_ts (k_s . k_t) beta_t du_t,
// so du = ((I + beta L)^-1)^T (the rest); de = beta du = dv, dbeta = du . e;
//   dk_s = D_Cs H^T u_s + sum over t >= s of D_ts (u_s . dy_t) q_t
//          - sum over t > s of D_ts (u_s . de_t) k_t                                                      [1]
//   H before it = D_C0 H + sum over t of D_t0 (dy_t q_t^T - de_t k_t^T);
// then forward once more, S made again (`replay_chunks`):
//   dq_t = D_t0 S^T dy_t + sum over s <= t of D_ts (u_s . dy_t) k_s
//   dk_t = [1] - D_t0 S^T de_t - sum over s < t of D_ts (u_s . de_t) k_s.
// Without delta the terms with de are absent and dv = du.
//
// Normalised (neither decay nor delta): y_t = S_t q_t / z_t with z_t = (sum over s <= t of k_s) . q_t, and 0
// where z_t is. Backward replays first: dq without the divisor's part gives dz_t = - q_t . dq_t / z_t,
// because q_t . dq_t = y_t . dy_t; the divisor is one more value, 1 at every position, whose gradient is dz.
// The reverse pass reads 1 / z and dz.
//
// The decay's gradient is the sum of all that passes it: of what writes at s < t send to reads at r >= t.
// Sums over writes before t less reads before t are that, because what is written and read before t cancels.
// Reads and writes of one chunk come from one matrix of products and cancel to float32; those of different
// chunks come from S and from H, to the precision of split factors.
#pragma once

#include <type_traits>

#include "rung/learn/kernels/matrix_recurrence.h"
#include "rung/learn/kernels/warp_matrix.cuh"

namespace rung::kernels {

// Sixteen rows in shared memory, in pieces of sixteen bytes. Pieces change places from row to row, by an
// exclusive or with part of the row's number, so that a column of them, which is what the blocks' loads read,
// lies in different banks. Blocks of one row differ in bits of the place alone: a lane has one place for all
// of them.
template <int RowBytes>
struct alignas(16) RowTile {
  static constexpr int kPieces = RowBytes / 16;
  unsigned char bytes[kSide * RowBytes];

  __device__ static int place(int row, int piece) {
    return row * RowBytes + (piece ^ (row * kPieces / 8 % kPieces)) * 16;
  }
  // Rows as they lie, block `block` of sixteen columns.
  __device__ Factor rows(int block) const {
    const int lane = lane_index();
    Factor factor;
    WarpCore::load_matrices(factor.pairs, bytes + (place(lane % 16, lane / 16) ^ 32 * block));
    return factor;
  }
  // Their transpose: sixteen columns by sixteen positions.
  __device__ Factor columns(int block) const {
    const int lane = lane_index();
    Factor factor;
    WarpCore::load_transposed(factor.pairs,
                              bytes + (place(lane % 8 + lane / 16 * 8, lane / 8 % 2) ^ 32 * block));
    return factor;
  }
  // A block of float32 rows.
  __device__ Sum numbers(int block) const {
    const int lane = lane_index(), first = place(lane / 4, lane % 4 / 2) + lane % 2 * 8;
    Sum sum;
#pragma unroll
    for (int i = 0; i < 8; i += 2) {
      const auto pair = *reinterpret_cast<const float2*>(bytes + (first ^ (64 * block + 32 * (i / 4))) +
                                                         8 * RowBytes * row_slot(i));
      sum.x[i] = pair.x;
      sum.x[i + 1] = pair.y;
    }
    return sum;
  }
  // Puts a block of bfloat16 rows.
  __device__ void put(int block, const Sum& sum) {
    const int lane = lane_index(), first = place(lane / 4, 0) + lane % 4 * 4;
    const Factor factor = rounded(sum);
#pragma unroll
    for (int i = 0; i < 4; ++i)
      *reinterpret_cast<std::uint32_t*>(bytes + (first ^ (32 * block + 16 * (i / 2))) +
                                        8 * RowBytes * row_slot(2 * i)) = factor.pairs[i];
  }
};

// The rows of one head of one sequence: where this lane's part of a chunk begins.
template <int RowBytes>
struct HeadRows {
  static constexpr int kPieces = RowBytes / 16, kRows = kWarp / kPieces;  // a step of the warp: so many rows
  unsigned char* at;
  std::int64_t stride;  // bytes from position to position

  __device__ HeadRows(const Slice& slice, std::int64_t n, std::int64_t h, int t0, int element)
      : stride(slice.position_stride * element) {
    const int lane = lane_index();
    at = static_cast<unsigned char*>(const_cast<void*>(slice.data)) + n * slice.sequence_stride * element +
         h * RowBytes + (t0 + lane / kPieces) * stride + lane % kPieces * 16;
  }
  // To the chunk after this one; before it with -1.
  __device__ void advance(int chunks) { at += chunks * kSide * stride; }
};

// Begins to copy the first `count` rows of a chunk; the others become zeros.
template <int RowBytes>
__device__ void fetch(RowTile<RowBytes>& tile, const HeadRows<RowBytes>& from, int count) {
  using Rows = HeadRows<RowBytes>;
  const int lane = lane_index();
#pragma unroll
  for (int first = 0; first < kSide; first += Rows::kRows) {
    const int row = first + lane / Rows::kPieces;
    const bool wanted = row < count;
    WarpCore::copy_async(tile.bytes + tile.place(row, lane % Rows::kPieces),
                         from.at + (wanted ? first * from.stride : -(row - first) * from.stride), wanted);
  }
}
// Writes the first `count` rows of the tile. The tile's barriers are the caller's: after it was put, and
// before it is put again.
template <int RowBytes>
__device__ void flush(const RowTile<RowBytes>& tile, const HeadRows<RowBytes>& to, int count) {
  using Rows = HeadRows<RowBytes>;
  const int lane = lane_index();
#pragma unroll
  for (int first = 0; first < kSide; first += Rows::kRows) {
    const int row = first + lane / Rows::kPieces;
    if (row < count)
      *reinterpret_cast<uint4*>(to.at + first * to.stride) =
          *reinterpret_cast<const uint4*>(tile.bytes + tile.place(row, lane % Rows::kPieces));
  }
}

// A number a position, lane t (and t + 16) has that of position t of the chunk; as the lanes need it.
__device__ inline void spread_rows(float (&to)[2], float x) {
#pragma unroll
  for (int slot = 0; slot < 2; ++slot) to[slot] = from_lane(x, slot_row(slot));
}
__device__ inline void spread_columns(float (&to)[4], float x) {
#pragma unroll
  for (int slot = 0; slot < 4; ++slot) to[slot] = from_lane(x, slot_column(slot));
}
// Sums over the columns of a block, from a lane's share: every lane gets those of its own rows.
__device__ inline void sum_rows(float (&share)[2]) {
#pragma unroll
  for (float& sum : share) {
    sum += from_lane_xor(sum, 1);
    sum += from_lane_xor(sum, 2);
  }
}
// Sums over the columns (rows) of a block, from a lane's share: lane t (and t + 16) gets that of row (column)
// t.
__device__ inline float gather_rows(const float (&share)[2]) {
  float sums[2] = {share[0], share[1]};
  sum_rows(sums);
#pragma unroll
  for (float& sum : sums) sum = from_lane(sum, lane_index() % 8 * 4);
  return lane_index() / 8 % 2 == 0 ? sums[0] : sums[1];
}
__device__ inline float gather_columns(const float (&share)[4]) {
  float sums[4];
#pragma unroll
  for (int slot = 0; slot < 4; ++slot) {
    sums[slot] = share[slot] + from_lane_xor(share[slot], 4);
    sums[slot] += from_lane_xor(sums[slot], 8);
    sums[slot] += from_lane_xor(sums[slot], 16);
    sums[slot] = from_lane(sums[slot], lane_index() % 8 / 2);
  }
  const int slot = lane_index() % 2 + lane_index() / 8 % 2 * 2;
  return slot == 0 ? sums[0] : slot == 1 ? sums[1] : slot == 2 ? sums[2] : sums[3];
}
__device__ inline void add_products(float (&share)[2], const Sum& a, const Sum& b) {
#pragma unroll
  for (int i = 0; i < 8; ++i) share[row_slot(i)] += a.x[i] * b.x[i];
}

// Decays of a chunk. `sum` is the logarithm (to base 2) of D_t0, lane t for position t. Without decay all are
// 1 and the compiler drops them.
template <bool Decay>
struct ChunkDecays {
  float rows[2] = {}, columns[4] = {}, last = 0.0f;  // logarithms of D_t0, D_C0

  // log_decay: lane t for position t, 0 past the end.
  __device__ explicit ChunkDecays(float log_decay) {
    if constexpr (Decay) {
      // What exp makes 0 is bounded, or the differences after it would lose their last bits. A NaN stays.
      float sum = (log_decay < -100.0f ? -100.0f : log_decay) * 1.44269504f;
#pragma unroll
      for (int lanes = 1; lanes < kSide; lanes *= 2) {
        const float below = from_lane_below(sum, lanes);
        if (lane_index() % kSide >= lanes) sum += below;
      }
      spread_rows(rows, sum);
      spread_columns(columns, sum);
      last = from_lane(sum, kSide - 1);
    }
  }
  __device__ float through() const { return Decay ? WarpCore::power_of_two(last) : 1.0f; }  // D_C0
  // D_t0 and D_Cs for rows, for columns.
  __device__ void rows_since(float (&to)[2]) const {
#pragma unroll
    for (int i = 0; i < 2; ++i) to[i] = Decay ? WarpCore::power_of_two(rows[i]) : 1.0f;
  }
  __device__ void rows_until(float (&to)[2]) const {
#pragma unroll
    for (int i = 0; i < 2; ++i) to[i] = Decay ? WarpCore::power_of_two(last - rows[i]) : 1.0f;
  }
  __device__ void columns_since(float (&to)[4]) const {
#pragma unroll
    for (int i = 0; i < 4; ++i) to[i] = Decay ? WarpCore::power_of_two(columns[i]) : 1.0f;
  }
  __device__ void columns_until(float (&to)[4]) const {
#pragma unroll
    for (int i = 0; i < 4; ++i) to[i] = Decay ? WarpCore::power_of_two(last - columns[i]) : 1.0f;
  }
  // D with later positions as rows, 0 above the diagonal; and with later positions as columns.
  __device__ Sum by_later_rows() const {
    Sum sum;
#pragma unroll
    for (int i = 0; i < 8; ++i)
      sum.x[i] = block_row(i) < block_column(i) ? 0.0f
                 : Decay ? WarpCore::power_of_two(rows[row_slot(i)] - columns[column_slot(i)])
                         : 1.0f;
    return sum;
  }
  __device__ Sum by_later_columns() const {
    Sum sum;
#pragma unroll
    for (int i = 0; i < 8; ++i)
      sum.x[i] = block_column(i) < block_row(i) ? 0.0f
                 : Decay ? WarpCore::power_of_two(columns[column_slot(i)] - rows[row_slot(i)])
                         : 1.0f;
    return sum;
  }
};

// factor x, 0 where the factor is: what is masked may be infinite.
__device__ inline Sum masked(const Sum& factor, const Sum& x, float sign = 1.0f) {
  Sum sum;
#pragma unroll
  for (int i = 0; i < 8; ++i) sum.x[i] = factor.x[i] == 0.0f ? 0.0f : sign * factor.x[i] * x.x[i];
  return sum;
}
__device__ inline Sum without_diagonal(Sum sum) {
#pragma unroll
  for (int i = 0; i < 8; ++i)
    if (block_row(i) == block_column(i)) sum.x[i] = 0.0f;
  return sum;
}

// A unit triangular matrix in shared memory, and its inverse.
struct alignas(16) Triangle {
  static constexpr int kPitch = 20;  // sixteen bytes aligned, rows in different banks
  float x[kSide * kPitch];

  // From the part below the diagonal of a block, or of a block's transpose.
  __device__ void put(const Sum& sum, bool transpose) {
#pragma unroll
    for (int i = 0; i < 8; ++i)
      x[transpose ? block_column(i) * kPitch + block_row(i) : block_row(i) * kPitch + block_column(i)] =
          sum.x[i];
  }
  // (I + what was put)^-1, or its transpose. Lane j substitutes column j.
  __device__ SplitFactor inverse(bool transpose) {
    warp_barrier();
    const int j = lane_index() % kSide;
    float column[kSide];
#pragma unroll
    for (int t = 0; t < kSide; ++t) {
      float sum = t == j ? 1.0f : 0.0f, other = 0.0f;
#pragma unroll
      for (int s = 0; s < t; s += 4) {
        const float4 row = *reinterpret_cast<const float4*>(x + t * kPitch + s);
        sum -= row.x * column[s];
        if (s + 1 < t) other -= row.y * column[s + 1];
        if (s + 2 < t) sum -= row.z * column[s + 2];
        if (s + 3 < t) other -= row.w * column[s + 3];
      }
      column[t] = sum + other;
    }
    warp_barrier();
#pragma unroll
    for (int t = 0; t < kSide; ++t) x[transpose ? j * kPitch + t : t * kPitch + j] = column[t];
    warp_barrier();
    Sum sum;
#pragma unroll
    for (int i = 0; i < 8; ++i) sum.x[i] = x[block_row(i) * kPitch + block_column(i)];
    return split(sum);
  }
};

struct Absent {};

// One head of one sequence, at a chunk.
struct HeadPlace {
  std::int64_t n, h;
  std::int64_t heads;  // of a position
  int length;          // positions
  std::int64_t first;  // the number of position 0 among [N, T, H]

  __device__ HeadPlace(const RecurrenceShape& shape, std::int64_t item)
      : n(item / shape.heads),
        h(item % shape.heads),
        heads(shape.heads),
        length(static_cast<int>(shape.positions)),
        first(n * shape.positions * shape.heads + h) {}

  __device__ int last_chunk() const { return (length - 1) / kSide * kSide; }
  // The number of the lane's position in the chunk at t0, 0 past the end.
  __device__ float own(const float* numbers, int t0) const {
    const int t = t0 + lane_index() % kSide;
    return t < length ? numbers[first + t * heads] : 0.0f;
  }
  __device__ void put_own(float* numbers, int t0, float x) const {
    const int t = t0 + lane_index();
    if (lane_index() < kSide && t < length) numbers[first + t * heads] = x;
  }
  // A float32 tensor [N, T, H, size] that holds nothing else.
  __device__ Slice tensor(const float* numbers, int size) const {
    return {numbers, length * heads * size, heads * size};
  }
  // Block `block` of the vectors of such a tensor, rows by positions.
  __device__ float* pair_at(float* numbers, int size, int t0, int block, int i) const {
    return numbers + (first + (t0 + block_row(i)) * heads) * size + kSide * block + block_column(i);
  }
  __device__ void put_rows(float* numbers, int size, int t0, int block, const Sum& sum) const {
#pragma unroll
    for (int i = 0; i < 8; i += 2)
      if (t0 + block_row(i) < length)
        *reinterpret_cast<float2*>(pair_at(numbers, size, t0, block, i)) =
            make_float2(sum.x[i], sum.x[i + 1]);
  }
  __device__ void add_rows(Sum& sum, float* numbers, int size, int t0, int block) const {
#pragma unroll
    for (int i = 0; i < 8; i += 2)
      if (t0 + block_row(i) < length) {
        const auto pair = *reinterpret_cast<const float2*>(pair_at(numbers, size, t0, block, i));
        sum.x[i] += pair.x;
        sum.x[i + 1] += pair.y;
      }
  }
};

__device__ inline Sum filled(float x) {
  Sum sum;
#pragma unroll
  for (float& each : sum.x) each = x;
  return sum;
}
__device__ inline void add(Sum& sum, const Sum& other) {
#pragma unroll
  for (int i = 0; i < 8; ++i) sum.x[i] += other.x[i];
}
// 1 / z, and 0 for 0.
__device__ inline float inverse_or_zero(float z) { return z == 0.0f ? 0.0f : 1.0f / z; }

}  // namespace rung::kernels
