// Vectors of lanes on the host, and rows of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <new>

#include "rung/adversary/lanes/lane_step.h"

namespace rung::lanes {

inline constexpr std::size_t kVectorBytes = 64;

template <class V>
struct VectorOf {
  typedef V type __attribute__((vector_size(kVectorBytes)));
};
template <class V>
using Vector = typename VectorOf<V>::type;

// Vectors on their natural boundary (std::allocator forgets it for vector types), zero at first.
template <class N>
class LaneRow {
 public:
  explicit LaneRow(std::int64_t size)
      : size_(static_cast<std::size_t>(size)), data_(new (std::align_val_t{kVectorBytes}) N[size_ + 1]()) {}
  ~LaneRow() { ::operator delete[](data_, std::align_val_t{kVectorBytes}); }
  LaneRow(const LaneRow&) = delete;
  LaneRow& operator=(const LaneRow&) = delete;
  N* data() { return data_; }
  N& operator[](std::size_t i) { return data_[i]; }
  void clear() { std::fill_n(data_, size_, N{}); }

 private:
  std::size_t size_;
  N* data_;
};

}  // namespace rung::lanes
