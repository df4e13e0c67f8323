// Members that are trained together on one device: the step, the evaluation, the checkpoint.
//
// On a CPU a trainer has one member and one thread (ensemble.h runs several side by side); on a GPU it has a
// whole ensemble, its step is recorded once as a CUDA graph, and nothing of it waits for the host.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rung/learn/device_stream.h"
#include "rung/learn/instance_source.h"
#include "rung/learn/lesson.h"
#include "rung/learn/optimiser.h"
#include "rung/records/member_progress.h"

namespace rung::learn {

struct FinalScore {
  std::vector<std::uint64_t> right, of;  // answers, a task each
  std::optional<int> carried_bits;       // TrainingPlan::carried_bits
};

class Trainer {
 public:
  Trainer(const TrainingPlan& plan, const Lesson& lesson, const Model& model, std::vector<MemberPlan> members,
          torch::Device device);

  // The file's numbers in place of every member's start. Errors: those of Model::load.
  Result<void> start_from(const Weights& weights);

  std::int64_t step_count() const { return step_; }
  bool finished() const;  // no member runs on
  // One step of every running member.
  void step();
  // Accuracy on fresh instances; adds a point to every running curve, ends members that reached their goal or
  // whose loss is NaN or infinite, and moves those on that have learned their stage. On a GPU this is where the host waits.
  void evaluate();
  // Every member on fresh instances at the tasks' own sizes.
  std::vector<FinalScore> final_scores();

  const std::vector<MemberProgress>& progress() const { return members_; }
  double recent_loss() const { return recent_loss_; }
  double recent_accuracy() const { return recent_accuracy_; }
  // The mean stage of the support of the members that ran at the last evaluation.
  double recent_stage() const { return recent_stage_; }
  std::int64_t tokens_per_step() const;

  Weights weights(std::int64_t member, const std::map<std::string, std::string>& notes) const;

  // The whole state in one file, which is there whole or not at all.
  Result<void> save(const std::string& path) const;
  // Errors: a checkpoint of another plan or architecture.
  Result<void> restore(const std::string& path);

 private:
  void compute(std::size_t stage, std::size_t which);  // forward, backward, update: queued work only
  struct Marks {
    std::vector<std::int64_t> right;  // a member each
    std::int64_t answers = 0;
  };
  // Instances first .. first + count - 1 of every member's evaluation stream, drawn from these stages of the
  // support, one a member (empty: from the whole).
  Marks marked(std::size_t stage, std::size_t which, std::int64_t first, std::int64_t count,
               const Leaves& leaves, const std::vector<std::size_t>& supports = {}) const;
  std::vector<std::vector<double>> accuracies(const std::vector<std::size_t>& supports = {});
  std::vector<std::size_t> support_stages() const;
  bool learning_a_part(const MemberProgress& member) const;
  // The fewest bits, up to kMostCarriedBits, with which a member loses no more than one answer of a hundred.
  void measure_carried_bits(std::vector<FinalScore>& scores);
  ForwardContext pass(bool training) const;
  void freeze(std::size_t member);

  TrainingPlan plan_;
  const Lesson& lesson_;
  const Model& model_;
  torch::Device device_;
  std::vector<MemberProgress> members_;
  Parameters parameters_;
  Optimiser optimiser_;
  std::optional<ActivationRounding> rounding_, measuring_;  // in training; at the end
  torch::Tensor seeds_;                                     // [E] int64
  InstanceSource source_;
  torch::Tensor loss_sum_;  // [E] float32 since the last evaluation
  std::int64_t step_ = 0, summed_ = 0;
  double recent_loss_ = 0, recent_accuracy_ = 0, recent_stage_ = 0;
  std::map<std::pair<std::size_t, std::size_t>, RecordedStep> recorded_;
};

}  // namespace rung::learn
