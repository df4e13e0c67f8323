#include "rung/evaluation/evaluation.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <mutex>

#include "rung/base/parallel.h"
#include "rung/tasks/task_record.h"

namespace rung {
namespace {

// Instances between two looks at `stop`: few of a slow model, more while a block takes less than kBlockSeconds.
constexpr std::uint64_t kFirstBlock = 64, kLargestBlock = 4096;
constexpr double kBlockSeconds = 0.1;

std::string_view output_name(OutputSpec::Kind kind) {
  switch (kind) {
    case OutputSpec::Kind::logits:
      return "logits";
    case OutputSpec::Kind::binary:
      return "binary";
    case OutputSpec::Kind::threshold:
      return "threshold";
    case OutputSpec::Kind::vector:
      return "vector";
  }
  return "?";
}

// The model's answers at the query positions, laid out as Instance::answer.
Result<std::vector<std::int64_t>> ask(const Machine& machine, const Weights& weights, const Prompt& prompt,
                                      const std::vector<std::int64_t>& queries) {
  if (weights.decode.steps > 0) {
    RUNG_TRY(auto tokens, machine.generate(prompt));
    return std::vector<std::int64_t>{tokens.back()};
  }
  RUNG_TRY(const auto readouts, machine.forward(prompt, queries));
  std::vector<std::int64_t> given;
  for (const auto& readout : readouts)
    given.insert(given.end(), readout.answer.begin(), readout.answer.end());
  return given;
}

// Keeps the `most` wrong instances with the smallest index, so that what is shown does not depend on thread
// timing.
void trim(Evaluation& evaluation, std::size_t most) {
  auto& wrong = evaluation.wrong;
  std::sort(wrong.begin(), wrong.end(), [](const auto& a, const auto& b) { return a.index < b.index; });
  if (wrong.size() > most) wrong.resize(most);
}

// The difference that is kept is that of the smallest index.
void add_forms(FormsTotal& total, const FormComparison& one, std::uint64_t index) {
  total.rows += static_cast<std::uint64_t>(one.rows);
  total.equal_prompts += !one.first;
  total.rounds = total.rounds || one.rounds;
  if (!one.first || (total.first && total.first_index < index)) return;
  total.first_index = index;
  total.first = one.first;
}

Result<void> check_interface(const Weights& weights, const Task& task) {
  const auto fields = task.fields();
  if (fields.size() != weights.fields.size())
    return fail(ErrorCode::range, "[eval] the model reads {} fields; {} has {}", weights.fields.size(),
                task.name(), fields.size());
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const auto &want = fields[i], &have = weights.fields[i];
    if (want.name != have.name || want.length != have.length || want.low < have.low ||
        want.low + want.size > have.low + have.size)
      return fail(ErrorCode::range,
                  "[eval] field {}: {} has \"{}\" with values in [{}, {}), length {}; the model reads \"{}\" "
                  "in [{}, {}), length {}",
                  i, task.name(), want.name, want.low, want.low + want.size, want.length, have.name, have.low,
                  have.low + have.size, have.length);
  }
  const AnswerSpec answer = task.answer_spec();
  const OutputSpec& output = weights.output;
  const bool vector_answer = answer.kind == AnswerSpec::Kind::vector,
             vector_output = output.kind == OutputSpec::Kind::vector;
  const std::int64_t needed = answer.kind == AnswerSpec::Kind::boolean ? 2 : answer.size;
  const std::int64_t sayable = output.kind == OutputSpec::Kind::binary      ? std::int64_t{1} << output.size
                               : output.kind == OutputSpec::Kind::threshold ? 2
                                                                            : output.size;
  if (vector_answer != vector_output || (vector_answer ? sayable != needed : sayable < needed))
    return fail(ErrorCode::range, "[eval] {} asks for {} of size {}; the model's output is {} of size {}",
                task.name(), vector_answer ? "a vector" : "an answer", needed, output_name(output.kind),
                sayable);
  if (weights.decode.steps > 0 &&
      task.query_positions() != std::vector<std::int64_t>{task.prompt_length() - 1})
    return fail(ErrorCode::unsupported,
                "[eval] a chain of thought answers once, after the prompt; {} asks at {} positions",
                task.name(), task.query_positions().size());
  const std::int64_t context = weights.architecture.dimensions.context,
                     length = positions_needed(weights, task);
  if (context > 0 && length > context)
    return fail(ErrorCode::range, "[eval] {} needs {} positions; the model's context is {}", task.name(),
                length, context);
  return {};
}

}  // namespace

std::uint64_t count_right(const AnswerSpec& spec, const OutputSpec& output,
                          const std::vector<std::int64_t>& expected, const std::vector<std::int64_t>& given) {
  if (spec.kind != AnswerSpec::Kind::vector) {
    std::uint64_t right = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) right += expected[i] == given[i];
    return right;
  }
  std::uint64_t right = 0;
  for (std::size_t i = 0; i < expected.size(); i += static_cast<std::size_t>(spec.size)) {
    bool good = true;
    for (std::size_t c = i; c < i + static_cast<std::size_t>(spec.size); ++c)
      good = good && std::abs(std::ldexp(static_cast<double>(expected[c]), -spec.fraction) -
                              std::ldexp(static_cast<double>(given[c]), -output.fraction)) <= spec.tolerance;
    right += good;
  }
  return right;
}

Result<void> check_fit(const Weights& weights, const Task& task) {
  const auto fits = check_interface(weights, task);
  if (fits) return fits;
  const auto own = parse_task_record(weights.task);
  if (!own || own->name != task.name()) return fits;
  const auto made = make_task(own->name, own->sizes, own->options);
  if (!made || (*made)->size() == task.size()) return fits;
  return fail(fits.error().code, "{}; it was made for {}: other sizes need a model of their own",
              fits.error().message, (*made)->size().dump());
}

std::int64_t positions_needed(const Weights& weights, const Task& task) {
  return task.prompt_length() + std::max<std::int64_t>(0, weights.decode.steps - 1);
}

Result<Evaluation> evaluate(const Machine& machine, const Weights& weights, const Task& task,
                            const EvaluationOptions& options) {
  const auto queries = task.query_positions();
  const AnswerSpec spec = task.answer_spec();
  Evaluation total;
  std::optional<Error> error;
  std::mutex guard;

  // Evaluates a block of instances on all cores; `make` gives the instance of an index within the block.
  std::uint64_t size = kFirstBlock;
  auto run_block = [&](std::uint64_t first, std::uint64_t count,
                       const std::function<Instance(std::uint64_t)>& make) {
    const auto start = std::chrono::steady_clock::now();
    parallel_for(static_cast<std::int64_t>(count), count > 64 ? 16 : 1,
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t i = begin; i < end; ++i) {
                     Instance instance = make(static_cast<std::uint64_t>(i));
                     auto given = ask(machine, weights, instance.prompt, queries);
                     Result<FormComparison> forms = FormComparison{};
                     if (options.forms) forms = compare_forms(machine, weights.fields, instance.prompt);
                     const std::lock_guard lock(guard);
                     if (!forms) {
                       if (!error) error = forms.error();
                       return;
                     }
                     add_forms(total.forms, *forms, first + static_cast<std::uint64_t>(i));
                     if (!given) {
                       if (!error) error = given.error();
                       return;
                     }
                     const std::uint64_t answers = static_cast<std::uint64_t>(task.asked()),
                                         right = count_right(spec, weights.output, instance.answer, *given);
                     ++total.instances;
                     total.answers += answers;
                     total.right_answers += right;
                     total.right_instances += right == answers;
                     if (right != answers && options.keep_wrong > 0) {
                       total.wrong.push_back(
                           {first + static_cast<std::uint64_t>(i), std::move(instance), std::move(*given)});
                       if (total.wrong.size() > 2 * options.keep_wrong + 64) trim(total, options.keep_wrong);
                     }
                   }
                 });
    if (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() < kBlockSeconds)
      size = std::min(2 * size, kLargestBlock);
    if (options.progress) options.progress(total.instances);
    total.stopped = options.stop && options.stop();
    return !error && !total.stopped;
  };

  if (options.exhaustive) {
    std::vector<Instance> block;
    std::uint64_t first = 0;
    auto flush = [&] {
      const bool go_on = run_block(first, block.size(), [&](std::uint64_t i) { return block[i]; });
      first += block.size();
      block.clear();
      return go_on;
    };
    bool going = true;
    enumerate(task, [&](const Instance& instance) {
      block.push_back(instance);
      if (block.size() >= size) going = flush();
      return going;
    });
    if (going && !block.empty()) flush();
  } else {
    std::uint64_t first = 0;
    const auto make = [&](std::uint64_t i) {
      return task.generate(options.variant, options.seed, first + i);
    };
    for (std::uint64_t count = 0; first < options.count; first += count) {
      count = std::min(size, options.count - first);
      if (!run_block(first, count, make)) break;
    }
  }
  if (error) return *error;
  trim(total, options.keep_wrong);
  return total;
}

}  // namespace rung
