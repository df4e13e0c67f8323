// A model on the instances of a task: how many answers are right, and which are wrong.
#pragma once

#include <functional>
#include <vector>

#include "rung/evaluation/interval.h"
#include "rung/exact/machine.h"
#include "rung/exact/parallel_form.h"
#include "rung/tasks/task.h"

namespace rung {

// Whether the model can be asked the task at all: the same fields, alphabets that fit, an output that can say
// the answer, a context that holds the prompt (and the chain of thought). One line on what does not fit.
Result<void> check_fit(const Weights& weights, const Task& task);
// Prompt length with the chain of thought: what Machine::load must be told.
std::int64_t positions_needed(const Weights& weights, const Task& task);

struct EvaluationOptions {
  Variant variant = Variant::uniform;
  std::uint64_t seed = 1;
  std::uint64_t count = 1000;  // instances 0 .. count-1 of (variant, seed)
  bool exhaustive = false;     // every instance of the task instead
  bool forms = false;          // also compare the forms of linear attention (parallel_form.h)
  std::size_t keep_wrong = 0;  // how many wrong instances to keep, those with the smallest index
  std::function<void(std::uint64_t done)> progress =
      {};  // called now and then, from any thread, one at a time
  // Asked between blocks, of 64 instances or a tenth of a second; true ends early with what is done.
  std::function<bool()> stop = {};
};

struct WrongInstance {
  std::uint64_t index = 0;
  Instance instance;
  std::vector<std::int64_t> given;  // what the model answered, as Instance::answer is laid out
};

// The forms of linear attention on the prompts of an evaluation.
struct FormsTotal {
  std::uint64_t equal_prompts = 0, rows = 0;  // rows: compared, all layers
  bool rounds = false;
  std::uint64_t first_index = 0;  // of the first instance that differs
  std::optional<FormDifference> first;
};

struct Evaluation {
  std::uint64_t instances = 0, right_instances = 0;  // an instance is right when all its answers are
  std::uint64_t answers = 0, right_answers = 0;
  std::vector<WrongInstance> wrong;
  FormsTotal forms;
  bool stopped = false;
  double accuracy() const {
    return answers ? static_cast<double>(right_answers) / static_cast<double>(answers) : 0;
  }
};

// REQUIRES check_fit passed and the machine loaded from `weights` with positions_needed. Runs on all cores;
// the result does not depend on their number.
Result<Evaluation> evaluate(const Machine& machine, const Weights& weights, const Task& task,
                            const EvaluationOptions& options);

// How many of the answers are right, both laid out as Instance::answer; a vector counts as one answer and
// needs every component within the tolerance.
std::uint64_t count_right(const AnswerSpec& spec, const OutputSpec& output,
                          const std::vector<std::int64_t>& expected, const std::vector<std::int64_t>& given);

}  // namespace rung
