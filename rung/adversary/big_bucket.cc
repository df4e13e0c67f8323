// Claim: log-linear-* (docs/theorems.md). Let k = ⌊lg q⌋, q the first answer position. From position 2^k on, the first 2^k
// tokens act only through one bucket in every log-linear layer (and the states of the other recurrences): two beginnings with
// equal states after 2^k + 1 positions, alike from position 2^k on, are answered alike for ever. When q = 2^k the query itself
// makes the bucket, so it is fixed before the search and is one of the entries that vary.
//
// Search: a birthday on the states after 2^k + 1 positions. Only the last entries of the bucket vary, just enough of them to
// have more beginnings than states; what stands before is computed once (resumed_run.h). The stack is a black box.
// Invariant: level 0 at the cut holds the common token 2^k, so the states compared are those of the big buckets.
#include "rung/adversary/big_bucket.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "rung/adversary/birthday.h"
#include "rung/adversary/resumed_run.h"
#include "rung/adversary/state_bits.h"
#include "rung/adversary/varied_prompts.h"
#include "rung/theory/counting.h"

namespace rung {
namespace {

constexpr double kSpareBits = 12;       // beginnings beyond the number of states, in bits
constexpr std::int64_t kSeparations = 1 << 16;

bool has_bounded_state(const MixerShape& m) {
  using enum MixerKind;
  switch (m.kind) {
    case linear:
    case rnn:
    case gru:
    case mamba:
    case mamba2:
    case delta:
    case gdelta:
    case loglinear:
    case conv:
    case identity:
    case none:
      return true;
    default:
      return false;
  }
}

int bucket_level(const Task& task) { return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(task.query_positions().front()))) - 1; }

// σ^(2^k) beginnings against the bits of the buckets: eva and index, where every beginning can be told from every other.
bool is_forced(const Target& target, int k) {
  const Task& task = *target.task;
  if (task.name() != "eva" && task.name() != "index") return false;
  const auto size = task.size();
  const std::int64_t sigma = size.at(task.name() == "eva" ? "n" : "sigma").get<std::int64_t>();
  return !bits_suffice(big_bucket_bits(target, k), Count::power(sigma, std::int64_t{1} << k));
}

Fitness fitness(const Target& target) {
  const bool log_linear = std::any_of(target.layers.begin(), target.layers.end(), [](const auto& l) { return l.mixer.kind == MixerKind::loglinear; });
  if (!log_linear) return {false, "no log-linear layer", 0};
  if (!std::all_of(target.layers.begin(), target.layers.end(), [](const auto& l) { return has_bounded_state(l.mixer); }))
    return {false, "a layer keeps a cache that grows", 0};
  if (target.task->query_positions().front() < 2) return {false, "nothing stands before the first answer position", 0};
  const int k = bucket_level(*target.task);
  const std::int64_t bits = big_bucket_bits(target, k);
  return {true, fmt::format("{} bits hold the first {} tokens", bits, std::int64_t{1} << k), static_cast<double>(bits) / 2};
}

Result<Outcome> run(const Target& target, const SearchOptions& options) {
  const Task& task = *target.task;
  const int k = bucket_level(task);
  const std::int64_t cut = (std::int64_t{1} << k) + 1, bits = big_bucket_bits(target, k);
  Outcome outcome{.method = "big-bucket", .nominal_bits = nominal_state_bits(target.weights, target.layers, cut)};
  outcome.details["bucket_bits"] = std::to_string(bits);
  // When the query itself makes the bucket, it must read an entry that varies; else it is chosen afterwards.
  const auto found = VariedPrompts::find(task, 0, cut - 1, static_cast<double>(bits) + kSpareBits, task.query_positions().front() < cut, options.seed);
  if (!found) {
    outcome.reason = "no entry of the first bucket can vary and change the answer";
    return outcome;
  }
  const VariedPrompts& beginnings = *found;
  const auto resumed = ResumedRun::make(*target.machine, task.fields(), beginnings.member(0), beginnings.first_varying());
  RUNG_REQUIRE(resumed.has_value(), "layers of bounded state");
  const bool asked = cut == target.length();  // the query is part of the compared prompt

  Birthday birthday;
  birthday.stage = fmt::format("birthday on the states after {} positions", cut);
  birthday.expected_evaluations = std::exp2(std::min(static_cast<double>(bits) / 2, 62.0));
  birthday.evaluate = [&](std::uint64_t index) -> Result<std::vector<Ending>> {
    const Prompt prompt = beginnings.member(index);
    std::uint64_t key = 0, tag = 0;
    for (const auto& layer : resumed->states(prompt, cut)) key = hash_numbers(key, layer);
    if (asked) {
      tag = hash_numbers(0, task.answer(prompt));
    } else {
      for (const auto& field : prompt.fields) tag = hash_numbers(tag, field);
    }
    return std::vector<Ending>{{key, tag}};
  };
  birthday.meet = [&](std::uint64_t first, std::uint64_t second) -> Result<std::optional<Certificate>> {
    const auto pair = separate(task, prefix_of(task, beginnings.member(first), cut), prefix_of(task, beginnings.member(second), cut), kSeparations, options.seed);
    if (!pair) return std::optional<Certificate>{};
    RUNG_TRY(auto certificate, certify_collision(target, pair->first, pair->second, cut));
    if (certificate && is_forced(target, k)) std::get<CollisionClaim>(certificate->claim).pair.label = ClaimLabel::forced;
    return certificate;
  };
  RUNG_CHECK(search_birthday(birthday, options, outcome));
  return outcome;
}

}  // namespace

std::int64_t big_bucket_bits(const Target& target, int k) {
  const std::int64_t merged = (std::int64_t{1} << k) + 1;
  std::int64_t bits = 0;
  for (std::size_t i = 0; i < target.layers.size(); ++i) {
    const MixerShape& m = target.layers[i].mixer;
    const std::string prefix = fmt::format("layers.{}.", i);
    // After one position a log-linear layer has one level and its buffers, of the widths that it has after `merged`.
    const std::int64_t two = layer_state_bits(target.weights, m, prefix, merged);
    if (m.kind != MixerKind::loglinear) {
      bits += two;
      continue;
    }
    MixerShape bare = m;
    bare.conv = 0;
    const std::int64_t levels = layer_state_bits(target.weights, bare, prefix, merged);
    bits += two - levels / 2;
  }
  return bits;
}

AttackMethod big_bucket_method() { return {"big-bucket", "two beginnings with equal states once they form one bucket", &fitness, &run}; }

}  // namespace rung
