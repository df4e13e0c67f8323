#include "rung/adversary/random_weights.h"

#include <algorithm>
#include <bit>

#include "rung/tasks/task_record.h"

namespace rung {

Result<Weights> random_weights_for(const Task& task, const RandomRequest& target) {
  RandomModel model;
  model.seed = target.seed;
  RUNG_TRY(model.architecture.stack, parse_stack(target.architecture));
  auto& dimensions = model.architecture.dimensions;
  dimensions.width = target.width;
  dimensions.heads = target.heads;
  dimensions.context = task.prompt_length();
  dimensions.precision = target.precision;
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
              : OutputSpec{
                    OutputSpec::Kind::binary,
                    static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(answer.size - 1))),
                    0};
  }
  dimensions.outputs = model.output.size;
  RUNG_TRY(Weights weights, random_weights(model));
  weights.task = task_record_text(task);
  return weights;
}

}  // namespace rung
