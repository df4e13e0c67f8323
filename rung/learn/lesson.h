// What a model is taught: tasks, mixed or in stages, as batches of tensors, and the model that can be asked
// them.
//
// Determinism: row b of a batch is Task::generate(variant, seed of the member, first + b) and the further
// questions of that row, whatever the ensemble, the device or the number of threads. Training and evaluation
// draw from streams of their own (below).
#pragma once

#include <cmath>
#include <memory>
#include <vector>

#include "rung/learn/instance_task.h"
#include "rung/learn/model.h"
#include "rung/records/training_plan.h"

namespace rung::learn {

// The element type of a plan's compute copy.
inline torch::ScalarType element_type(const TrainingPlan& plan) {
  return plan.precision == ComputeType::bf16 ? torch::kBFloat16 : torch::kFloat32;
}

struct Batch {
  Inputs inputs;
  torch::Tensor targets;     // [E, B * Q] int64, or [E, B * Q, size] float32 for vectors
  torch::Tensor between;     // [L - 1, E, B * Q] int64 of deep supervision; else undefined
  std::int64_t answers = 0;  // Q
  double tolerance = 0;      // vectors: in units of the numbers

  void move_to(torch::Device device);
};

class Lesson {
 public:
  // Errors: a task that cannot be made, tasks that do not fit one model (other fields, a vector beside
  // tokens), a variant or a chain of thought that a task does not have.
  static Result<Lesson> make(const TrainingPlan& plan);
  Lesson(Lesson&&) = default;

  // The plan's architecture with the tasks' fields, outputs and context.
  Result<ModelSpec> model_spec() const;

  // Stages 0 .. stages() - 1; the last one has the tasks' own sizes.
  std::size_t stages() const { return stages_.size(); }
  std::size_t tasks() const { return stages_.front().size(); }
  const Task& task(std::size_t stage, std::size_t which) const { return *stages_[stage][which]; }
  // The task of a step: each in proportion to its weight, spread evenly.
  std::size_t task_at(std::int64_t step) const;
  std::int64_t length(std::size_t stage, std::size_t which) const;  // positions of a prompt as it is taught
  // The largest number of positions of any stage.
  std::int64_t longest() const;
  // Automaton tasks without positions: the model reads words of any length, and its file has no context.
  bool free_length() const;

  // Stages of the support, which every member passes at its own pace; the last is the whole of the tasks.
  std::size_t supports() const { return plan_.support.size() + 1; }
  // Rows of a batch of so many that are drawn from the whole all the same: the first ones.
  std::int64_t whole_rows(std::int64_t batch) const {
    return std::llround(plan_.whole * static_cast<double>(batch));
  }
  kernels::InstanceSupport support(std::size_t stage, std::size_t which) const {
    return supports_[stage][which];
  }

  struct Draw {
    std::size_t stage = 0, which = 0;
    std::vector<std::uint64_t> seeds;   // one a member, already of the stream
    std::int64_t first = 0, count = 1;  // instances first .. first + count - 1
    bool teaching = true;   // with the plan's extra questions and supervision; else every answer once
    bool parallel = false;  // on all cores
    std::vector<std::size_t> supports = {};  // stages of the support, one a member; empty: the whole
  };
  // On the host.
  Batch draw(const Draw& draw) const;

  // Every answer is taught, uniformly drawn, without a chain of thought.
  bool asks_plainly() const;
  // A task with the plan's variant, questions and chain of thought, for the kernels; nothing where they do not draw it.
  std::optional<kernels::InstanceTask> instance_task(std::size_t stage, std::size_t which) const;

 private:
  Lesson() = default;
  std::int64_t chain_length(const Task& task) const;
  std::int64_t spacing(const Task& task) const;  // positions from one question of a prompt to the next
  TrainingPlan plan_;
  std::vector<std::vector<std::unique_ptr<Task>>> stages_;
  std::vector<std::vector<kernels::InstanceSupport>> supports_;  // [stage][task]; empty without a support
  std::vector<FieldSpec> fields_;
  AnswerSpec answer_;
  std::int64_t outputs_ = 0, chain_ = 0;
};

// The top bit keeps them apart from every seed that a person gives to `rung eval` or `rung task`: what was
// taught, or decided when to stop, is never met again as a fresh instance.
inline constexpr std::uint64_t kLearningStreams = std::uint64_t{1} << 63;
inline std::uint64_t teaching_stream(std::uint64_t seed) { return kLearningStreams | (2 * seed); }
inline std::uint64_t evaluation_stream(std::uint64_t seed) { return kLearningStreams | (2 * seed + 1); }

}  // namespace rung::learn
