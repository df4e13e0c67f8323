// Claim: full-alone-strings, full-alone-dyck, full-alone-three-sum (docs/theorems.md). The answer token of
// one full layer queries with its own token, so everything that it learns of a part of the prompt is the
// part's sums (num, den). Two contents with equal sums, completed alike so that their answers differ, end in
// one activation.
//
// Search: a birthday on the sums of random contents; the rest of the prompt is written when two have met.
// Invariant: the answer token is the same in all prompts, and a pair is believed only after both are rerun
// (certify_fooling_pair).
#include "rung/adversary/method_list.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "rung/adversary/birthday.h"
#include "rung/adversary/forced_proof.h"
#include "rung/adversary/full_layer_view.h"
#include "rung/adversary/state_bits.h"
#include "rung/base/plural.h"
#include "rung/base/random.h"

namespace rung {
namespace {

using Tokens = std::vector<std::int64_t>;

// The prompts of one task: contents of its part, and the rest that tells two of them apart.
class PartedTask {
 public:
  // Nothing for tasks whose part is not told apart here.
  static std::optional<PartedTask> make(const Task& task) {
    const auto name = task.name();
    auto part = name == "seqcomp" ? std::nullopt : answered_part(task, 0);
    if (!part) return std::nullopt;
    PartedTask parted(task, std::move(part->positions));
    const auto size = task.size();
    if (name == "equality" || name == "disjointness") {
      parted.high_ = 1;
      parted.last_ = 2;
    } else if (name == "three-sum") {  // strictly between M/6 and M/3
      parted.modulus_ = size.at("M").get<std::int64_t>();
      parted.low_ = parted.modulus_ / 6 + 1;
      parted.high_ = (parted.modulus_ - 1) / 3;
    } else if (name == "dyck") {
      parted.types_ = size.at("k").get<std::int64_t>();
      parted.high_ = parted.types_ - 1;
      parted.last_ = parted.types_;
    }
    if (parted.high_ <= parted.low_) return std::nullopt;
    return parted;
  }

  const Tokens& positions() const { return positions_; }
  Tokens content(std::uint64_t seed, std::uint64_t index) const {
    Random random(seed, index);
    Tokens content;
    for (std::size_t i = 0; i < positions_.size(); ++i) content.push_back(random.between(low_, high_));
    return content;
  }
  // The part and the answer token; what stands between is of no concern to the part's sums.
  Prompt begun(const Tokens& content) const {
    Prompt prompt{task_->prompt_length(), {Tokens(static_cast<std::size_t>(task_->prompt_length()), 0)}};
    for (std::size_t i = 0; i < positions_.size(); ++i)
      prompt.fields[0][static_cast<std::size_t>(positions_[i])] = content[i];
    prompt.fields[0].back() = last_;
    return prompt;
  }
  // Both with the rest that `first` fits; nothing where the task does not tell them apart.
  std::optional<std::pair<Prompt, Prompt>> complete(const Tokens& first, const Tokens& second) const {
    std::pair<Prompt, Prompt> pair{begun(first), begun(second)};
    const auto name = task_->name();
    const std::size_t n = positions_.size();
    const auto put = [&](std::size_t position, std::int64_t token) {
      pair.first.fields[0][position] = pair.second.fields[0][position] = token;
    };
    if (name == "three-sum") {
      const auto only = std::find_if(first.begin(), first.end(), [&](std::int64_t v) {
        return std::find(second.begin(), second.end(), v) == second.end();
      });
      if (only == first.end()) return std::nullopt;
      put(n, modulus_ - *only);
    } else if (name == "dyck") {
      for (std::size_t i = 0; i < n; ++i) put(2 * i + 1, types_ + first[i]);
    } else {
      const std::size_t differ = static_cast<std::size_t>(
          std::mismatch(first.begin(), first.end(), second.begin()).first - first.begin());
      put(n, 2);
      for (std::size_t i = 0; i < n; ++i) put(n + 1 + i, name == "equality" ? first[i] : i == differ ? 1 : 0);
    }
    return pair;
  }

 private:
  PartedTask(const Task& task, Tokens positions) : task_(&task), positions_(std::move(positions)) {}
  const Task* task_;
  Tokens positions_;
  std::int64_t low_ = 0, high_ = 0, last_ = 0, modulus_ = 0, types_ = 0;
};

Fitness partial_sums_fitness(const Target& target) {
  const auto bits = full_alone_bits(target);
  if (!bits || !FullLayerView::make(target))
    return {false, "not one whole full layer, alone among position-wise ones", 0};
  if (!PartedTask::make(*target.task))
    return {false, "no part of the prompt that must pass through one token's sums", 0};
  // Activations are a function of the sums, so a birthday on them ends no later; equal sums say more, and are
  // looked for first.
  const auto& d = target.weights.architecture.dimensions;
  const std::int64_t activation =
      d.width *
      stored_number(target.weights, d.norm == Norm::rms ? "norm.bits" : "stream.bits", d.precision.bits);
  return {true, fmt::format("partial sums of {}", counted(*bits, "bit")),
          static_cast<double>(std::min(*bits, activation)) / 2};
}

Result<AttackOutcome> run_partial_sums(const Target& target, const SearchOptions& options) {
  AttackOutcome outcome{.method = "partial-sums", .nominal_bits = *full_alone_bits(target)};
  const auto view = *FullLayerView::make(target);
  const auto parted = *PartedTask::make(*target.task);
  const auto query = view.query(
      view.inputs(parted.begun(parted.content(options.seed, 0)), target.length() - 1, target.length())
          .front());
  Birthday birthday;
  birthday.stage = "birthday on partial sums";
  birthday.expected_evaluations = std::exp2(std::min(static_cast<double>(outcome.nominal_bits) / 2, 62.0));
  birthday.evaluate = [&](std::uint64_t index) -> Result<std::vector<Ending>> {
    const auto content = parted.content(options.seed, index);
    const Prompt prompt = parted.begun(content);
    std::vector<FullLayerView::Row> inputs;
    for (const auto t : parted.positions()) inputs.push_back(view.inputs(prompt, t, t + 1).front());
    return std::vector<Ending>{{hash_numbers(0, view.sums(inputs, query)), hash_numbers(0, content)}};
  };
  birthday.meet = [&](std::uint64_t first, std::uint64_t second) -> Result<std::optional<Certificate>> {
    const auto one = parted.content(options.seed, first), two = parted.content(options.seed, second);
    auto pair = parted.complete(one, two);
    if (!pair) pair = parted.complete(two, one);
    if (!pair) return std::optional<Certificate>{};
    RUNG_TRY(auto certificate, certify_fooling_pair(target, pair->first, pair->second));
    if (certificate) label_fooling_pair(target, *certificate);
    return certificate;
  };
  RUNG_CHECK(search_birthday(birthday, options, outcome));
  return outcome;
}

}  // namespace

AttackMethod partial_sums_method() {
  return {"partial-sums",
          "two contents of a part of the prompt with equal sums in one full layer",
          &partial_sums_fitness,
          &run_partial_sums,
          false,
          /*spreads=*/true};
}

}  // namespace rung
