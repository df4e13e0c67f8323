// A matrix of weights w_ij over pairs of positions j <= i of one head, on the host: its scores and its products with
// rows, the tiles above the diagonal left out. What a weight is of its score is for those who use it.
//
// The matrix lies in panels of sixteen columns j, of which the tiles with i's block of sixteen before j's are not
// touched. Within the tiles on the diagonal a product takes what stands there: weights of j > i are 0.
#pragma once

#include "rung/learn/kernels/element.h"
#include "rung/learn/kernels/matrix_tile.h"

namespace rung::kernels {

// Vectors of one head: the position's next begins `stride` numbers on.
struct HeadRows {
  const float* data = nullptr;
  std::int64_t stride = 0;
};
struct MutableHeadRows {
  float* data = nullptr;
  std::int64_t stride = 0;
};

// Of head h of sequence n; REQUIRES float32.
inline HeadRows head_rows(const Slice& slice, std::int64_t n, std::int64_t h, std::int64_t size) {
  return {static_cast<const float*>(slice.data) + n * slice.sequence_stride + h * size,
          slice.position_stride};
}
inline MutableHeadRows head_rows(const MutableSlice& slice, std::int64_t n, std::int64_t h,
                                 std::int64_t size) {
  return {static_cast<float*>(slice.data) + n * slice.sequence_stride + h * size, slice.position_stride};
}
// to[i] = a_i . b_i, and y_i *= factors[i].
void inner_products(const HeadRows& a, const HeadRows& b, std::int64_t positions, std::int64_t size,
                    float* to);
void scale_rows(const MutableHeadRows& y, std::int64_t positions, std::int64_t size, const float* factors);

class CausalWeights {
 public:
  CausalWeights(std::int64_t positions, std::int64_t widest)
      : positions_(positions),
        // An odd number of cache lines: a row's tiles fall into different sets.
        pitch_((positions | 1) * kPanel),
        panels_(panels_of(positions)),
        weights_(panels_ * pitch_),
        factor_(std::max(panelled_size(widest, positions), panelled_size(positions, widest))) {}

  // w_ij = a_i . b_j for all tiles that count.
  void score(const HeadRows& a, const HeadRows& b, std::int64_t size);
  // y_i = sum_{j <= i} w_ij r_j, and y_j = sum_{i >= j} w_ij r_i.
  void over_earlier(const HeadRows& r, std::int64_t size, const MutableHeadRows& y);
  void over_later(const HeadRows& r, std::int64_t size, const MutableHeadRows& y);

  // The sixteen weights of i and the columns of a panel.
  float* at(std::int64_t i, std::int64_t panel) { return weights_.data() + panel * pitch_ + i * kPanel; }
  // From one panel of a row to the next.
  std::int64_t pitch() const { return pitch_; }

 private:
  std::int64_t positions_, pitch_, panels_;
  AlignedNumbers weights_, factor_;
};

// Scratch for the weights is two such matrices: positions beyond these go another way.
inline constexpr std::int64_t kMostCausalPositions = 1024;

}  // namespace rung::kernels
