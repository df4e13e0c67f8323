// Rotary positions, in real numbers: the first `size` entries of a head turn in pairs, pair i at position t by the
// angle t·frequency[i], frequency[i] = theta^(-2i/size) unless the file has rope.frequency.
//   half: (i, i + size/2) is a pair; interleaved: (2i, 2i + 1).   x' = x cos - y sin, y' = y cos + x sin
#pragma once

#include <cmath>
#include <vector>

#include "rung/exact/tensor_source.h"
#include "rung/spec/architecture.h"

namespace rung {

class Rotary {
 public:
  Rotary() = default;
  Rotary(TensorSource& source, Rope kind, std::int64_t size, std::int64_t theta) : kind_(kind), size_(size) {
    if (kind == Rope::none) return;
    if (source.has("rope.frequency")) {
      frequency_ = source.numbers<double>("rope.frequency", {size / 2});
      return;
    }
    for (std::int64_t i = 0; i < size / 2; ++i)
      frequency_.push_back(
          std::pow(static_cast<double>(theta), -2.0 * static_cast<double>(i) / static_cast<double>(size)));
  }
  explicit operator bool() const { return kind_ != Rope::none; }
  std::int64_t size() const { return size_; }
  // One head's entries, in place. `begin` is the first that turns.
  void turn(double* head, std::int64_t position, std::int64_t begin = 0) const {
    for (std::size_t i = 0; i < frequency_.size(); ++i) {
      const double angle = static_cast<double>(position) * frequency_[i];
      const auto at = static_cast<std::int64_t>(i);
      double& x = head[begin + (kind_ == Rope::half ? at : 2 * at)];
      double& y = head[begin + (kind_ == Rope::half ? at + size_ / 2 : 2 * at + 1)];
      const double turned = x * std::cos(angle) - y * std::sin(angle);
      y = y * std::cos(angle) + x * std::sin(angle);
      x = turned;
    }
  }

 private:
  Rope kind_ = Rope::none;
  std::int64_t size_ = 0;
  std::vector<double> frequency_;
};

}  // namespace rung
