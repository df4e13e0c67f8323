// Checking a construction against its task: exhaustively while the number of instances is within a budget,
// else on adversarial and random instances, beside the argument about all inputs where the construction has
// one. The report says which of these was done, and shows the first instance that failed.
//
// Determinism: the instances, and which failure is shown, depend on (construction, options) alone; only times
// differ.
#pragma once

#include <optional>
#include <string>

#include "rung/base/words.h"
#include "rung/constructions/construction.h"
#include "rung/exact/machine.h"

namespace rung {

enum class VerificationMode {
  exhaustive,  // every instance of this size was run
  sampled,     // the worst known, adversarial, random and crowded instances were run
  interval,    // sampled instances were run, and the interval argument covers all others
};
template <>
inline constexpr auto kWords<VerificationMode> = std::to_array<std::string_view>({"exhaustive", "sampled",
                                                                                  "interval"});
inline std::string_view mode_name(VerificationMode mode) { return name_of(mode); }

struct VerificationOptions {
  std::int64_t budget = 20'000'000;  // evaluations: up to this many instances all are run
  std::optional<std::int64_t>
      samples;  // instances of each kind (adversarial, uniform, ..., crowded); absent: as many as a fixed amount of work allows
  std::uint64_t seed = 1;
  std::optional<Precision> quantised;  // mode Q in this format in place of mode X
  bool stop_at_first_error = false;    // precision searches need no count
};

struct FailedInstance {
  Prompt prompt;
  std::vector<std::int64_t> expected, answered;
};

struct Verification {
  VerificationMode mode = VerificationMode::sampled;
  std::uint64_t instances = 0, errors = 0;
  double seconds = 0;
  std::optional<FailedInstance> failure;
  std::optional<IntervalArgument> interval;

  bool passed() const { return errors == 0; }
  double instances_per_second() const { return seconds > 0 ? static_cast<double>(instances) / seconds : 0; }
};

// Errors: weights that the machine refuses; budget or samples below 1.
Result<Verification> verify(const Construction& construction, const VerificationOptions& options);

// These instances and no others; mode `sampled`. Errors: weights that the machine refuses.
Result<Verification> verify_on(const Construction& construction, const std::vector<Instance>& instances);

// A prompt of few different symbols: up to four favourites, near each other or not, and at each position one of them,
// or now and then any. Nothing where the task's prompts cannot be written choice by choice. Determinism: (task, seed,
// index).
std::optional<Instance> crowded_instance(const Task& task, std::uint64_t seed, std::uint64_t index);

// Instances of the task, if at most `limit`; nothing when there are more or they cannot be enumerated. Exact
// where the number of choices depends on the position alone, else an estimate that enumeration corrects.
std::optional<std::uint64_t> count_instances(const Task& task, std::uint64_t limit);

// "f(0) ... -> expected 3, answered 1": one line, long prompts cut in the middle.
std::string show_failure(const Task& task, const FailedInstance& failure);

}  // namespace rung
