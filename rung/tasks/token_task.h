// Tasks whose positions carry one token each, read at the last position unless they say otherwise. The values
// that a position can take depend on the position alone; a task with a further constraint overrides choices
// and extend.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "rung/tasks/task.h"

namespace rung {

class TokenTask : public Task {
 public:
  std::vector<FieldSpec> fields() const override { return {{.name = "token", .size = vocabulary()}}; }
  std::vector<std::int64_t> query_positions() const override { return {prompt_length() - 1}; }
  Result<void> validate(const Prompt& prompt) const override;
  std::int64_t choices(const Prompt& prefix) const override;
  void extend(Prompt& prefix, std::int64_t choice) const override;

 protected:
  virtual std::int64_t vocabulary() const = 0;  // token ids are [0, vocabulary)
  struct Range {
    std::int64_t low = 0, count = 0;
  };
  virtual Range range(std::int64_t position) const = 0;

  static Instance token_instance(std::vector<std::int64_t> tokens, std::vector<std::int64_t> answer);
};

// What every validate checks first: the number of fields, their lengths, and each value's range.
Result<void> validate_shape(const Task& task, const Prompt& prompt);

// A task's answer of one bit.
inline AnswerSpec boolean_answer() { return {.kind = AnswerSpec::Kind::boolean, .size = 2}; }
inline AnswerSpec token_answer(std::int64_t alphabet) {
  return {.kind = AnswerSpec::Kind::token, .size = alphabet};
}

}  // namespace rung
