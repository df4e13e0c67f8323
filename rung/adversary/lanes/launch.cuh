// How a kernel of state_machine.h is launched: rows in shared memory where they fit, and as many blocks as are then
// resident.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>

#include "rung/adversary/lanes/search_device.h"
#include "rung/adversary/lanes/state_machine.h"

namespace rung::lanes {

// Rows that a block copies into its shared memory; none where they do not fit, or are not read that way.
struct RowRange {
  std::uint32_t first = 0, count = 0;
};

// The evaluation's entry rows in shared memory, where there is room (shared.count > 0).
__device__ inline BlockRows block_rows(const Evaluation& evaluation, const RowRange& shared) {
  extern __shared__ int4 memory[];
  if (shared.count == 0) return {evaluation.entries.rows, 0};
  const auto* from = reinterpret_cast<const int4*>(evaluation.entries.rows) +
                     static_cast<std::size_t>(shared.first) * (evaluation.entries.stride / 4);
  const std::uint32_t items = shared.count * (evaluation.entries.stride / 4);
  for (std::uint32_t i = threadIdx.x; i < items; i += blockDim.x) memory[i] = from[i];
  __syncthreads();
  return {reinterpret_cast<const std::int32_t*>(memory), shared.first};
}

// A kernel, with as much shared memory as the evaluation's rows need and the blocks that are then resident.
template <class Kernel>
struct Launch {
  RowRange shared;
  std::size_t bytes = 0;
  int blocks = 0;
  int status = 0;

  Launch(Kernel kernel, const Evaluation& evaluation, int threads) {
    int device = 0, most = 0, processors = 0, resident = 0;
    status = cudaGetDevice(&device);
    if (status == 0) status = cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    if (status == 0) status = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
    cudaFuncAttributes own{};
    if (status == 0) status = cudaFuncGetAttributes(&own, kernel);
    if (evaluation.form == Evaluation::Form::entries) {
      const std::size_t row = static_cast<std::size_t>(evaluation.entries.stride) * sizeof(std::int32_t);
      const RowRange range{evaluation.route_first, evaluation.route_rows};
      if (range.count * row + own.sharedSizeBytes <= static_cast<std::size_t>(most))
        shared = range, bytes = range.count * row;
    }
    if (status == 0 && bytes > 0)
      status =
          cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
    if (status == 0)
      status = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, threads, bytes);
    blocks = std::max(1, resident) * processors;
  }
};

}  // namespace rung::lanes
