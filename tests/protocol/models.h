// Random models for the tests of protocols: any line of the language, small heads, whatever the task carries.
#pragma once

#include <string>

#include "rung/exact/random_model.h"
#include "rung/tasks/task.h"

namespace rung {

struct ModelSizes {
  std::int64_t width = 8, heads = 2, state = 3, mlp = 6;
  int bits = 8;
  Accumulator accumulator = Accumulator::wrap;
  Norm norm = Norm::none;
  MlpActivation activation = MlpActivation::relu;
};

inline Weights random_model(const std::string& line, const Task& task, std::uint64_t seed,
                            const ModelSizes& sizes = {}) {
  RandomModel model;
  model.architecture.stack = *parse_stack(line);
  auto& d = model.architecture.dimensions;
  d.width = sizes.width;
  d.heads = sizes.heads;
  d.state = sizes.state;
  if (sizes.mlp > 0) d.mlp = {sizes.mlp};
  d.mlp_given = true;
  d.norm = sizes.norm;
  d.activation = sizes.activation;
  model.fields = task.fields();
  d.vocabulary = model.fields[0].size;
  d.context = task.prompt_length();
  d.precision.bits = sizes.bits;
  const AnswerSpec answer = task.answer_spec();
  model.output = {OutputSpec::Kind::logits, answer.kind == AnswerSpec::Kind::boolean ? 2 : answer.size, 0};
  model.accumulator = sizes.accumulator;
  model.seed = seed;
  auto weights = random_weights(model);
  RUNG_REQUIRE(weights, "{}: {}", line, weights.error().message);
  return *weights;
}

}  // namespace rung
