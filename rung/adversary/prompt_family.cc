// Invariant of the seqcomp family: the argument at which z_L is read is its last one, N_{L-1} - 1, so the
// critical entry and the few others that vary stand together, and everything before them can be computed
// once.
#include "rung/adversary/prompt_family.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace rung {
namespace {

constexpr double kFamilyBits = 62;                   // members, where the task has that many
constexpr std::uint64_t kPromptFamilyBases = 64;     // questions tried
constexpr std::uint64_t kPromptFamilyCompared = 16;  // members whose answers are compared

}  // namespace

std::optional<SeqCompLayout> seqcomp_layout(const Task& task) {
  if (task.name() != "seqcomp") return std::nullopt;
  const auto size = task.size();
  std::vector<std::int64_t> branching;
  for (std::int64_t l = 1; l < size.at("L").get<std::int64_t>(); ++l)
    branching.push_back(size.at(fmt::format("n{}", l)).get<std::int64_t>());
  const bool easy = task.options().contains("order");  // the word differs from its default
  auto layout = SeqCompLayout::make(size.at("m").get<std::int64_t>(), std::move(branching),
                                    easy ? SeqCompLayout::Order::easy : SeqCompLayout::Order::hard);
  return layout ? std::optional(std::move(*layout)) : std::nullopt;
}

PromptFamily::PromptFamily(const Task& task, std::uint64_t seed)
    : task_(task),
      seed_(seed),
      layout_(seqcomp_layout(task)),
      base_(task.generate(Variant::uniform, seed, 0).prompt) {
  if (!layout_) {
    // A question whose answer depends on what varies; where none is found, the question varies too.
    const std::int64_t asked = task.query_positions().back();
    for (std::uint64_t index = 0; index < kPromptFamilyBases; ++index) {
      base_ = task.generate(Variant::uniform, seed, index).prompt;
      end_varying_ = asked;
      if (answers_differ()) return;
    }
    end_varying_ = base_.positions;
    return;
  }
  auto& tokens = base_.fields[0];
  const std::int64_t levels = layout_->levels();
  std::int64_t argument = layout_->domain(0) - 1;  // i_l for all l is the last element of its domain
  tokens[static_cast<std::size_t>(layout_->start_position())] = argument;
  for (std::int64_t l = 1; l < levels; ++l) {
    tokens[static_cast<std::size_t>(layout_->table_position(l) + argument)] = layout_->domain(l - 1) - 1;
    tokens[static_cast<std::size_t>(layout_->branch_position(l))] = layout_->branching(l) - 1;
    argument = layout_->domain(l) - 1;
  }
  const std::int64_t domain = layout_->domain(levels - 1), base = layout_->table_position(levels);
  const auto entries = static_cast<std::int64_t>(
      std::ceil(kFamilyBits / std::max(1.0, std::log2(static_cast<double>(domain)))));
  end_varying_ = base + domain;
  first_varying_ = end_varying_ - std::min(domain, entries);
}

Prompt PromptFamily::seqcomp_member(Random& random) const {
  Prompt prompt = base_;
  const auto domain = static_cast<std::uint64_t>(layout_->domain(layout_->levels() - 1));
  for (std::int64_t t = first_varying_; t < end_varying_; ++t)
    prompt.fields[0][static_cast<std::size_t>(t)] = static_cast<std::int64_t>(random.below(domain));
  return prompt;
}

bool PromptFamily::answers_differ() const {
  const auto answer = task_.answer(member(0));
  for (std::uint64_t i = 1; i < kPromptFamilyCompared; ++i)
    if (task_.answer(member(i)) != answer) return true;
  return false;
}

Prompt PromptFamily::member(std::uint64_t index) const {
  if (layout_) {
    Random random(seed_, index);
    return seqcomp_member(random);
  }
  Prompt drawn = task_.generate(Variant::uniform, seed_, index).prompt;
  Prompt mixed = drawn;
  const auto fields = task_.fields();
  for (std::size_t f = 0; f < fields.size(); ++f)
    std::copy(base_.fields[f].begin() + end_varying_ * fields[f].length, base_.fields[f].end(),
              mixed.fields[f].begin() + end_varying_ * fields[f].length);
  return task_.validate(mixed) ? mixed : drawn;  // where the question must fit the facts, it varies too
}

}  // namespace rung
