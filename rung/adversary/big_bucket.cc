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
#include <set>

#include "rung/adversary/birthday.h"
#include "rung/adversary/resumed_run.h"
#include "rung/adversary/state_bits.h"
#include "rung/spec/random.h"
#include "rung/theory/counting.h"

namespace rung {
namespace {

constexpr double kSpareBits = 12;       // beginnings beyond the number of states, in bits
constexpr int kDraws = 256;             // of one member, until the task accepts it
constexpr std::int64_t kRows = 64;       // values of one entry that are looked at, of each kind
constexpr std::uint64_t kBases = 4096;  // instances tried until the answer reads an entry that varies
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

Prompt prefix_of(const Task& task, const Prompt& prompt, std::int64_t positions) {
  Prompt prefix = prompt;
  prefix.positions = positions;
  const auto fields = task.fields();
  for (std::size_t f = 0; f < fields.size(); ++f) prefix.fields[f].resize(static_cast<std::size_t>(positions * fields[f].length));
  return prefix;
}

// Beginnings of 2^k tokens that differ in their last entries and are followed alike.
class Beginnings {
 public:
  Beginnings(const Task& task, int k, std::int64_t bits, std::uint64_t seed) : task_(task), fields_(task.fields()), seed_(seed), end_(std::int64_t{1} << k) {
    for (std::uint64_t index = 0; index < kBases; ++index) {
      base_ = task.generate(Variant::uniform, seed, index).prompt;
      entries_.clear();
      first_ = end_;
      for (double found = 0; first_ > 0 && found < static_cast<double>(bits) + kSpareBits;) {
        --first_;
        if (auto rows = rows_for(first_); rows.size() > 1) {
          found += std::log2(static_cast<double>(rows.size()));
          entries_.push_back({first_, std::move(rows)});
        }
      }
      if (answer_varies()) return;
    }
    entries_.clear();
  }
  bool empty() const { return entries_.empty(); }
  std::int64_t first_varying() const { return first_; }

  // A valid instance.
  Prompt member(std::uint64_t index) const {
    Random random(seed_, index);
    for (int draw = 0; draw < kDraws; ++draw) {
      Prompt prompt = base_;
      for (const auto& entry : entries_) put(prompt, entry.position, entry.rows[random.below(entry.rows.size())]);
      if (task_.validate(prompt)) return prompt;
    }
    return base_;
  }

 private:
  using Row = std::vector<std::int64_t>;
  struct Entry {
    std::int64_t position = 0;
    std::vector<Row> rows;
  };
  void put(Prompt& prompt, std::int64_t position, const Row& row) const {
    std::size_t next = 0;
    for (std::size_t f = 0; f < fields_.size(); ++f)
      for (std::int64_t i = 0; i < fields_[f].length; ++i) prompt.fields[f][static_cast<std::size_t>(position * fields_[f].length + i)] = row[next++];
  }
  // Rows that may stand at a position while everything else stays: some of those that the task's tree offers, and some that
  // differ in one number.
  std::vector<Row> rows_for(std::int64_t position) const {
    Random random(seed_, static_cast<std::uint64_t>(position));
    std::set<Row> rows;
    Prompt changed = base_;
    const auto consider = [&](const Row& row) {
      put(changed, position, row);
      if (task_.validate(changed)) rows.insert(row);
    };
    Prompt prefix = prefix_of(task_, base_, position);
    const std::int64_t choices = task_.choices(prefix);
    for (std::int64_t i = 0; i < std::min(choices, kRows); ++i) {
      task_.extend(prefix, choices <= kRows ? i : static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(choices))));
      consider(prompt_row(prefix, fields_, position));
      task_.retract(prefix);
    }
    Row row = prompt_row(base_, fields_, position);
    for (std::size_t f = 0, at = 0; f < fields_.size(); ++f)
      for (std::int64_t i = 0; i < fields_[f].length; ++i, ++at) {
        const std::int64_t old = row[at];
        for (std::int64_t draw = 0; draw < kRows; ++draw) {
          row[at] = fields_[f].low + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(fields_[f].size)));
          consider(row);
        }
        row[at] = old;
      }
    return {rows.begin(), rows.end()};
  }
  bool answer_varies() const {
    if (entries_.empty()) return false;
    if (task_.query_positions().front() > end_) return true;  // the query is chosen afterwards
    const auto answer = task_.answer(member(0));
    for (std::uint64_t i = 1; i < 16; ++i)
      if (task_.answer(member(i)) != answer) return true;
    return false;
  }

  const Task& task_;
  std::vector<FieldSpec> fields_;
  std::uint64_t seed_;
  std::int64_t end_, first_ = 0;
  Prompt base_;
  std::vector<Entry> entries_;
};

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
  const Beginnings beginnings(task, k, bits, options.seed);
  if (beginnings.empty()) {
    outcome.reason = "no entry of the first bucket can vary and change the answer";
    return outcome;
  }
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
