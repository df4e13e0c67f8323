// A head's vectors on the host: float32, a row a position, padded with zeros to a width that the compiler knows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "rung/learn/kernels/element.h"

namespace rung::kernels {

// The width that a vector of `size` numbers is padded to.
inline std::int64_t padded(std::int64_t size) {
  std::int64_t width = 8;
  while (width < size) width *= 2;
  return width;
}

// Numbers that begin at a cache line: a vector that straddles two costs twice.
class Numbers {
 public:
  void assign(std::int64_t count, float value) {
    lines_.resize(static_cast<std::size_t>((count + kLine - 1) / kLine));
    count_ = count;
    fill(value);
  }
  void fill(float value) { std::fill(data(), data() + count_, value); }
  float* data() { return reinterpret_cast<float*>(lines_.data()); }
  float& operator[](std::int64_t i) { return data()[i]; }

 private:
  static constexpr std::int64_t kLine = 16;
  struct alignas(64) Line {
    float numbers[kLine];
  };
  std::vector<Line> lines_;
  std::int64_t count_ = 0;
};

// One vector a position, of one head. Where the tensor itself is a row of its width, it is used in place.
class HeadRows {
 public:
  HeadRows(Element element, std::int64_t length, std::int64_t size)
      : element_(element), length_(length), size_(size), width_(padded(size)) {
    if (!in_place()) own_.assign(length * width_, 0.0f);
  }
  float* at(std::int64_t t) { return data_ + t * stride_; }

  void read(const Slice& slice, std::int64_t n, std::int64_t h);
  void begin(const MutableSlice& slice, std::int64_t n, std::int64_t h) { place(slice, n, h); }
  // What was written between begin and end is in the slice.
  void end();

 private:
  bool in_place() const { return element_ == Element::f32 && size_ == width_; }
  void place(const MutableSlice& slice, std::int64_t n, std::int64_t h);

  Element element_;
  std::int64_t length_, size_, width_, stride_ = 0, outside_stride_ = 0;
  void* outside_ = nullptr;
  float* data_ = nullptr;
  Numbers own_;
};

}  // namespace rung::kernels
