// Memory on the device for the tests: a copy of a host array that knows its own, and return codes that nobody
// forgets.
#pragma once

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/learn/kernels/buffer.h"

namespace rung::kernels {

inline void check(int status) {
  if (status != cudaSuccess)
    throw std::runtime_error(std::string("CUDA: ") + cudaGetErrorString(static_cast<cudaError_t>(status)));
}
inline bool device_present() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
}

class DeviceCopy {
 public:
  DeviceCopy(const void* host, std::size_t bytes)
      : host_(static_cast<const unsigned char*>(host)), bytes_(bytes) {
    check(cudaMalloc(&memory_, bytes > 0 ? bytes : 1));
    if (host && bytes > 0) check(cudaMemcpy(memory_, host, bytes, cudaMemcpyHostToDevice));
  }
  explicit DeviceCopy(const Buffer& buffer) : DeviceCopy(buffer.data(), buffer.bytes()) {}
  template <class T>
  explicit DeviceCopy(const std::vector<T>& items) : DeviceCopy(items.data(), items.size() * sizeof(T)) {}
  // So many bytes, all 0xFF: float32 and bfloat16 read them as NaN.
  explicit DeviceCopy(std::size_t bytes) : DeviceCopy(nullptr, bytes) {
    check(cudaMemset(memory_, 0xFF, bytes_));
  }
  DeviceCopy(const DeviceCopy&) = delete;
  DeviceCopy& operator=(const DeviceCopy&) = delete;
  ~DeviceCopy() { cudaFree(memory_); }

  template <class T = float>
  T* as() const {
    return static_cast<T*>(memory_);
  }
  // What lies here at the place that `inside` has in the host array.
  void* moved(const void* inside) const {
    return static_cast<unsigned char*>(memory_) + (static_cast<const unsigned char*>(inside) - host_);
  }
  Slice moved(const Slice& slice) const {
    return {moved(slice.data), slice.sequence_stride, slice.position_stride};
  }
  MutableSlice moved(const MutableSlice& slice) const {
    return {moved(slice.data), slice.sequence_stride, slice.position_stride};
  }
  void copy_to(void* host) const {
    check(cudaDeviceSynchronize());
    check(cudaMemcpy(host, memory_, bytes_, cudaMemcpyDeviceToHost));
  }
  Buffer read(const Buffer& like) const {
    Buffer buffer = like;
    copy_to(buffer.data());
    return buffer;
  }

 private:
  const unsigned char* host_;
  std::size_t bytes_;
  void* memory_ = nullptr;
};

// How far apart they are, where the host wrote; where it did not (NaN), the device must not have written
// either.
template <class Expected>
double apart(const Buffer& device, const Expected& host) {
  double difference = 0.0, size = 0.0;
  for (std::int64_t i = 0; i < device.count(); ++i) {
    const double x = device[i], y = host[i];
    if (std::isnan(y) != std::isnan(x)) return HUGE_VAL;
    if (std::isnan(y)) continue;
    difference += (x - y) * (x - y);
    size += y * y;
  }
  return std::sqrt(difference) / (size > 1e-12 ? std::sqrt(size) : 1.0);
}

}  // namespace rung::kernels
