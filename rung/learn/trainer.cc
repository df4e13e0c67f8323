#include "rung/learn/trainer.h"

#include <ATen/Context.h>

#include <algorithm>
#include <cmath>

#include "rung/learn/answer_loss.h"
#include "rung/learn/plateau.h"

namespace rung::learn {
namespace {

std::vector<std::uint64_t> seeds_of(const std::vector<MemberPlan>& members) {
  std::vector<std::uint64_t> seeds;
  for (const MemberPlan& member : members) seeds.push_back(member.seed);
  return seeds;
}
std::vector<double> scales_of(const std::vector<MemberPlan>& members) {
  std::vector<double> scales;
  for (const MemberPlan& member : members) scales.push_back(member.scale);
  return scales;
}
// Final instances lie far beyond those of any evaluation during training.
constexpr std::int64_t kFinalInstances = std::int64_t{1} << 41;
constexpr int kMostCarriedBits = 16;

}  // namespace

Trainer::Trainer(const TrainingPlan& plan, const Lesson& lesson, const Model& model,
                 std::vector<MemberPlan> members, torch::Device device)
    : plan_(plan),
      lesson_(lesson),
      model_(model),
      device_(device),
      parameters_(model.layout(), seeds_of(members), scales_of(members), device, element_type(plan)),
      optimiser_(plan, members, model.layout(), parameters_),
      source_(lesson, seeds_of(members), plan.batch, device),
      loss_sum_(torch::zeros({static_cast<std::int64_t>(members.size())},
                             torch::TensorOptions(torch::kFloat32).device(device))) {
  for (MemberPlan& member : members) members_.push_back({.plan = member});
  if (plan.round_bits) rounding_.emplace(*plan.round_bits);
  if (plan.carry_bits) rounding_.emplace(*plan.carry_bits, ActivationRounding::Places::carried);
  if (device.is_cuda()) at::globalContext().setAllowTF32CuBLAS(plan.precision != ComputeType::fp32);
  std::vector<std::int64_t> seeds;
  for (const MemberProgress& member : members_) seeds.push_back(static_cast<std::int64_t>(member.plan.seed));
  seeds_ = torch::tensor(seeds, torch::kLong).to(device);
}

bool Trainer::finished() const {
  if (step_ >= plan_.steps) return true;
  for (const MemberProgress& member : members_)
    if (member.state == RecordState::running) return false;
  return true;
}

ForwardContext Trainer::pass(bool training) const {
  ForwardContext pass;
  pass.training = training;
  pass.dropout = plan_.dropout;
  pass.seeds = seeds_, pass.step = optimiser_.count;
  const auto& rounding = measuring_ ? measuring_ : rounding_;
  if (measuring_ || rounds_at(plan_, step_)) pass.rounding = const_cast<ActivationRounding*>(&*rounding);
  return pass;
}

Result<void> Trainer::start_from(const Weights& weights) {
  for (std::size_t e = 0; e < members_.size(); ++e)
    RUNG_CHECK(model_.load(weights, parameters_, static_cast<std::int64_t>(e)));
  return {};
}

void Trainer::compute(std::size_t stage, std::size_t which) {
  const Batch& batch = source_.next(stage, which, step_, optimiser_.count);
  parameters_.gradient.zero_();
  loss_sum_.add_(teach(model_, batch, parameters_.leaves, pass(true), plan_.smoothing).loss);
  optimiser_.step(parameters_);
}

void Trainer::step() {
  const std::size_t stage = stage_at(plan_, step_), which = lesson_.task_at(step_);
  if (!device_.is_cuda()) {
    compute(stage, which);
  } else {
    const bool rounding = rounds_at(plan_, step_);
    const auto key = std::make_pair(stage * 2 + (rounding ? 1 : 0), which);
    auto found = recorded_.find(key);
    if (found == recorded_.end()) {
      // Rehearsals train: everything that they change is put back.
      const torch::NoGradGuard no_grad;
      const std::vector<torch::Tensor> state{parameters_.master, optimiser_.first, optimiser_.second,
                                             optimiser_.count,   optimiser_.alive, loss_sum_};
      std::vector<torch::Tensor> before;
      for (const torch::Tensor& tensor : state) before.push_back(tensor.clone());
      std::map<std::string, torch::Tensor> seen;
      if (rounding_)
        for (const auto& [name, largest] : rounding_->largest) seen[name] = largest.clone();
      found = recorded_
                  .emplace(key, RecordedStep(
                                    [&] {
                                      const torch::AutoGradMode with_gradients(true);
                                      compute(stage, which);
                                    },
                                    recorded_.empty() ? nullptr : &recorded_.begin()->second))
                  .first;
      for (std::size_t i = 0; i < state.size(); ++i) state[i].copy_(before[i]);
      if (rounding_)
        for (auto& [name, largest] : rounding_->largest)
          if (seen.contains(name)) largest.copy_(seen[name]);
      parameters_.refresh();
    }
    if (!source_.on_device(stage, which)) source_.fill(stage, which, step_);
    found->second.replay();
  }
  ++step_;
  ++summed_;
}

Trainer::Marks Trainer::marked(std::size_t stage, std::size_t which, std::int64_t first, std::int64_t count,
                               const Leaves& leaves, const std::vector<std::size_t>& supports) const {
  const torch::NoGradGuard no_grad;
  std::vector<std::uint64_t> streams;
  for (const MemberProgress& member : members_) streams.push_back(evaluation_stream(member.plan.seed));
  torch::Tensor right;
  Marks marks;
  for (std::int64_t done = 0; done < count; done += plan_.batch) {
    Batch batch = lesson_.draw({stage, which, streams, first + done, std::min(plan_.batch, count - done),
                                false, device_.is_cuda(), supports});
    batch.move_to(device_);
    const Graded graded = grade(model_.forward(batch.inputs, leaves, pass(false)), batch, 0, nullptr);
    // A chain of thought is right when all of it is: then, and only then, the model left to itself writes the
    // same.
    const bool chained = plan_.supervision == Supervision::chain;
    const torch::Tensor some =
        chained ? graded.each.view({static_cast<std::int64_t>(members_.size()), -1, batch.answers})
                      .amin(-1)
                      .sum(1)
                : graded.right;
    right = right.defined() ? right + some : some;
    marks.answers += batch.targets.size(1) / (chained ? batch.answers : 1);
  }
  const torch::Tensor counts = right.to(torch::kCPU).to(torch::kLong);
  for (std::size_t e = 0; e < members_.size(); ++e)
    marks.right.push_back(counts[static_cast<std::int64_t>(e)].item<std::int64_t>());
  return marks;
}

std::vector<std::size_t> Trainer::support_stages() const {
  std::vector<std::size_t> stages;
  for (const MemberProgress& member : members_) stages.push_back(member.stage);
  return stages;
}

bool Trainer::learning_a_part(const MemberProgress& member) const {
  return member.state == RecordState::running && member.stage + 1 < lesson_.supports();
}

std::vector<std::vector<double>> Trainer::accuracies(const std::vector<std::size_t>& supports) {
  const std::size_t stage = stage_at(plan_, std::max<std::int64_t>(0, step_ - 1));
  // The ordinal of the evaluation: the last one may come before its time, on instances of its own.
  const std::int64_t first = (step_ + plan_.evaluate_every - 1) / plan_.evaluate_every * plan_.evaluate_count;
  std::vector<std::vector<double>> out(members_.size());
  for (std::size_t which = 0; which < lesson_.tasks(); ++which) {
    const Marks marks = marked(stage, which, first, plan_.evaluate_count, parameters_.leaves, supports);
    for (std::size_t e = 0; e < members_.size(); ++e)
      out[e].push_back(static_cast<double>(marks.right[e]) / static_cast<double>(marks.answers));
  }
  return out;
}

void Trainer::freeze(std::size_t member) {
  const torch::NoGradGuard no_grad;
  optimiser_.alive[static_cast<std::int64_t>(member)] = 0;
}

void Trainer::evaluate() {
  const auto accuracy = accuracies();
  const bool parts = std::any_of(members_.begin(), members_.end(),
                                 [this](const MemberProgress& member) { return learning_a_part(member); });
  const auto of_stage = parts ? accuracies(support_stages()) : accuracy;
  const torch::Tensor losses = loss_sum_.to(torch::kCPU), alive = optimiser_.alive.to(torch::kCPU);
  double loss_total = 0, accuracy_total = 0, stage_total = 0;
  std::int64_t running = 0;
  for (std::size_t e = 0; e < members_.size(); ++e) {
    MemberProgress& member = members_[e];
    if (member.state != RecordState::running) continue;
    const double loss = losses[static_cast<std::int64_t>(e)].item<double>() /
                        static_cast<double>(std::max<std::int64_t>(1, summed_));
    member.steps = step_;
    if (!std::isfinite(loss) || alive[static_cast<std::int64_t>(e)].item<int>() == 0) {
      member.state = RecordState::failed;
      member.reason = fmt::format("the loss or its gradient was NaN or infinite between steps {} and {}",
                                  step_ - summed_, step_);
      freeze(e);
      continue;
    }
    const std::size_t stage = plan_.support.empty() ? stage_at(plan_, step_ - 1) : member.stage;
    member.curve.push_back({step_, static_cast<std::int64_t>(stage), loss, accuracy[e]});
    const double lowest = *std::min_element(accuracy[e].begin(), accuracy[e].end());
    loss_total += loss, accuracy_total += lowest, stage_total += static_cast<double>(stage), ++running;
    // A goal counts for the model that is asked for: at the tasks' own sizes, rounded if it is to be.
    const bool last_stage =
        stage_at(plan_, step_ - 1) + 1 == lesson_.stages() && (!rounding_ || rounds_at(plan_, step_ - 1));
    member.reached = plan_.stop && last_stage && lowest >= *plan_.stop ? member.reached + 1 : 0;
    Pace now;
    if (plan_.patience > 0) now = pace(plan_, member.curve), optimiser_.slow(e, now.share);
    if (member.reached >= 2 || now.at_rest || step_ >= plan_.steps) {
      member.state = RecordState::done;
      freeze(e);
    }
    if (learning_a_part(member) && *std::min_element(of_stage[e].begin(), of_stage[e].end()) >= plan_.advance)
      ++member.stage;
  }
  if (parts) source_.set_supports(support_stages());
  if (running > 0)
    recent_loss_ = loss_total / static_cast<double>(running),
    recent_accuracy_ = accuracy_total / static_cast<double>(running),
    recent_stage_ = stage_total / static_cast<double>(running);
  loss_sum_.zero_();
  summed_ = 0;
}

std::vector<FinalScore> Trainer::final_scores() {
  const torch::NoGradGuard no_grad;
  const std::size_t stage = lesson_.stages() - 1;
  std::vector<FinalScore> scores(members_.size());
  for (std::size_t which = 0; which < lesson_.tasks(); ++which) {
    const Marks marks =
        marked(stage, which, kFinalInstances, plan_.final_count, parameters_.float_leaves(model_.layout()));
    for (std::size_t e = 0; e < members_.size(); ++e) {
      scores[e].right.push_back(static_cast<std::uint64_t>(marks.right[e]));
      scores[e].of.push_back(static_cast<std::uint64_t>(marks.answers));
    }
  }
  for (FinalScore& score : scores) score.carried_bits = plan_.carry_bits;
  if (plan_.carried_bits) measure_carried_bits(scores);
  return scores;
}

void Trainer::measure_carried_bits(std::vector<FinalScore>& scores) {
  const Leaves leaves = parameters_.float_leaves(model_.layout());
  // The range of every coordinate first, over the same instances: states grow along a prompt.
  measuring_.emplace(kMostCarriedBits, ActivationRounding::Places::carried);
  measuring_->watching = true;
  for (std::size_t which = 0; which < lesson_.tasks(); ++which)
    marked(lesson_.stages() - 1, which, kFinalInstances, plan_.final_count, leaves);
  const auto largest = measuring_->largest;
  // Any rounding to 2^p values will do: with all of the range, or with less of it where what is far out does not matter.
  const auto does_as_well = [&](int bits, double share) {
    std::vector<bool> enough(members_.size(), true);
    measuring_.emplace(bits, ActivationRounding::Places::carried);
    for (const auto& [name, most] : largest) measuring_->largest[name] = share * most;
    for (std::size_t which = 0; which < lesson_.tasks(); ++which) {
      const Marks marks = marked(lesson_.stages() - 1, which, kFinalInstances, plan_.final_count, leaves);
      for (std::size_t e = 0; e < members_.size(); ++e)
        enough[e] = enough[e] && 100 * (static_cast<std::int64_t>(scores[e].right[which]) - marks.right[e]) <=
                                     marks.answers;
    }
    return enough;
  };
  for (int bits = 1; bits <= kMostCarriedBits; ++bits) {
    for (const double share : {1.0, 0.5, 0.25}) {
      const std::vector<bool> enough = does_as_well(bits, share);
      for (std::size_t e = 0; e < members_.size(); ++e)
        if (enough[e] && !scores[e].carried_bits) scores[e].carried_bits = bits;
    }
    if (std::all_of(scores.begin(), scores.end(), [](const FinalScore& s) { return s.carried_bits; })) break;
  }
  measuring_.reset();
}

std::int64_t Trainer::tokens_per_step() const {
  return static_cast<std::int64_t>(members_.size()) * plan_.batch *
         lesson_.length(stage_at(plan_, step_), lesson_.task_at(step_));
}

Weights Trainer::weights(std::int64_t member, const std::map<std::string, std::string>& notes) const {
  std::map<std::string, std::string> all = notes;
  if (plan_.round_bits)
    for (const auto& [name, fraction] : rounding_->fractions(member))
      all["fraction." + name] = std::to_string(fraction);
  return model_.weights(parameters_, member, all);
}

}  // namespace rung::learn
