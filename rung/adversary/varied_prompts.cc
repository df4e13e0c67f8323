// Invariant: every row of an entry is valid while all other positions are the base's; a member that combines
// several is validated as a whole and drawn again where the task refuses the combination.
#include "rung/adversary/varied_prompts.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "rung/exact/machine.h"

namespace rung {
namespace {

constexpr int kDraws = 256;         // of one member, until the task accepts it
constexpr std::int64_t kRows = 64;  // values of one entry that are looked at, of each kind
constexpr std::uint64_t kVariedPromptsBases =
    256;  // instances tried until the answer reads an entry that varies
constexpr std::uint64_t kVariedPromptsCompared = 16;  // members whose answers are compared

}  // namespace

Prompt prefix_of(const Task& task, const Prompt& prompt, std::int64_t positions) {
  Prompt prefix = prompt;
  prefix.positions = positions;
  const auto fields = task.fields();
  for (std::size_t f = 0; f < fields.size(); ++f)
    prefix.fields[f].resize(static_cast<std::size_t>(positions * fields[f].length));
  return prefix;
}

std::optional<VariedPrompts> VariedPrompts::find(const Task& task, std::int64_t begin, std::int64_t end,
                                                 double bits, bool asked, std::uint64_t seed) {
  RUNG_REQUIRE(begin >= 0 && begin <= end && end <= task.prompt_length(), "[{}, {})", begin, end);
  VariedPrompts varied(task, seed);
  for (std::uint64_t index = 0; index < kVariedPromptsBases; ++index) {
    varied.base_ = task.generate(Variant::uniform, seed, index).prompt;
    varied.entries_.clear();
    varied.first_ = end;
    for (double found = 0; varied.first_ > begin && found < bits;) {
      --varied.first_;
      if (auto rows = varied.rows_for(varied.first_); rows.size() > 1) {
        found += std::log2(static_cast<double>(rows.size()));
        varied.entries_.push_back({varied.first_, std::move(rows)});
      }
    }
    if (!varied.entries_.empty() && (!asked || varied.answers_differ())) return varied;
  }
  return std::nullopt;
}

Prompt VariedPrompts::member(std::uint64_t index) const {
  Random random(seed_, index);
  for (int draw = 0; draw < kDraws; ++draw) {
    Prompt prompt = base_;
    for (const auto& entry : entries_)
      put(prompt, entry.position, entry.rows[random.below(entry.rows.size())]);
    if (task_->validate(prompt)) return prompt;
  }
  return base_;
}

void VariedPrompts::put(Prompt& prompt, std::int64_t position, const Row& row) const {
  std::size_t next = 0;
  for (std::size_t f = 0; f < fields_.size(); ++f)
    for (std::int64_t i = 0; i < fields_[f].length; ++i)
      prompt.fields[f][static_cast<std::size_t>(position * fields_[f].length + i)] = row[next++];
}

// Some of the rows that the task's tree offers here, and some that differ from the base's in one number.
std::vector<VariedPrompts::Row> VariedPrompts::rows_for(std::int64_t position) const {
  Random random(seed_, static_cast<std::uint64_t>(position));
  std::set<Row> rows;
  Prompt changed = base_;
  const auto consider = [&](const Row& row) {
    put(changed, position, row);
    if (task_->validate(changed)) rows.insert(row);
  };
  Prompt prefix = prefix_of(*task_, base_, position);
  const std::int64_t choices = task_->choices(prefix);
  for (std::int64_t i = 0; i < std::min(choices, kRows); ++i) {
    task_->extend(prefix, choices <= kRows
                              ? i
                              : static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(choices))));
    consider(prompt_row(prefix, fields_, position));
    task_->retract(prefix);
  }
  Row row = prompt_row(base_, fields_, position);
  for (std::size_t f = 0, at = 0; f < fields_.size(); ++f)
    for (std::int64_t i = 0; i < fields_[f].length; ++i, ++at) {
      const std::int64_t old = row[at];
      for (std::int64_t draw = 0; draw < kRows; ++draw) {
        row[at] = fields_[f].low +
                  static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(fields_[f].size)));
        consider(row);
      }
      row[at] = old;
    }
  return {rows.begin(), rows.end()};
}

bool VariedPrompts::answers_differ() const {
  const auto answer = task_->answer(member(0));
  for (std::uint64_t i = 1; i < kVariedPromptsCompared; ++i)
    if (task_->answer(member(i)) != answer) return true;
  return false;
}

}  // namespace rung
