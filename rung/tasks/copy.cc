// Copy: n symbols of [σ], then a blank for each → the symbols again, one at each blank. Token ids: symbols are [σ], the
// blank is σ. Adversarial: a word, and the same with one symbol exchanged.
#include <numeric>

#include "rung/tasks/sampling.h"
#include "rung/tasks/task_list.h"
#include "rung/tasks/token_task.h"

namespace rung {
namespace {

class CopyTask final : public TokenTask {
 public:
  CopyTask(std::int64_t n, std::int64_t sigma) : n_(n), sigma_(sigma) {}

  std::string_view name() const override { return "copy"; }
  SizeList size() const override { return {{"n", n_}, {"sigma", sigma_}}; }
  AnswerSpec answer_spec() const override { return token_answer(sigma_); }
  std::int64_t prompt_length() const override { return 2 * n_; }
  std::vector<std::int64_t> query_positions() const override {
    std::vector<std::int64_t> positions(static_cast<std::size_t>(n_));
    std::iota(positions.begin(), positions.end(), n_);
    return positions;
  }
  bool supports(Variant variant) const override {
    switch (variant) {
      case Variant::permutation:
        return sigma_ >= n_;  // all symbols different
      case Variant::adversarial:
        return sigma_ >= 2;
      default:
        return true;
    }
  }

  Instance generate(Variant variant, std::uint64_t seed, std::uint64_t index) const override {
    RUNG_REQUIRE(supports(variant), "copy {}", variant_name(variant));
    Draw drawn(variant, seed, index);
    std::vector<std::int64_t> word(static_cast<std::size_t>(n_));
    if (variant == Variant::permutation)
      word = distinct(drawn.random, n_, sigma_);
    else
      for (auto& symbol : word) symbol = draw(drawn.random, variant, sigma_);
    if (variant == Variant::adversarial) {
      std::int64_t& place = word[drawn.random.below(word.size())];
      const std::int64_t other = other_than(drawn.random, place, sigma_);
      if (drawn.flipped) place = other;
    }
    std::vector<std::int64_t> tokens = word;
    tokens.resize(2 * word.size(), sigma_);
    return token_instance(std::move(tokens), std::move(word));
  }

  std::vector<std::int64_t> answer(const Prompt& prompt) const override {
    return {prompt.fields[0].begin(), prompt.fields[0].begin() + n_};
  }
  std::string symbol(std::size_t, std::int64_t value) const override {
    return value == sigma_ ? "_" : std::to_string(value);
  }

 protected:
  std::int64_t vocabulary() const override { return sigma_ + 1; }
  Range range(std::int64_t position) const override {
    return position < n_ ? Range{0, sigma_} : Range{sigma_, 1};
  }

 private:
  std::int64_t n_, sigma_;
};

}  // namespace

TaskWord copy_word() {
  return {
      .name = "copy",
      .summary = "n symbols of [sigma], then n blanks -> the symbols again",
      .sizes = {{"n", "symbols", 8, 1, kMaxPromptLength / 2}, {"sigma", "alphabet", 4, 1, kMaxAlphabet - 1}},
      .make = [](const TaskSizes& sizes, const TaskOptions&) {
        return new_task<CopyTask>(sizes.at("n"), sizes.at("sigma"));
      }};
}

}  // namespace rung
