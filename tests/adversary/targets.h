// Models to attack: random weights and constructions, made in memory.
#pragma once

#include <gtest/gtest.h>

#include "rung/adversary/attack.h"
#include "rung/constructions/construction.h"
#include "rung/exact/random_model.h"

namespace rung {

inline std::shared_ptr<const Task> task_of(const std::string& name, const TaskSizes& sizes) {
  auto task = make_task(name, sizes);
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
  auto weights = random_weights(model);
  RUNG_REQUIRE(weights.ok(), "{}", weights.error().message);
  auto target = make_target(std::move(*weights), std::move(task));
  RUNG_REQUIRE(target.ok(), "{}", target.error().message);
  target->model_sha256 = sha256("");
  return std::move(*target);
}

inline Target constructed_target(const std::string& name, const TaskSizes& sizes, const std::map<std::string, std::string>& options = {}) {
  auto built = build_construction({.name = name, .sizes = sizes, .options = options});
  RUNG_REQUIRE(built.ok(), "{}", built.error().message);
  auto target = make_target(std::move(built->weights), built->task);
  RUNG_REQUIRE(target.ok(), "{}", target.error().message);
  target->model_sha256 = sha256("");
  return std::move(*target);
}

}  // namespace rung
