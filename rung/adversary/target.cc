#include "rung/adversary/target.h"

#include <nlohmann/json.hpp>

#include "rung/adversary/counted_beginnings.h"
#include "rung/adversary/state_bits.h"
#include "rung/base/random.h"
#include "rung/evaluation/evaluation.h"
#include "rung/spec/accounting.h"

namespace rung {
namespace {

constexpr std::int64_t kSeparationTries = 200'000;
constexpr int kFillings = 64;  // completions of the middle that separate() tries before it gives up

std::vector<std::int64_t> row_of(const Task& task, const Prompt& prompt, std::int64_t position) {
  return prompt_row(prompt, task.fields(), position);
}

void append_row(const Task& task, Prompt& prompt, const std::vector<std::int64_t>& row) {
  const auto fields = task.fields();
  std::size_t next = 0;
  for (std::size_t f = 0; f < fields.size(); ++f)
    for (std::int64_t i = 0; i < fields[f].length; ++i) prompt.fields[f].push_back(row[next++]);
  ++prompt.positions;
}

// Both prompts are instances, end alike at some query position, and should not.
Result<std::optional<EndAlike>> end_alike(const Target& target, const Prompt& first, const Prompt& second,
                                          std::int64_t from) {
  const Task& task = *target.task;
  if (first == second || !task.validate(first) || !task.validate(second)) return std::optional<EndAlike>{};
  const auto queries = task.query_positions();
  bool differs = false;
  for (std::size_t q = 0; q < queries.size(); ++q)
    differs = differs || (queries[q] >= from &&
                          reference_answer(target, first, q) != reference_answer(target, second, q));
  if (!differs) return std::optional<EndAlike>{};
  RUNG_TRY(const auto one, target.machine->forward(first, queries));
  RUNG_TRY(const auto two, target.machine->forward(second, queries));
  std::optional<std::vector<std::int64_t>> thought;
  if (target.weights.decode.steps > 0) {
    RUNG_TRY(const auto a, target.machine->generate(first));
    RUNG_TRY(const auto b, target.machine->generate(second));
    if (a != b) return std::optional<EndAlike>{};
    thought = {a.back()};
  }
  for (std::size_t q = 0; q < queries.size(); ++q) {
    if (queries[q] < from || one[q].activation != two[q].activation) continue;
    auto expected = reference_answer(target, first, q), other = reference_answer(target, second, q);
    if (expected == other) continue;
    const auto answer = thought ? *thought : one[q].answer;
    // Vector answers may differ and still both be met within the tolerance: then nothing is refuted.
    if (counts_as_right(target, answer, expected) && counts_as_right(target, answer, other)) continue;
    return std::optional(EndAlike{first, second, queries[q], one[q].activation, answer, std::move(expected),
                                  std::move(other), ClaimLabel::found});
  }
  return std::optional<EndAlike>{};
}

Certificate frame(const Target& target, Claim claim) {
  return {target.model_sha256, certified_task(*target.task), std::move(claim), {}};
}

}  // namespace

Result<Target> make_target(Weights weights, std::shared_ptr<const Task> task) {
  if (!task->built_in())
    return fail(ErrorCode::unsupported,
                "[break] {} is a task of your own file, which no certificate can name; a task that "
                "`rung task` lists expected (`rung eval` finds wrong answers)",
                task->name());
  if (!task->certifiable())
    return fail(ErrorCode::unsupported,
                "[break] no certificate can name this form of {}; its options at their defaults expected "
                "(`rung eval` finds wrong answers)",
                task->name());
  RUNG_CHECK(check_fit(weights, *task));
  Target target;
  RUNG_TRY(target.layers, resolve(weights.architecture));
  target.task = std::move(task);
  MachineOptions options{.positions = positions_needed(weights, *target.task)};
  options.unrounded = weights.mode == WeightMode::real;
  RUNG_TRY(target.machine, Machine::load(weights, options));
  StorageBits bits;
  bits.context = target.length();
  target.pattern = account(weights.architecture, target.layers, bits).pattern;
  target.nominal_bits = nominal_state_bits(weights, target.layers, target.length());
  target.weights = std::move(weights);
  return target;
}

Result<Target> open_target(const std::string& model_path, std::shared_ptr<const Task> task) {
  RUNG_TRY(auto weights, read_weights(model_path));
  RUNG_TRY(auto target, make_target(std::move(weights), std::move(task)));
  RUNG_TRY(target.model_sha256, file_sha256(model_path));
  return target;
}

Result<Answered> ask(const Target& target, const Prompt& prompt) {
  Answered answered;
  if (target.weights.decode.steps > 0) {
    RUNG_TRY(const auto tokens, target.machine->generate(prompt));
    answered.answers = {{tokens.back()}};
    return answered;
  }
  RUNG_TRY(answered.readouts, target.machine->forward(prompt, target.task->query_positions()));
  for (const auto& readout : answered.readouts) answered.answers.push_back(readout.answer);
  return answered;
}

std::vector<std::int64_t> reference_answer(const Target& target, const Prompt& prompt, std::size_t query) {
  const AnswerSpec spec = target.task->answer_spec();
  const std::size_t numbers = spec.kind == AnswerSpec::Kind::vector ? static_cast<std::size_t>(spec.size) : 1;
  const auto all = target.task->answer(prompt);
  return {all.begin() + static_cast<std::ptrdiff_t>(query * numbers),
          all.begin() + static_cast<std::ptrdiff_t>((query + 1) * numbers)};
}

bool counts_as_right(const Target& target, const std::vector<std::int64_t>& given,
                     const std::vector<std::int64_t>& reference) {
  return count_right(target.task->answer_spec(), target.weights.output, reference, given) > 0;
}

Result<std::vector<std::vector<std::int64_t>>> states_after(const Target& target, const Prompt& prompt,
                                                            std::int64_t cut) {
  RUNG_REQUIRE(cut >= 0 && cut <= prompt.positions, "cut={} positions={}", cut, prompt.positions);
  RUNG_TRY(auto session, target.machine->start());
  for (std::int64_t t = 0; t < cut; ++t)
    RUNG_CHECK([&]() -> Result<void> {
      auto readout = session->append(row_of(*target.task, prompt, t), false);
      return readout ? Result<void>() : Result<void>(readout.error());
    }());
  return session->state();
}

Result<std::optional<Certificate>> certify_collision(const Target& target, const Prompt& first,
                                                     const Prompt& second, std::int64_t cut) {
  RUNG_REQUIRE(target.exact(), "collisions are of integer models");
  for (const auto& layer : target.layers)
    if (!has_bounded_state(layer.mixer)) return std::optional<Certificate>{};
  for (std::int64_t t = cut; t < first.positions; ++t)
    if (row_of(*target.task, first, t) != row_of(*target.task, second, t))
      return std::optional<Certificate>{};
  const auto alphabet = [&](std::int64_t at) {
    return forcing_alphabet(*target.task, at, nominal_state_bits(target.weights, target.layers, at));
  };
  // What is equal after the cut stays equal: a later place at which a theorem forces a collision serves as
  // well.
  if (const auto widest = widest_cut(*target.task);
      widest && *widest > cut && *widest < first.positions && !alphabet(cut) && alphabet(*widest)) {
    RUNG_TRY(auto later, certify_collision(target, first, second, *widest));
    if (later) return later;
  }
  RUNG_TRY(auto states, states_after(target, first, cut));
  RUNG_TRY(const auto other, states_after(target, second, cut));
  if (states != other) return std::optional<Certificate>{};
  RUNG_TRY(auto pair, end_alike(target, first, second, cut - 1));
  if (!pair) return std::optional<Certificate>{};
  CollisionClaim claim{std::move(*pair), cut, std::move(states),
                       nominal_state_bits(target.weights, target.layers, cut), alphabet(cut)};
  if (claim.alphabet) claim.pair.label = ClaimLabel::forced;
  return std::optional(frame(target, std::move(claim)));
}

Result<std::optional<Certificate>> certify_fooling_pair(const Target& target, const Prompt& first,
                                                        const Prompt& second) {
  RUNG_REQUIRE(target.exact(), "fooling pairs are of integer models");
  RUNG_TRY(auto pair, end_alike(target, first, second, 0));
  if (!pair) return std::optional<Certificate>{};
  return std::optional(frame(target, FoolingPairClaim{std::move(*pair), {}}));
}

Result<std::optional<Certificate>> certify_wrong_answer(const Target& target, const Prompt& prompt) {
  if (!target.task->validate(prompt)) return std::optional<Certificate>{};
  RUNG_TRY(const auto answered, ask(target, prompt));
  const auto queries = target.task->query_positions();
  for (std::size_t q = 0; q < answered.answers.size(); ++q) {
    auto expected = reference_answer(target, prompt, q);
    if (!counts_as_right(target, answered.answers[q], expected))
      return std::optional(
          frame(target, WrongAnswerClaim{prompt, queries[q], answered.answers[q], std::move(expected)}));
  }
  return std::optional<Certificate>{};
}

std::optional<std::pair<Prompt, Prompt>> separate(const Task& task, const Prompt& first_prefix,
                                                  const Prompt& second_prefix, std::int64_t tries,
                                                  std::uint64_t seed) {
  RUNG_REQUIRE(first_prefix.positions == second_prefix.positions, "{} {}", first_prefix.positions,
               second_prefix.positions);
  const std::int64_t length = task.prompt_length();
  if (first_prefix.positions == length)
    return task.answer(first_prefix) != task.answer(second_prefix)
               ? std::optional(std::pair(first_prefix, second_prefix))
               : std::nullopt;
  Random random(seed);
  std::int64_t used = 0;
  for (int filling = 0; filling < kFillings && used < tries; ++filling) {
    Prompt first = first_prefix, second = second_prefix;
    // The middle: first choices at first, then random ones; every row is the first prompt's own, so it may
    // not suit the second.
    while (first.positions + 1 < length) {
      const std::int64_t choices = task.choices(first);
      if (choices < 1) return std::nullopt;
      task.extend(first, filling == 0
                             ? 0
                             : static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(choices))));
      append_row(task, second, row_of(task, first, first.positions - 1));
    }
    const std::int64_t last = task.choices(first);
    for (std::int64_t i = 0; i < last && used < tries; ++i, ++used) {
      // Queries where the prefixes differ stand at the same places in most tasks, but not in all: try them
      // all.
      Prompt one = first, two = second;
      task.extend(one, i);
      append_row(task, two, row_of(task, one, one.positions - 1));
      if (!task.validate(one) || !task.validate(two)) continue;
      if (task.answer(one) != task.answer(two)) return std::pair(std::move(one), std::move(two));
    }
  }
  return std::nullopt;
}

Result<std::optional<Certificate>> certify_beginnings(const Target& target, const Prompt& first,
                                                      const Prompt& second) {
  const auto pair = separate(*target.task, first, second, kSeparationTries, 1);
  if (!pair) return std::optional<Certificate>{};
  return certify_collision(target, pair->first, pair->second, first.positions);
}

}  // namespace rung
