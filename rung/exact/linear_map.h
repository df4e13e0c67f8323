// y = rsh(W x + b, shift) at a declared width, the position-wise map of every layer. Selection matrices of
// constructions are sparse, so rows are kept as (column, weight) lists when fewer than a third of the entries are
// non-zero; the result does not depend on it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rung/exact/arithmetic.h"

namespace rung {

template <class A>
class LinearMap {
 public:
  using Value = typename A::Value;
  using Wide = typename A::Wide;

  LinearMap() = default;
  // REQUIRES weight.size() == rows * cols, bias empty or of size rows.
  LinearMap(std::int64_t rows, std::int64_t cols, std::vector<Value> weight, std::vector<Value> bias, int shift, Width width)
      : rows_(rows), cols_(cols), bias_(std::move(bias)), shift_(shift), width_(width) {
    std::int64_t nonzero = 0;
    for (const Value w : weight) nonzero += w != 0;
    if (nonzero * 3 >= rows * cols) {
      dense_ = std::move(weight);
    } else {
      starts_.reserve(static_cast<std::size_t>(rows) + 1);
      for (std::int64_t r = 0; r < rows; ++r) {
        starts_.push_back(static_cast<std::int64_t>(columns_.size()));
        for (std::int64_t c = 0; c < cols; ++c)
          if (const Value w = weight[static_cast<std::size_t>(r * cols + c)]; w != 0) {
            columns_.push_back(static_cast<std::int32_t>(c));
            values_.push_back(w);
          }
      }
      starts_.push_back(static_cast<std::int64_t>(columns_.size()));
    }
  }

  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return cols_; }
  int shift() const { return shift_; }
  Width width() const { return width_; }

  // The exact sum of row r, before shift and rounding.
  Wide sum(std::int64_t r, const Value* x) const {
    Wide total = bias_.empty() ? Wide{0} : Wide{bias_[static_cast<std::size_t>(r)]};
    if (!dense_.empty()) {
      const Value* row = dense_.data() + r * cols_;
      for (std::int64_t c = 0; c < cols_; ++c) total += static_cast<Wide>(row[c]) * x[c];
    } else if (!starts_.empty()) {
      for (std::int64_t i = starts_[static_cast<std::size_t>(r)]; i < starts_[static_cast<std::size_t>(r) + 1]; ++i)
        total += static_cast<Wide>(values_[static_cast<std::size_t>(i)]) * x[columns_[static_cast<std::size_t>(i)]];
    }
    return total;
  }
  void apply(const A& arithmetic, const Value* x, Value* y) const {
    for (std::int64_t r = 0; r < rows_; ++r) y[r] = arithmetic.narrow(sum(r, x), shift_, width_);
  }
  // Without rounding to the storage format (hidden layers of an MLP; the same as apply in mode X).
  void apply_unrounded(const A& arithmetic, const Value* x, Value* y) const {
    for (std::int64_t r = 0; r < rows_; ++r) y[r] = arithmetic.unrounded(sum(r, x), shift_, width_);
  }

  // Largest over the rows of Σ|w|, and of |b|: with inputs of p bits no sum exceeds norm * 2^(p-1) + bias.
  double norm() const {
    double largest = 0;
    for (std::int64_t r = 0; r < rows_; ++r) {
      double total = 0;
      if (!dense_.empty())
        for (std::int64_t c = 0; c < cols_; ++c) total += std::abs(static_cast<double>(dense_[static_cast<std::size_t>(r * cols_ + c)]));
      else if (!starts_.empty())
        for (std::int64_t i = starts_[static_cast<std::size_t>(r)]; i < starts_[static_cast<std::size_t>(r) + 1]; ++i)
          total += std::abs(static_cast<double>(values_[static_cast<std::size_t>(i)]));
      largest = std::max(largest, total);
    }
    return largest;
  }
  double largest_bias() const {
    double largest = 0;
    for (const Value b : bias_) largest = std::max(largest, std::abs(static_cast<double>(b)));
    return largest;
  }
  // Bits that a sum over inputs of `input_bits` bits needs, sign included.
  int sum_bits(int input_bits) const {
    const double bound = norm() * std::ldexp(1.0, input_bits - 1) + largest_bias() + 1;
    return static_cast<int>(std::ceil(std::log2(bound))) + 2;
  }

 private:
  std::int64_t rows_ = 0, cols_ = 0;
  std::vector<Value> dense_;            // row-major, or
  std::vector<std::int64_t> starts_;    // rows as lists
  std::vector<std::int32_t> columns_;
  std::vector<Value> values_;
  std::vector<Value> bias_;
  int shift_ = 0;
  Width width_;
};

}  // namespace rung
