// One thread an instance; its scratch row, where the task needs one, is its own.
#include "rung/learn/kernels/task_instances.h"

#include "rung/learn/kernels/warp.cuh"

namespace rung::kernels {
namespace {

constexpr int kThreads = 64;  // many small blocks: a batch has few instances

__global__ void __launch_bounds__(kThreads)
    draw_batch(const InstanceTask task, const InstanceBatch batch, std::int32_t* scratch) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (row >= batch.members * batch.batch) return;
  draw_instance(task, row_support(task, batch, row), batch.seed[row / batch.batch],
                static_cast<std::uint64_t>(*batch.step * batch.batch + row % batch.batch),
                batch.tokens + row * instance_tokens(task), batch.answers + row * instance_answers(task),
                scratch + row * instance_scratch(task), between_values(task, batch, row),
                row_places(task, batch, row));
}

}  // namespace

std::int64_t task_instances_scratch(const InstanceTask& task, std::int64_t members, std::int64_t batch) {
  return members * batch * instance_scratch(task);
}

int task_instances_cuda(const InstanceTask& task, const InstanceBatch& batch, std::int32_t* scratch,
                        void* stream) {
  if (!instances_fit(task) || batch.members < 1 || batch.batch < 0 ||
      (instance_scratch(task) > 0 && !scratch))
    return cudaErrorInvalidValue;
  if (batch.batch == 0) return cudaSuccess;
  const unsigned blocks = blocks_for(batch.members * batch.batch, kThreads);
  if (blocks == 0) return cudaErrorInvalidConfiguration;
  draw_batch<<<blocks, kThreads, 0, stream_of(stream)>>>(task, batch, scratch);
  return launched();
}

}  // namespace rung::kernels
