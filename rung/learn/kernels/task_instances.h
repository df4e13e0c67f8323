// Batches of task instances made where they are used. Row e * batch + b of the output is
// Task::generate(variant, seed[e], *step * batch + b), bit for bit (instance_draw.h says which
// tasks and variants), and the further questions about it; of a member with a support, drawn from that.
#pragma once

#include <cstdint>

#include "rung/learn/kernels/instance_draw.h"

namespace rung::kernels {

struct InstanceBatch {
  std::int64_t members = 1, batch = 0;       // E; instances a member
  const std::uint64_t* seed = nullptr;       // [E]
  const std::int64_t* step = nullptr;        // [1]: read, not changed
  std::int32_t* tokens = nullptr;            // [E * batch, instance_tokens], out
  std::int64_t* answers = nullptr;           // [E * batch, instance_answers], out
  const InstanceSupport* support = nullptr;  // [E], read like the step; null: the whole of the task
  std::int64_t whole = 0;  // the first so many of a member are of the whole task all the same
  // seqcomp: [levels - 1, E * batch, instance_answers], out: the values between (instance_draw.h); or null.
  std::int64_t* between = nullptr;
  std::int64_t* places = nullptr;  // gapped_mqar: [E * batch, instance_answers], out: positions; or null
};

// What a row is drawn from.
RUNG_HOST_DEVICE inline InstanceSupport row_support(const InstanceTask& task, const InstanceBatch& batch,
                                                    std::int64_t row) {
  const bool whole = !batch.support || row % batch.batch < batch.whole;
  return whole ? whole_support(task) : batch.support[row / batch.batch];
}

// The values between of a row.
RUNG_HOST_DEVICE inline BetweenValues between_values(const InstanceTask& task, const InstanceBatch& batch,
                                                     std::int64_t row) {
  const std::int64_t answers = instance_answers(task);
  return {batch.between ? batch.between + row * answers : nullptr, batch.members * batch.batch * answers};
}

// Positions of a row's answers.
RUNG_HOST_DEVICE inline std::int64_t* row_places(const InstanceTask& task, const InstanceBatch& batch,
                                                 std::int64_t row) {
  return batch.places ? batch.places + row * instance_answers(task) : nullptr;
}

// True when every token fits an int32 and every size is one that the task itself accepts.
bool instances_fit(const InstanceTask& task);

// REQUIRES instances_fit(task). One thread.
void task_instances(const InstanceTask& task, const InstanceBatch& batch);

// The same on a device, queued on `stream` (a cudaStream_t): one thread an instance. scratch:
// task_instances_scratch int32 numbers of device memory. Returns 0 or a cudaError_t.
std::int64_t task_instances_scratch(const InstanceTask& task, std::int64_t members, std::int64_t batch);
int task_instances_cuda(const InstanceTask& task, const InstanceBatch& batch, std::int32_t* scratch,
                        void* stream);

}  // namespace rung::kernels
