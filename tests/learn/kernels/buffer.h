// Arrays of float32 or bfloat16 for the kernels' tests, filled at random, and how far two of them are apart.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "rung/base/random.h"
#include "rung/learn/kernels/element.h"

namespace rung::kernels {

class Buffer {
 public:
  Buffer(Element element, std::int64_t count)
      : element_(element), count_(count), bytes_(count > 0 ? count * element_size(element) : 1) {}

  Element element() const { return element_; }
  std::int64_t count() const { return count_; }
  void* data() { return bytes_.data(); }
  const void* data() const { return bytes_.data(); }
  std::size_t bytes() const { return bytes_.size(); }
  float* floats() { return static_cast<float*>(data()); }
  // The place of element i.
  void* at(std::int64_t i) { return bytes_.data() + i * element_size(element_); }
  const void* at(std::int64_t i) const { return bytes_.data() + i * element_size(element_); }

  double operator[](std::int64_t i) const {
    return element_ == Element::f32 ? to_float(static_cast<const float*>(data())[i])
                                    : to_float(static_cast<const Bf16*>(data())[i]);
  }
  void set(std::int64_t i, double value) {
    if (element_ == Element::f32)
      store(static_cast<float*>(data())[i], static_cast<float>(value));
    else
      store(static_cast<Bf16*>(data())[i], static_cast<float>(value));
  }
  Buffer& fill(double value) {
    for (std::int64_t i = 0; i < count_; ++i) set(i, value);
    return *this;
  }
  // Nearly normal: twelve uniform numbers added.
  Buffer& draw(Random& random, double mean = 0.0, double deviation = 1.0) {
    for (std::int64_t i = 0; i < count_; ++i) {
      double sum = -6.0;
      for (int k = 0; k < 12; ++k) sum += random.unit();
      set(i, mean + deviation * sum);
    }
    return *this;
  }

 private:
  Element element_;
  std::int64_t count_;
  std::vector<unsigned char> bytes_;
};

// |a - b| / |b| in the Euclidean norm, or |a - b| where b is nearly 0; not finite as soon as one number is.
template <class A, class B>
double distance(const A& a, const B& b, std::int64_t count) {
  double difference = 0.0, size = 0.0;
  for (std::int64_t i = 0; i < count; ++i) {
    const double x = a[i], y = b[i];
    difference += (x - y) * (x - y);
    size += y * y;
  }
  return std::sqrt(difference) / (size > 1e-12 ? std::sqrt(size) : 1.0);
}

// The slope of loss() along one number, by the difference of its values a little above and below.
template <class Loss>
double difference_slope(Buffer& buffer, std::int64_t i, const Loss& loss) {
  const double before = buffer[i], h = 1.0 / 1024;
  buffer.set(i, before + h);
  const double up = loss(), high = buffer[i];
  buffer.set(i, before - h);
  const double slope = (up - loss()) / (high - buffer[i]);
  buffer.set(i, before);
  return slope;
}

// What rounding of the elements allows.
inline double tolerance(Element element) { return element == Element::f32 ? 3e-5 : 8e-3; }

}  // namespace rung::kernels
