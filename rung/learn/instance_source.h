// Batches where the model is. On a CPU: drawn by the task itself. On a GPU: made by a kernel on the device
// where the task has one (kernels/instance_draw.h: the same instances, bit for bit); else drawn on the host and sent
// from pinned memory without waiting.
#pragma once

#include <map>

#include "rung/learn/lesson.h"

namespace rung::learn {

class InstanceSource {
 public:
  InstanceSource(const Lesson& lesson, std::vector<std::uint64_t> seeds, std::int64_t batch,
                 torch::Device device);

  // Whether batches of this task are made on the device, inside a recorded step.
  bool on_device(std::size_t stage, std::size_t which) const;
  // The batch of a step, in tensors that stay: what a recorded step reads. REQUIRES count on the device where
  // on_device(), holding `step`.
  const Batch& next(std::size_t stage, std::size_t which, std::int64_t step, const torch::Tensor& count);
  // The members' stages of the support, from the next batch on. Nothing that was recorded changes.
  void set_supports(const std::vector<std::size_t>& stages);
  // Host-drawn tasks: fills the tensors of next() for a step, before the recorded step is replayed.
  void fill(std::size_t stage, std::size_t which, std::int64_t step);

 private:
  struct Place {
    Batch batch;
    torch::Tensor tokens;  // int32, as the kernel writes them
    torch::Tensor scratch;
    torch::Tensor next, out;  // the tables of an automaton
    torch::Tensor gap_weights;
  };
  Place& place(std::size_t stage, std::size_t which);

  const Lesson& lesson_;
  std::vector<std::uint64_t> seeds_;            // of the teaching stream
  std::vector<std::size_t> supports_;           // one a member; empty without a support
  std::vector<torch::Tensor> device_supports_;  // a task each: [E, kMaxInstanceLevels] int64
  torch::Tensor device_seeds_;
  std::int64_t batch_;
  torch::Device device_;
  std::map<std::pair<std::size_t, std::size_t>, Place> places_;
};

}  // namespace rung::learn
