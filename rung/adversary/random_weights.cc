#include "rung/adversary/random_weights.h"

#include <algorithm>

#include "rung/base/ceil_lg.h"
#include "rung/tasks/task_record.h"

namespace rung {
namespace {

bool has_levels(const Mixer& mixer) {
  return mixer.kind == MixerKind::loglinear ||
         std::any_of(mixer.parts.begin(), mixer.parts.end(),
                     [](const HeadGroup& part) { return has_levels(part.mixer); });
}

}  // namespace

Result<Weights> random_weights_for(const Task& task, const RandomRequest& target) {
  RandomModel model;
  model.seed = target.seed;
  RUNG_TRY(model.architecture.stack, parse_stack(target.architecture));
  auto& dimensions = model.architecture.dimensions;
  dimensions.width = target.width;
  dimensions.heads = target.heads;
  dimensions.position = target.position.value_or(task.automaton() ? PositionCode::none : PositionCode::table);
  const auto& layers = model.architecture.stack.layers;
  const bool levels = std::any_of(layers.begin(), layers.end(), has_levels);
  const bool free_length = task.automaton() && dimensions.position == PositionCode::none && !levels;
  dimensions.context = free_length ? 0 : task.prompt_length();
  dimensions.precision = target.precision;
  // Sums that stop at their ends, unless the line says otherwise: what the theorems on automata speak about.
  if (task.automaton()) model.accumulator = Accumulator::round;
  model.fields = task.fields();
  dimensions.vocabulary = std::min(model.fields.front().size, kMaxSize);
  const AnswerSpec answer = task.answer_spec();
  constexpr std::int64_t kMostLogits = 4096;
  switch (answer.kind) {
    case AnswerSpec::Kind::boolean:
      model.output = {OutputSpec::Kind::threshold, 1, 0};
      break;
    case AnswerSpec::Kind::vector:
      model.output = {OutputSpec::Kind::vector, answer.size, answer.fraction};
      break;
    case AnswerSpec::Kind::token:
      model.output =
          answer.size <= kMostLogits
              ? OutputSpec{OutputSpec::Kind::logits, answer.size, 0}
              : OutputSpec{OutputSpec::Kind::binary, ceil_lg(static_cast<std::uint64_t>(answer.size)), 0};
  }
  dimensions.outputs = model.output.size;
  RUNG_TRY(Weights weights, random_weights(model));
  weights.task = task_record_text(task);
  return weights;
}

}  // namespace rung
