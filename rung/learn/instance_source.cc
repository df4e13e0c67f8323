#include "rung/learn/instance_source.h"

#include "rung/learn/device_stream.h"
#include "rung/learn/kernels/task_instances.h"

namespace rung::learn {
InstanceSource::InstanceSource(const Lesson& lesson, std::vector<std::uint64_t> seeds, std::int64_t batch,
                               torch::Device device)
    : lesson_(lesson), batch_(batch), device_(device) {
  for (const std::uint64_t seed : seeds) seeds_.push_back(teaching_stream(seed));
  std::vector<std::int64_t> bits(seeds_.begin(), seeds_.end());
  device_seeds_ = torch::tensor(bits, torch::kLong).to(device);
  if (lesson.supports() > 1) set_supports(std::vector<std::size_t>(seeds.size(), 0));
}

void InstanceSource::set_supports(const std::vector<std::size_t>& stages) {
  supports_ = stages;
  if (!device_.is_cuda()) return;
  device_supports_.resize(lesson_.tasks());
  for (std::size_t which = 0; which < lesson_.tasks(); ++which) {
    std::vector<std::int64_t> sizes;
    for (const std::size_t stage : stages) {
      const kernels::InstanceSupport support = lesson_.support(stage, which);
      sizes.insert(sizes.end(), std::begin(support.size), std::end(support.size));
    }
    const torch::Tensor made = torch::tensor(sizes, torch::kLong);
    torch::Tensor& there = device_supports_[which];
    // Where a recorded step reads it.
    if (there.defined())
      there.copy_(made);
    else
      there = made.to(device_);
  }
}

bool InstanceSource::on_device(std::size_t stage, std::size_t which) const {
  return device_.is_cuda() && lesson_.instance_task(stage, which).has_value();
}

InstanceSource::Place& InstanceSource::place(std::size_t stage, std::size_t which) {
  auto found = places_.find({stage, which});
  if (found != places_.end()) return found->second;
  Place made;
  // The first batch, drawn on the host, has every shape that the later ones have.
  made.batch = lesson_.draw({stage, which, seeds_, 0, batch_, true});
  made.batch.move_to(device_);
  if (on_device(stage, which)) {
    const kernels::InstanceTask task = *lesson_.instance_task(stage, which);
    if (task.gap_weights)  // unsigned numbers, bit for bit
      made.gap_weights =
          torch::from_blob(const_cast<std::uint64_t*>(task.gap_weights), {task.queries}, torch::kLong)
              .to(device_);
    if (const auto automaton = task.automaton; automaton.next) {
      const std::int64_t entries = automaton.states * automaton.letters;
      // Unsigned numbers, bit for bit.
      made.next =
          torch::from_blob(const_cast<std::uint32_t*>(automaton.next), {entries}, torch::kInt32).to(device_);
      made.out = torch::from_blob(const_cast<std::int64_t*>(automaton.out), {automaton.states}, torch::kLong)
                     .to(device_);
    }
  }
  return places_.emplace(std::make_pair(stage, which), std::move(made)).first->second;
}

void InstanceSource::fill(std::size_t stage, std::size_t which, std::int64_t step) {
  Place& to = place(stage, which);
  Batch drawn =
      lesson_.draw({stage, which, seeds_, step * batch_, batch_, true, device_.is_cuda(), supports_});
  if (!device_.is_cuda()) {
    to.batch = std::move(drawn);
    return;
  }
  for (std::size_t f = 0; f < drawn.inputs.fields.size(); ++f)
    to.batch.inputs.fields[f].copy_(drawn.inputs.fields[f].pin_memory(), true);
  to.batch.targets.copy_(drawn.targets.pin_memory(), true);
  if (drawn.inputs.wanted.dim() == 3) to.batch.inputs.wanted.copy_(drawn.inputs.wanted.pin_memory(), true);
  if (drawn.between.defined()) to.batch.between.copy_(drawn.between.pin_memory(), true);
}

const Batch& InstanceSource::next(std::size_t stage, std::size_t which, std::int64_t step,
                                  const torch::Tensor& count) {
  if (!device_.is_cuda()) {
    fill(stage, which, step);
    return place(stage, which).batch;
  }
  Place& to = place(stage, which);
  if (!on_device(stage, which)) return to.batch;
  kernels::InstanceTask task = *lesson_.instance_task(stage, which);
  const auto members = static_cast<std::int64_t>(seeds_.size());
  const auto ints = torch::TensorOptions(torch::kInt32).device(device_);
  if (!to.tokens.defined()) {
    to.tokens =
        torch::empty({members, batch_, kernels::instance_fields(task), kernels::instance_length(task)}, ints);
    to.scratch = torch::empty(
        {std::max<std::int64_t>(1, kernels::task_instances_scratch(task, members, batch_))}, ints);
  }
  if (to.next.defined()) {
    task.automaton.next = reinterpret_cast<const std::uint32_t*>(to.next.data_ptr<std::int32_t>());
    task.automaton.out = to.out.data_ptr<std::int64_t>();
  }
  if (to.gap_weights.defined())
    task.gap_weights = reinterpret_cast<const std::uint64_t*>(to.gap_weights.data_ptr<std::int64_t>());
  kernels::InstanceBatch batch;
  batch.members = members, batch.batch = batch_;
  batch.seed = reinterpret_cast<const std::uint64_t*>(device_seeds_.data_ptr<std::int64_t>());
  batch.step = count.data_ptr<std::int64_t>();
  static_assert(sizeof(kernels::InstanceSupport) == kernels::kMaxInstanceLevels * sizeof(std::int64_t));
  if (!device_supports_.empty())
    batch.support =
        reinterpret_cast<const kernels::InstanceSupport*>(device_supports_[which].data_ptr<std::int64_t>());
  batch.whole = lesson_.whole_rows(batch_);
  batch.tokens = to.tokens.data_ptr<std::int32_t>();
  if (to.batch.between.defined()) batch.between = to.batch.between.data_ptr<std::int64_t>();
  if (to.batch.inputs.wanted.dim() == 3) batch.places = to.batch.inputs.wanted.data_ptr<std::int64_t>();
  batch.answers = to.batch.targets.data_ptr<std::int64_t>();
  check_device(
      kernels::task_instances_cuda(task, batch, to.scratch.data_ptr<std::int32_t>(), current_stream()),
      "task_instances");
  for (std::size_t f = 0; f < to.batch.inputs.fields.size(); ++f)
    to.batch.inputs.fields[f].copy_(to.tokens.select(2, static_cast<std::int64_t>(f)));
  return to.batch;
}

}  // namespace rung::learn
