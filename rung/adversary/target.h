// A concrete model with the task that it is said to solve: what every attack starts from and ends with.
//
// Soundness. No search result leaves this library unverified: certify_*() reruns the exact machine on both
// prompts, computes the reference answers, and gives a certificate only when the claim holds. A model that
// solves the task is never broken.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rung/certificate/certificate.h"
#include "rung/exact/machine.h"
#include "rung/tasks/task.h"

namespace rung {

struct Target {
  std::string model_sha256;
  Weights weights;
  std::vector<LayerShape> layers;  // resolve(weights.architecture)
  std::shared_ptr<const Task> task;
  std::unique_ptr<const Machine> machine;  // mode X; mode Q (double, no rounding) for real weights
  std::int64_t nominal_bits =
      0;                // of the recurrent states of all layers after T positions; caches are not counted
  std::string pattern;  // one letter or more a layer, as `rung show` writes it: "FRR"

  std::int64_t length() const { return task->prompt_length(); }
  bool exact() const { return weights.mode == WeightMode::integer; }
};

// Errors: a file that is no model, a model that does not fit the task, sizes that the machine refuses.
Result<Target> open_target(const std::string& model_path, std::shared_ptr<const Task> task);
// The same for weights that are in memory; their file is what write_weights() writes.
Result<Target> make_target(Weights weights, std::shared_ptr<const Task> task);

// What the model answers at each query position of a complete prompt (by chain of thought where it has one).
struct Answered {
  std::vector<Readout> readouts;                   // one a query position; empty with chain of thought
  std::vector<std::vector<std::int64_t>> answers;  // one a query position
};
Result<Answered> ask(const Target& target, const Prompt& prompt);
// Components of the reference answer that belong to query position number i.
std::vector<std::int64_t> reference_answer(const Target& target, const Prompt& prompt, std::size_t query);
// Whether a given answer counts as right (vector answers: within the task's tolerance).
bool counts_as_right(const Target& target, const std::vector<std::int64_t>& given,
                     const std::vector<std::int64_t>& reference);

// A certificate when the two prompts are instances, end in equal activations and answers at some query
// position, and their reference answers there differ; nothing otherwise. `collision` moreover asks for equal
// states after `cut` positions (or after more of them: prompts that agree from `cut` on stay alike). It is
// labelled `forced` where a theorem forces a collision there (counted_beginnings.h), else `found`.
Result<std::optional<Certificate>> certify_collision(const Target& target, const Prompt& first,
                                                     const Prompt& second, std::int64_t cut);
Result<std::optional<Certificate>> certify_fooling_pair(const Target& target, const Prompt& first,
                                                        const Prompt& second);
// A certificate when the model's answer to this instance is wrong.
Result<std::optional<Certificate>> certify_wrong_answer(const Target& target, const Prompt& prompt);

// Every number that the layers carry after the first `cut` positions.
Result<std::vector<std::vector<std::int64_t>>> states_after(const Target& target, const Prompt& prompt,
                                                            std::int64_t cut);

// Two different prefixes of equal length, completed alike so that the reference answers differ: the prompts,
// or nothing when no completion within `tries` separates them (they may be equivalent for the task). The
// completion follows the task's own tree; queries at the places where the prefixes differ are tried first.
std::optional<std::pair<Prompt, Prompt>> separate(const Task& task, const Prompt& first_prefix,
                                                  const Prompt& second_prefix, std::int64_t tries,
                                                  std::uint64_t seed);

// Two beginnings of equal length: completed by separate() and certified as a collision behind them.
Result<std::optional<Certificate>> certify_beginnings(const Target& target, const Prompt& first,
                                                      const Prompt& second);

}  // namespace rung
