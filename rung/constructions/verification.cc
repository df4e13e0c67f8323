#include "rung/constructions/verification.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <mutex>

#include "rung/base/parallel.h"

namespace rung {
namespace {

// Work of a sampled verification that was given no count: (keys x queries) pairs over layers and heads.
constexpr double kSampleWork = 2e9;
constexpr std::int64_t kFewestSamples = 8, kMostSamples = 2000;
// Where only the last position asks, this many queries share one prefix...
constexpr std::int64_t kQueriesPerPrefix = 1000;
// ... and as many prefixes a kind of instance are written as kSampleWork allows, at most:
constexpr std::int64_t kMostPrefixes = 64;
constexpr std::int64_t kLongestCrowd = 1024;  // positions of a prompt that is written choice by choice
constexpr std::size_t kBatch = 4096;          // instances in memory at a time

bool right(const AnswerSpec& spec, const std::vector<std::int64_t>& expected,
           const std::vector<std::int64_t>& answered, int fraction) {
  if (expected.size() != answered.size()) return false;
  if (spec.kind != AnswerSpec::Kind::vector) return expected == answered;
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (std::abs(std::ldexp(static_cast<double>(expected[i]), -spec.fraction) -
                 std::ldexp(static_cast<double>(answered[i]), -fraction)) > spec.tolerance)
      return false;
  return true;
}

class Verifier {
 public:
  Verifier(const Construction& construction, const VerificationOptions& options, const Machine& machine)
      : construction_(construction),
        task_(*construction.task),
        options_(options),
        machine_(machine),
        spec_(task_.answer_spec()),
        wanted_(task_.query_positions()),
        length_(task_.prompt_length()) {}

  Result<void> exhaustive() {
    std::vector<Instance> batch;
    bool within = true;
    enumerate(task_, [&](const Instance& instance) {
      batch.push_back(instance);
      if (batch.size() == kBatch) {
        run(batch);
        batch.clear();
        within = found_.instances < static_cast<std::uint64_t>(options_.budget);
      }
      return within && !done();
    });
    run(batch);
    found_.mode = within && !done() ? VerificationMode::exhaustive : VerificationMode::sampled;
    if (error_) return *error_;
    return {};
  }

  Result<void> sampled() {
    found_.mode = VerificationMode::sampled;
    std::vector<Variant> kinds;
    for (const auto variant : {Variant::adversarial, Variant::uniform, Variant::permutation, Variant::zipf})
      if (task_.supports(variant)) kinds.push_back(variant);
    const bool shared = shares_prefix();
    if (construction_.worst) run(construction_.worst(samples()));
    for (const Variant variant : kinds) {
      if (done()) break;
      if (variant != Variant::adversarial && shared)
        run_prefixes(variant);
      else
        run_plain(variant);
    }
    if (!done()) run_crowded();
    if (error_) return *error_;
    return {};
  }

  Result<void> listed(const std::vector<Instance>& instances) {
    found_.mode = VerificationMode::sampled;
    run(instances);
    if (error_) return *error_;
    return {};
  }

  Verification take() { return std::move(found_); }

 private:
  bool done() const { return error_ || (options_.stop_at_first_error && found_.errors > 0); }

  bool shares_prefix() const {
    if (!construction_.weights.architecture.dimensions.causal || construction_.weights.decode.steps > 0)
      return false;
    if (wanted_.size() != 1 || wanted_[0] != length_ - 1 || length_ < 2) return false;
    Prompt prefix = task_.generate(Variant::uniform, options_.seed, 0).prompt;
    task_.retract(prefix);
    return task_.choices(prefix) > 1;
  }

  // Pairs that one forward pass forms: all positions ask in every layer but the last.
  double work_of_one() const {
    const double T = static_cast<double>(length_);
    const auto layers = static_cast<double>(construction_.weights.architecture.stack.layers.size());
    const double width = static_cast<double>(construction_.weights.architecture.dimensions.width);
    return (layers - 1) * T * T / 2 * width / 4 + T * width * layers;
  }

  std::int64_t samples() const {
    if (options_.samples) return *options_.samples;
    return std::clamp(static_cast<std::int64_t>(kSampleWork / work_of_one()), kFewestSamples, kMostSamples);
  }

  void run_plain(Variant variant) {
    const std::int64_t count = samples();
    const auto batch = static_cast<std::int64_t>(length_ > 100'000 ? 1 : kBatch);
    for (std::int64_t first = 0; first < count && !done(); first += batch) {
      std::vector<Instance> instances;
      for (std::int64_t i = first; i < std::min(count, first + batch); ++i)
        instances.push_back(task_.generate(variant, options_.seed, static_cast<std::uint64_t>(i)));
      run(instances);
    }
  }

  // Prompts of few different symbols, which no other kind draws: keys that repeat many times, crowds beside the target.
  void run_crowded() {
    if (length_ > kLongestCrowd) return;
    std::vector<Instance> instances;
    const std::int64_t count = std::min(samples(), kMostSamples);
    for (std::int64_t i = 0; i < count; ++i)
      if (auto instance = crowded_instance(task_, options_.seed, static_cast<std::uint64_t>(i)))
        instances.push_back(std::move(*instance));
    run(instances);
  }

  // Instances that differ in the last position alone, on a few prefixes.
  void run_prefixes(Variant variant) {
    // As many instances as asked for: prefixes with few queries are many.
    const std::int64_t wanted = options_.samples ? *options_.samples : kQueriesPerPrefix;
    std::int64_t prefixes = wanted, left = wanted;
    if (!options_.samples) {
      prefixes =
          std::clamp(static_cast<std::int64_t>(kSampleWork / (work_of_one() * static_cast<double>(wanted))),
                     std::int64_t{1}, kMostPrefixes);
      left = prefixes * wanted;
    }
    for (std::int64_t index = 0; index < prefixes && left > 0 && !done(); ++index) {
      Instance instance = task_.generate(variant, options_.seed, static_cast<std::uint64_t>(index));
      Prompt& prompt = instance.prompt;
      task_.retract(prompt);
      const std::int64_t choices = task_.choices(prompt), queries = std::min({choices, wanted, left});
      left -= queries;
      Random random(options_.seed, static_cast<std::uint64_t>(index) + 1);
      std::vector<std::vector<std::int64_t>> rows, expected;
      for (std::int64_t i = 0; i < queries; ++i) {
        task_.extend(prompt, queries == choices ? i
                                                : static_cast<std::int64_t>(
                                                      random.below(static_cast<std::uint64_t>(choices))));
        rows.push_back(prompt_row(prompt, construction_.weights.fields, length_ - 1));
        expected.push_back(task_.answer(prompt));
        task_.retract(prompt);
      }
      const auto readouts = machine_.forward_variants(prompt, rows);
      if (!readouts) {
        error_ = readouts.error();
        return;
      }
      for (std::size_t i = 0; i < rows.size(); ++i) {
        ++found_.instances;
        if (right(spec_, expected[i], (*readouts)[i].answer, construction_.weights.output.fraction)) continue;
        ++found_.errors;
        if (found_.failure) continue;
        Prompt whole = prompt;
        std::size_t number = 0;
        for (std::size_t f = 0; f < whole.fields.size(); ++f)
          for (std::int64_t c = 0; c < construction_.weights.fields[f].length; ++c)
            whole.fields[f].push_back(rows[i][number++]);
        ++whole.positions;
        found_.failure = FailedInstance{std::move(whole), expected[i], (*readouts)[i].answer};
      }
    }
  }

  Result<std::vector<std::int64_t>> answer(const Prompt& prompt) const {
    if (construction_.weights.decode.steps > 0) return last_written(prompt);
    RUNG_TRY(const auto readouts, machine_.forward(prompt, wanted_));
    std::vector<std::int64_t> all;
    for (const auto& readout : readouts) all.insert(all.end(), readout.answer.begin(), readout.answer.end());
    return all;
  }

  // The chain of thought's last token. A token that the model itself could not read breaks the chain off and
  // is its (wrong) answer.
  Result<std::vector<std::int64_t>> last_written(const Prompt& prompt) const {
    const auto& weights = construction_.weights;
    const FieldSpec& token = weights.fields.front();
    RUNG_TRY(auto session, machine_.start());
    std::optional<Readout> readout;
    for (std::int64_t t = 0; t < prompt.positions; ++t) {
      RUNG_TRY(readout, session->append(prompt_row(prompt, weights.fields, t), t + 1 == prompt.positions));
    }
    std::vector<std::int64_t> row(prompt_row(prompt, weights.fields, 0).size(), 0);
    for (std::int64_t step = 1;; ++step) {
      row[0] = readout->answer.front();
      const bool readable = row[0] >= token.low && row[0] - token.low < token.size;
      if (step == weights.decode.steps || row[0] == weights.decode.stop || !readable)
        return std::vector<std::int64_t>{row[0]};
      RUNG_TRY(readout, session->append(row, true));
    }
  }

  void run(const std::vector<Instance>& instances) {
    std::mutex guard;
    std::size_t first_failure = instances.size();
    const auto check = [&](std::size_t i) {
      auto answered = answer(instances[i].prompt);
      const std::lock_guard lock(guard);
      ++found_.instances;
      if (!answered) {
        if (!error_) error_ = answered.error();
        return;
      }
      if (right(spec_, instances[i].answer, *answered, construction_.weights.output.fraction)) return;
      ++found_.errors;
      if (!failed_before_ && i < first_failure) {
        first_failure = i;
        found_.failure = FailedInstance{instances[i].prompt, instances[i].answer, std::move(*answered)};
      }
    };
    constexpr std::int64_t kLongPrompt = 4096;  // long prompts split their own work
    if (length_ >= kLongPrompt)
      for (std::size_t i = 0; i < instances.size(); ++i) check(i);
    else
      parallel_for(static_cast<std::int64_t>(instances.size()), 16,
                   [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t i = begin; i < end; ++i) check(static_cast<std::size_t>(i));
                   });
    failed_before_ = found_.failure.has_value();
  }

  const Construction& construction_;
  const Task& task_;
  const VerificationOptions& options_;
  const Machine& machine_;
  AnswerSpec spec_;
  std::vector<std::int64_t> wanted_;
  std::int64_t length_;
  Verification found_;
  bool failed_before_ = false;
  std::optional<Error> error_;
};

}  // namespace

std::optional<Instance> crowded_instance(const Task& task, std::uint64_t seed, std::uint64_t index) {
  constexpr std::uint64_t kCrowd = 0x63726f7764;  // a stream of its own
  Random random(seed ^ kCrowd, index);
  const auto favourites = static_cast<std::size_t>(random.between(1, 4));
  std::vector<std::uint64_t> liked(favourites);
  // Near ones (a number and those one digit away), or any.
  const std::uint64_t first = random.next();
  for (std::size_t i = 0; i < favourites; ++i)
    liked[i] = i == 0                 ? first
               : random.between(0, 1) ? first ^ (std::uint64_t{1} << random.below(6))
                                      : random.next();
  const std::uint64_t strangers = random.below(8);  // of 16 choices; 0: none
  Prompt prompt = task.empty_prompt();
  while (prompt.positions < task.prompt_length()) {
    const std::int64_t choices = task.choices(prompt);
    if (choices < 1) return std::nullopt;
    const std::uint64_t pick = random.below(16) < strangers
                                   ? random.next()
                                   : liked[static_cast<std::size_t>(random.below(favourites))];
    task.extend(prompt, static_cast<std::int64_t>(pick % static_cast<std::uint64_t>(choices)));
  }
  auto answer = task.answer(prompt);
  return Instance{std::move(prompt), std::move(answer)};
}

std::optional<std::uint64_t> count_instances(const Task& task, std::uint64_t limit) {
  std::uint64_t count = 1;
  Prompt prefix = task.empty_prompt();
  const std::int64_t length = task.prompt_length();
  for (std::int64_t t = 0; t < length; ++t) {
    const std::int64_t choices = task.choices(prefix);
    if (choices < 1 || __builtin_mul_overflow(count, static_cast<std::uint64_t>(choices), &count) ||
        count > limit)
      return std::nullopt;
    task.extend(prefix, 0);
  }
  return count;
}

Result<Verification> verify(const Construction& construction, const VerificationOptions& options) {
  if (options.budget < 1)
    return fail(ErrorCode::range, "[build] a verification budget of {}; at least 1 expected", options.budget);
  if (options.samples && *options.samples < 1)
    return fail(ErrorCode::range, "[build] {} samples; at least 1 expected", *options.samples);
  const Task& task = *construction.task;
  MachineOptions machine_options{.positions = task.prompt_length() + construction.weights.decode.steps,
                                 .quantised = options.quantised};
  RUNG_TRY(const auto machine, Machine::load(construction.weights, machine_options));
  const auto begin = std::chrono::steady_clock::now();
  Verifier verifier(construction, options, *machine);
  if (count_instances(task, static_cast<std::uint64_t>(options.budget)))
    RUNG_CHECK(verifier.exhaustive());
  else
    RUNG_CHECK(verifier.sampled());
  Verification found = verifier.take();
  found.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (construction.interval && !options.quantised) {
    found.interval = construction.interval();
    if (found.mode == VerificationMode::sampled && found.interval->holds && found.errors == 0)
      found.mode = VerificationMode::interval;
  }
  return found;
}

Result<Verification> verify_on(const Construction& construction, const std::vector<Instance>& instances) {
  const VerificationOptions options;
  const MachineOptions machine_options{.positions = construction.task->prompt_length() +
                                                    construction.weights.decode.steps};
  RUNG_TRY(const auto machine, Machine::load(construction.weights, machine_options));
  Verifier verifier(construction, options, *machine);
  RUNG_CHECK(verifier.listed(instances));
  return verifier.take();
}

std::string show_failure(const Task& task, const FailedInstance& failure) {
  constexpr std::size_t kLongest = 160;
  std::string prompt;
  if (failure.prompt.positions <= 4096) {
    prompt = task.text(failure.prompt);
  } else {  // the last position is what is asked
    Prompt last{1, {}};
    for (const auto& field : failure.prompt.fields) {
      const auto length = static_cast<std::int64_t>(field.size()) / failure.prompt.positions;
      last.fields.emplace_back(field.end() - length, field.end());
    }
    prompt = fmt::format("({} positions) ... {}", failure.prompt.positions, task.Task::text(last));
  }
  if (prompt.size() > kLongest)
    prompt = prompt.substr(0, kLongest / 2) + " ... " + prompt.substr(prompt.size() - kLongest / 2);
  return fmt::format("{} -> {} expected, {} answered", prompt, task.answer_text(failure.expected),
                     task.answer_text(failure.answered));
}

}  // namespace rung
