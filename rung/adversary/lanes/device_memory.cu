// The device itself: whether there is one, and its memory.
#include <cuda_runtime.h>

#include <algorithm>

#include "rung/adversary/lanes/search_device.h"

namespace rung::lanes {

int device_count() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}
int choose_device(int number) {
  const int count = device_count();
  return count == 0 ? kNoDevice : cudaSetDevice(number % count);
}
const char* device_error(int status) { return cudaGetErrorString(static_cast<cudaError_t>(status)); }
const char* device_name() {
  static cudaDeviceProp properties;
  int device = 0;
  if (cudaGetDevice(&device) != cudaSuccess || cudaGetDeviceProperties(&properties, device) != cudaSuccess)
    return "";
  return properties.name;
}
int device_memory(std::size_t* bytes) {
  std::size_t whole = 0;
  return cudaMemGetInfo(bytes, &whole);
}
int device_allocate(std::size_t bytes, void** memory) {
  if (const int status = cudaMalloc(memory, std::max<std::size_t>(1, bytes))) return status;
  return cudaMemset(*memory, 0, bytes);
}
void device_release(void* memory) { cudaFree(memory); }
int copy_to_device(void* to, const void* from, std::size_t bytes) {
  return cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice);
}
int copy_from_device(void* to, const void* from, std::size_t bytes) {
  return cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost);
}
int clear_on_device(void* memory, std::size_t bytes) { return cudaMemset(memory, 0, bytes); }

}  // namespace rung::lanes
