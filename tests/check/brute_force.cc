#include "tests/check/brute_force.h"

#include <map>
#include <nlohmann/json.hpp>

#include "rung/exact/random_model.h"
#include "tests/check/model_bytes.h"

namespace rung {
namespace {

using Numbers = std::vector<std::int64_t>;

}  // namespace

std::shared_ptr<const Task> task_of(const std::string& name, const TaskSizes& sizes,
                                    const std::map<std::string, std::string>& options) {
  auto task = make_task(name, sizes, options);
  RUNG_REQUIRE(task.ok(), "{}", task.error().message);
  return std::shared_ptr<const Task>(std::move(*task));
}

Issued issue(const std::string& name, const Weights* weights, const Task& task, Claim claim) {
  Issued out{name, "", weights ? model_bytes(*weights) : ""};
  const Certificate certificate{
      weights ? sha256(out.model) : "", certified_task(task), std::move(claim), {{"method", "brute force"}}};
  out.certificate = certificate_text(certificate);
  if (weights) out.weights = *weights;
  return out;
}

std::unique_ptr<Machine> machine_of(const Weights& weights, const Task& task) {
  auto machine = Machine::load(weights, {.positions = task.prompt_length() + weights.decode.steps,
                                         .unrounded = weights.mode == WeightMode::real});
  RUNG_REQUIRE(machine.ok(), "{}", machine.error().message);
  return std::move(*machine);
}
Readout last_readout(const Machine& machine, const Prompt& prompt) {
  const Numbers wanted{prompt.positions - 1};
  auto readouts = machine.forward(prompt, wanted);
  RUNG_REQUIRE(readouts.ok(), "{}", readouts.error().message);
  return std::move(readouts->front());
}
EndAlike end_alike(const Machine& machine, const Task& task, const Prompt& first, const Prompt& second,
                   ClaimLabel label) {
  const Readout end = last_readout(machine, first);
  RUNG_REQUIRE(last_readout(machine, second).activation == end.activation, "the prompts do not end alike");
  return {
      first, second, first.positions - 1, end.activation, end.answer, task.answer(first), task.answer(second),
      label};
}

Issued wrong_answer(const std::string& name, const Weights& weights, const Task& task) {
  const auto machine = machine_of(weights, task);
  std::optional<Issued> found;
  enumerate(task, [&](const Instance& instance) {
    const auto answer = last_readout(*machine, instance.prompt).answer;
    if (answer != instance.answer)
      found =
          issue(name, &weights, task,
                WrongAnswerClaim{instance.prompt, instance.prompt.positions - 1, answer, instance.answer});
    return !found;
  });
  RUNG_REQUIRE(found, "{} is never wrong", name);
  return *found;
}

Issued fooling_pair(const std::string& name, const Weights& weights, const Task& task) {
  const auto machine = machine_of(weights, task);
  std::map<Numbers, Instance> seen;  // by activation at the end
  std::optional<Issued> found;
  enumerate(task, [&](const Instance& instance) {
    const auto [first, fresh] = seen.emplace(last_readout(*machine, instance.prompt).activation, instance);
    if (!fresh && first->second.answer != instance.answer)
      found = issue(name, &weights, task,
                    FoolingPairClaim{end_alike(*machine, task, first->second.prompt, instance.prompt), {}});
    return !found;
  });
  RUNG_REQUIRE(found, "{} has no pair", name);
  return *found;
}

Weights random_model(const std::string& line, const Task& task, std::int64_t width, int precision,
                     std::uint64_t seed, PositionCode position) {
  auto stack = parse_stack(line);
  RUNG_REQUIRE(stack.ok(), "{}", stack.error().message);
  RandomModel model{
      .architecture = {*stack, {}}, .fields = task.fields(), .accumulator = Accumulator::wrap, .seed = seed};
  auto& d = model.architecture.dimensions;
  d.width = width;
  d.mlp = {};
  d.mlp_given = true;
  d.position = position;
  d.precision.bits = precision;
  d.context = task.prompt_length();
  d.vocabulary = model.fields[0].size;
  const auto answer = task.answer_spec();
  model.output = {OutputSpec::Kind::logits, answer.kind == AnswerSpec::Kind::boolean ? 2 : answer.size, 0};
  if (answer.kind == AnswerSpec::Kind::vector)
    model.output = {OutputSpec::Kind::vector, answer.size, answer.fraction};
  auto weights = random_weights(model);
  RUNG_REQUIRE(weights.ok(), "{}", weights.error().message);
  return std::move(*weights);
}

Issued brute_force_collision(const std::string& name, const Weights& weights, const Task& task,
                             std::int64_t cut, std::optional<std::int64_t> alphabet) {
  const auto machine = machine_of(weights, task);
  using States = std::vector<Numbers>;
  std::map<std::pair<States, Numbers>, Instance>
      seen;  // by the states after the cut, what follows it, and how it ends
  std::optional<Issued> found;
  enumerate(task, [&](const Instance& instance) {
    auto session = machine->start();
    RUNG_REQUIRE(session.ok(), "{}", session.error().message);
    for (std::int64_t t = 0; t < cut; ++t)
      RUNG_REQUIRE((*session)->append(prompt_row(instance.prompt, weights.fields, t), false).ok(), "t={}", t);
    Numbers rest;
    for (std::int64_t t = cut; t < instance.prompt.positions; ++t)
      for (const auto value : prompt_row(instance.prompt, weights.fields, t)) rest.push_back(value);
    const auto states = (*session)->state();
    for (const auto value : last_readout(*machine, instance.prompt).activation) rest.push_back(value);
    const auto [first, fresh] = seen.emplace(std::pair(states, rest), instance);
    if (fresh || first->second.answer == instance.answer) return true;
    std::int64_t numbers = 0;
    for (const auto& layer : states) numbers += static_cast<std::int64_t>(layer.size());
    const std::int64_t bits = weights.architecture.dimensions.accumulator_bits.value_or(
        weights.architecture.dimensions.precision.bits);
    const auto label = alphabet ? ClaimLabel::forced : ClaimLabel::found;
    CollisionClaim claim{end_alike(*machine, task, first->second.prompt, instance.prompt, label), cut, states,
                         numbers * bits, alphabet};
    found = issue(name, &weights, task, claim);
    return false;
  });
  RUNG_REQUIRE(found, "{} has no collision", name);
  return *found;
}

}  // namespace rung
