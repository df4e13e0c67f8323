// Models to attack: random weights and constructions, made in memory.
#pragma once

#include <gtest/gtest.h>

#include "rung/adversary/attack.h"
#include "rung/constructions/construction.h"
#include "rung/exact/random_model.h"
#include "rung/spec/safetensors.h"

namespace rung {

inline std::shared_ptr<const Task> task_of(const std::string& name, const TaskSizes& sizes,
                                           const std::map<std::string, std::string>& options = {}) {
  auto task = make_task(name, sizes, options);
  RUNG_REQUIRE(task.ok(), "{}", task.error().message);
  return std::shared_ptr<const Task>(std::move(*task));
}

struct RandomTarget {
  std::string architecture;
  std::int64_t width = 4;
  int precision = 6;
  std::optional<std::int64_t> accumulator_bits = {};
  Accumulator accumulator = Accumulator::wrap;
  std::vector<std::int64_t> mlp = {};
  PositionCode position = PositionCode::table;
  std::uint64_t seed = 1;
};

inline Target random_target(const RandomTarget& wanted, std::shared_ptr<const Task> task) {
  auto stack = parse_stack(wanted.architecture);
  RUNG_REQUIRE(stack.ok(), "{}", stack.error().message);
  RandomModel model{.architecture = {*stack, {}}, .accumulator = wanted.accumulator, .seed = wanted.seed};
  auto& d = model.architecture.dimensions;
  d.width = wanted.width;
  d.mlp = wanted.mlp;
  d.mlp_given = true;
  d.position = wanted.position;
  d.precision.bits = wanted.precision;
  d.accumulator_bits = wanted.accumulator_bits;
  d.context = task->prompt_length();
  model.fields = task->fields();
  d.vocabulary = model.fields[0].size;
  const auto answer = task->answer_spec();
  model.output = {OutputSpec::Kind::logits, answer.kind == AnswerSpec::Kind::boolean ? 2 : answer.size, 0};
  if (answer.kind == AnswerSpec::Kind::vector)
    model.output = {OutputSpec::Kind::vector, answer.size, answer.fraction};
  auto weights = random_weights(model);
  RUNG_REQUIRE(weights.ok(), "{}", weights.error().message);
  auto target = make_target(std::move(*weights), std::move(task));
  RUNG_REQUIRE(target.ok(), "{}", target.error().message);
  target->model_sha256 = sha256("");
  return std::move(*target);
}

// The same model with other weights; the tensor must exist.
inline Target with_tensors(Target target, const std::map<std::string, std::vector<std::int64_t>>& changes) {
  for (const auto& [name, values] : changes) {
    auto& tensor = target.weights.tensors.at(name);
    tensor = integer_tensor(tensor.shape, values);
  }
  auto changed = make_target(std::move(target.weights), target.task);
  RUNG_REQUIRE(changed.ok(), "{}", changed.error().message);
  changed->model_sha256 = sha256("");
  return std::move(*changed);
}

// One layer of linear attention, unnormalised, whose value is the token itself and whose key depends on the
// position alone:
// f adds f(i) times a key of `entries` numbers of `bits` bits.
inline Target linear_values_target(std::int64_t n, std::int64_t entries, int bits, Accumulator accumulator,
                                   std::optional<std::int64_t> accumulator_bits) {
  auto target = random_target(
      {.architecture = fmt::format("linear(heads=1,dim={},vdim=1,feature=identity,normalised=no)", entries),
       .width = 16,
       .precision = bits,
       .accumulator_bits = accumulator_bits,
       .accumulator = accumulator},
      task_of("eva", {{"n", n}}));
  const auto numbers = [&](const std::string& name) {
    std::vector<std::int64_t> values;
    const auto& tensor = target.weights.tensors.at(name);
    for (std::int64_t i = 0; i < tensor.size(); ++i) values.push_back(tensor.integer(i));
    return values;
  };
  auto token = numbers("embed.token.table"), position = numbers("embed.position.table"),
       key = numbers("layers.0.k.weight"), value = numbers("layers.0.v.weight");
  for (std::size_t i = 0; i < token.size(); ++i)
    token[i] = i % 16 == 0 ? static_cast<std::int64_t>(i / 16) : 0;
  for (std::size_t i = 0; i < position.size(); i += 16) position[i] = 0;
  for (std::size_t i = 0; i < key.size(); i += 16) key[i] = 0;
  for (std::size_t i = 0; i < value.size(); ++i) value[i] = i == 0;
  return with_tensors(std::move(target), {{"embed.token.table", token},
                                          {"embed.position.table", position},
                                          {"layers.0.k.weight", key},
                                          {"layers.0.v.weight", value},
                                          {"layers.0.v.shift", {0}}});
}

inline Target constructed_target(const std::string& name, const TaskSizes& sizes,
                                 const std::map<std::string, std::string>& options = {}) {
  auto built = build_construction({.name = name, .sizes = sizes, .options = options});
  RUNG_REQUIRE(built.ok(), "{}", built.error().message);
  auto target = make_target(std::move(built->weights), built->task);
  RUNG_REQUIRE(target.ok(), "{}", target.error().message);
  target->model_sha256 = sha256("");
  return std::move(*target);
}

// What a fooling pair claims, checked once more by hand.
inline void expect_fooling_pair(const Target& target, const Result<AttackOutcome>& outcome) {
  ASSERT_TRUE(outcome);
  ASSERT_EQ(outcome->verdict, Evidence::refuted) << outcome->reason;
  const auto& claim = std::get<FoolingPairClaim>(outcome->certificate->claim);
  const std::vector<std::int64_t> wanted{claim.pair.position};
  const auto one = target.machine->forward(claim.pair.first, wanted),
             two = target.machine->forward(claim.pair.second, wanted);
  ASSERT_TRUE(one && two);
  EXPECT_EQ((*one)[0].activation, (*two)[0].activation);
  EXPECT_NE(target.task->answer(claim.pair.first), target.task->answer(claim.pair.second));
  for (const auto& [name, text] : outcome->details) testing::Test::RecordProperty(name, text);
}

}  // namespace rung
