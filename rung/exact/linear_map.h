// y = rsh(W x + b, shift) at a declared width, the position-wise map of every layer. Selection matrices of
// constructions are sparse, so rows are kept as (column, weight) lists when fewer than a third of the entries
// are non-zero; a dense matrix lies transposed, so that all rows advance together in vector code. The result
// does not depend on it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rung/exact/arithmetic.h"

namespace rung {

// sums[r] += Σ_c transposed[c][r] x[c] for all rows (linear_map.cc).
void add_columns(const std::int64_t* transposed, const std::int64_t* x, std::int64_t rows, std::int64_t cols,
                 std::int64_t* sums);
void add_columns(const std::int64_t* transposed, const std::int64_t* x, std::int64_t rows, std::int64_t cols,
                 Int128* sums);
void add_columns(const double* transposed, const double* x, std::int64_t rows, std::int64_t cols,
                 double* sums);

template <class A>
class LinearMap {
 public:
  using Value = typename A::Value;
  using Wide = typename A::Wide;

  LinearMap() = default;
  // REQUIRES weight.size() == rows * cols, bias empty or of size rows.
  LinearMap(std::int64_t rows, std::int64_t cols, std::vector<Value> weight, std::vector<Value> bias,
            int shift, Width width)
      : rows_(rows), cols_(cols), bias_(std::move(bias)), shift_(shift), width_(width) {
    std::int64_t nonzero = 0;
    for (const Value w : weight) nonzero += w != 0;
    if (nonzero * 3 >= rows * cols) {
      dense_.resize(weight.size());
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = 0; c < cols; ++c)
          dense_[static_cast<std::size_t>(c * rows + r)] = weight[static_cast<std::size_t>(r * cols + c)];
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
      for (std::int64_t c = 0; c < cols_; ++c)
        total += static_cast<Wide>(dense_[static_cast<std::size_t>(c * rows_ + r)]) * x[c];
    } else if (!starts_.empty()) {
      for (std::int64_t i = starts_[static_cast<std::size_t>(r)];
           i < starts_[static_cast<std::size_t>(r) + 1]; ++i)
        total += static_cast<Wide>(values_[static_cast<std::size_t>(i)]) *
                 x[columns_[static_cast<std::size_t>(i)]];
    }
    return total;
  }
  void apply(const A& arithmetic, const Value* x, Value* y) const {
    for_sums(x, [&](std::int64_t r, Wide sum) { y[r] = arithmetic.narrow(sum, shift_, width_); });
  }
  // Without rounding to the storage format (hidden layers of an MLP; the same as apply in mode X).
  void apply_unrounded(const A& arithmetic, const Value* x, Value* y) const {
    for_sums(x, [&](std::int64_t r, Wide sum) { y[r] = arithmetic.unrounded(sum, shift_, width_); });
  }

  // Largest over the rows of Σ|w|, and of |b|: with inputs of p bits no sum exceeds norm * 2^(p-1) + bias.
  double norm() const {
    double largest = 0;
    for (std::int64_t r = 0; r < rows_; ++r) {
      double total = 0;
      if (!dense_.empty())
        for (std::int64_t c = 0; c < cols_; ++c)
          total += std::abs(static_cast<double>(dense_[static_cast<std::size_t>(c * rows_ + r)]));
      else if (!starts_.empty())
        for (std::int64_t i = starts_[static_cast<std::size_t>(r)];
             i < starts_[static_cast<std::size_t>(r) + 1]; ++i)
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
  // Bits that a sum over inputs of `input_bits` bits needs, sign included, after a shift that multiplies.
  int sum_bits(int input_bits) const {
    const double bound = norm() * std::ldexp(1.0, input_bits - 1) + largest_bias() + 1;
    return static_cast<int>(std::ceil(std::log2(bound))) + 2 + shift_growth(shift_);
  }

 private:
  template <class Take>
  void for_sums(const Value* x, Take take) const {
    if (dense_.empty()) {
      for (std::int64_t r = 0; r < rows_; ++r) take(r, sum(r, x));
      return;
    }
    thread_local std::vector<Wide> sums;
    sums.assign(static_cast<std::size_t>(rows_), Wide{0});
    for (std::size_t r = 0; r < bias_.size(); ++r) sums[r] = bias_[r];
    add_columns(dense_.data(), x, rows_, cols_, sums.data());
    for (std::int64_t r = 0; r < rows_; ++r) take(r, sums[static_cast<std::size_t>(r)]);
  }

  std::int64_t rows_ = 0, cols_ = 0;
  std::vector<Value> dense_;          // transposed, or
  std::vector<std::int64_t> starts_;  // rows as lists
  std::vector<std::int32_t> columns_;
  std::vector<Value> values_;
  std::vector<Value> bias_;
  int shift_ = 0;
  Width width_;
};

}  // namespace rung
