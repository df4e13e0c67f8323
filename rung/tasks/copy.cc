// Copy: n symbols of [σ], then a blank for each → the symbols again, one at each blank. Selective copy (Gu, Dao 2312.00752):
// m places, n of which hold a symbol and the others nothing, drawn evenly, then n blanks → the symbols in their order.
// Token ids: symbols are [σ], in selective copy nothing is σ, the blank comes last. Adversarial: one symbol exchanged.
#include <algorithm>
#include <numeric>

#include "rung/tasks/sampling.h"
#include "rung/tasks/task_list.h"
#include "rung/tasks/token_task.h"

namespace rung {
namespace {

class CopyTask final : public TokenTask {
 public:
  CopyTask(bool selective, std::int64_t n, std::int64_t places, std::int64_t sigma)
      : selective_(selective), n_(n), places_(places), sigma_(sigma) {}

  std::string_view name() const override { return selective_ ? "selective-copy" : "copy"; }
  SizeList size() const override {
    if (!selective_) return {{"n", n_}, {"sigma", sigma_}};
    return {{"n", n_}, {"m", places_}, {"sigma", sigma_}};
  }
  AnswerSpec answer_spec() const override { return token_answer(sigma_); }
  std::int64_t prompt_length() const override { return places_ + n_; }
  std::vector<std::int64_t> query_positions() const override {
    std::vector<std::int64_t> positions(static_cast<std::size_t>(n_));
    std::iota(positions.begin(), positions.end(), places_);
    return positions;
  }
  // Permutation: all symbols different.
  bool supports(Variant variant) const override {
    return supported(variant, {.permutation = sigma_ >= n_, .adversarial = sigma_ >= 2});
  }

  Instance generate(Variant variant, std::uint64_t seed, std::uint64_t index) const override {
    RUNG_REQUIRE(supports(variant), "{} {}", name(), variant_name(variant));
    Draw drawn(variant, seed, index);
    std::vector<std::int64_t> word(static_cast<std::size_t>(n_));
    if (variant == Variant::permutation)
      word = distinct(drawn.random, n_, sigma_);
    else
      for (auto& symbol : word) symbol = draw(drawn.random, variant, sigma_);
    std::vector<std::int64_t> marked(word.size());
    std::iota(marked.begin(), marked.end(), 0);
    if (selective_) {
      marked = distinct(drawn.random, n_, places_);
      std::sort(marked.begin(), marked.end());
    }
    if (variant == Variant::adversarial) {
      std::int64_t& symbol = word[drawn.random.below(word.size())];
      const std::int64_t other = other_than(drawn.random, symbol, sigma_);
      if (drawn.flipped) symbol = other;
    }
    std::vector<std::int64_t> tokens(static_cast<std::size_t>(places_), nothing());
    for (std::size_t i = 0; i < word.size(); ++i) tokens[static_cast<std::size_t>(marked[i])] = word[i];
    tokens.resize(static_cast<std::size_t>(prompt_length()), blank());
    return token_instance(std::move(tokens), std::move(word));
  }

  std::vector<std::int64_t> answer(const Prompt& prompt) const override {
    std::vector<std::int64_t> symbols;
    for (std::int64_t t = 0; t < places_; ++t)
      if (prompt.token(t) < sigma_) symbols.push_back(prompt.token(t));
    return symbols;
  }

  Result<void> validate(const Prompt& prompt) const override {
    RUNG_CHECK(TokenTask::validate(prompt));
    const std::int64_t found = symbols_in(prompt);
    if (found != n_)
      return fail(ErrorCode::format, "[task] a selective-copy prompt with {} symbols; expected {}", found,
                  n_);
    return {};
  }

  // A place can hold nothing while enough places are left for the symbols, and a symbol while some are.
  std::int64_t choices(const Prompt& prefix) const override {
    if (prefix.positions >= places_) return 1;
    const std::int64_t missing = n_ - symbols_in(prefix);
    return (missing > 0 ? sigma_ : 0) + (places_ - prefix.positions > missing ? 1 : 0);
  }
  void extend(Prompt& prefix, std::int64_t choice) const override {
    RUNG_REQUIRE(choice >= 0 && choice < choices(prefix), "choice={}", choice);
    const bool symbol = prefix.positions < places_ && n_ > symbols_in(prefix) && choice < sigma_;
    prefix.fields[0].push_back(prefix.positions >= places_ ? blank() : symbol ? choice : nothing());
    ++prefix.positions;
  }

  std::string symbol(std::size_t, std::int64_t value) const override {
    return value == blank() ? "_" : value == nothing() ? "." : std::to_string(value);
  }

 protected:
  std::int64_t vocabulary() const override { return blank() + 1; }
  Range range(std::int64_t position) const override {
    return position < places_ ? Range{0, blank()} : Range{blank(), 1};
  }

 private:
  std::int64_t nothing() const { return sigma_; }
  std::int64_t blank() const { return sigma_ + selective_; }
  std::int64_t symbols_in(const Prompt& prompt) const {
    return std::count_if(prompt.fields[0].begin(), prompt.fields[0].end(),
                         [&](std::int64_t token) { return token < sigma_; });
  }

  bool selective_;
  std::int64_t n_, places_, sigma_;
};

Result<std::unique_ptr<Task>> make_selective_copy(const TaskSizes& sizes, const TaskOptions&) {
  const std::int64_t n = sizes.at("n"), places = size_or(sizes, "m", 2 * n);
  if (places < n)
    return fail(ErrorCode::range,
                "[task] selective-copy of n = {} symbols in m = {} places; expected m at least {}", n, places,
                n);
  return new_task<CopyTask>(true, n, places, sizes.at("sigma"));
}

}  // namespace

TaskWord copy_word() {
  return {
      .name = "copy",
      .summary = "n symbols of [sigma], then n blanks -> the symbols again",
      .sizes = {{"n", "symbols", 8, 1, kMaxPromptLength / 2}, {"sigma", "alphabet", 4, 1, kMaxAlphabet - 1}},
      .make = [](const TaskSizes& sizes, const TaskOptions&) {
        return new_task<CopyTask>(false, sizes.at("n"), sizes.at("n"), sizes.at("sigma"));
      }};
}

TaskWord selective_copy_word() {
  return {.name = "selective-copy",
          .summary = "m places, n of them symbols of [sigma], then n blanks -> the symbols in their order",
          .sizes = {{"n", "symbols", 4, 1, kMaxPromptLength / 3},
                    {"m", "places; 2n unless given", std::nullopt, 1, kMaxPromptLength},
                    {"sigma", "alphabet", 4, 1, kMaxAlphabet - 2}},
          .make = make_selective_copy};
}

}  // namespace rung
