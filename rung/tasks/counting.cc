// Counting: n symbols, a symbol a, a number k → 1 iff a comes at least k times. Token ids: symbols are [σ],
// the number k = 1 .. n is σ+k-1. With --k the number is the same in every prompt. Answers are balanced by a
// coin where σ ≥ 2, and the count is drawn evenly on the answer's side (k .. n, or 0 .. k-1). Adversarial:
// the count is k, or k-1.
#include <algorithm>

#include "rung/tasks/sampling.h"
#include "rung/tasks/task_list.h"
#include "rung/tasks/token_task.h"

namespace rung {
namespace {

class CountingTask final : public TokenTask {
 public:
  CountingTask(std::int64_t n, std::int64_t sigma, std::int64_t fixed)
      : n_(n), sigma_(sigma), fixed_(fixed) {}

  std::string_view name() const override { return "counting"; }
  SizeList size() const override { return {{"n", n_}, {"sigma", sigma_}, {"k", fixed_}}; }
  AnswerSpec answer_spec() const override { return boolean_answer(); }
  std::int64_t prompt_length() const override { return n_ + 2; }
  bool supports(Variant variant) const override {
    return supported(variant, {.permutation = false, .adversarial = sigma_ >= 2});
  }

  Instance generate(Variant variant, std::uint64_t seed, std::uint64_t index) const override {
    RUNG_REQUIRE(supports(variant), "counting {}", variant_name(variant));
    Draw drawn(variant, seed, index);
    Random& random = drawn.random;
    const std::int64_t symbol = draw(random, variant, sigma_);
    const std::int64_t k = fixed_ > 0 ? fixed_ : 1 + draw(random, variant, n_);
    const bool yes = variant == Variant::adversarial ? !drawn.flipped : sigma_ == 1 || coin(random);
    std::int64_t count = n_;
    if (variant == Variant::adversarial)
      count = k;
    else if (sigma_ > 1)
      count = yes ? random.between(k, n_) : random.between(0, k - 1);
    std::vector<std::int64_t> tokens(static_cast<std::size_t>(n_), symbol);
    for (std::int64_t t = count; t < n_; ++t) {
      auto& other = tokens[static_cast<std::size_t>(t)];
      while (other == symbol) other = draw(random, variant, sigma_);
    }
    random.shuffle(tokens);
    if (variant == Variant::adversarial) {
      const std::int64_t replacement = other_than(random, symbol, sigma_);
      std::uint64_t which = random.below(static_cast<std::uint64_t>(k));
      for (auto& token : tokens)
        if (token == symbol && which-- == 0) {
          if (drawn.flipped) token = replacement;
          break;
        }
    }
    tokens.push_back(symbol);
    tokens.push_back(sigma_ + k - 1);
    return token_instance(std::move(tokens), {yes ? 1 : 0});
  }

  std::vector<std::int64_t> answer(const Prompt& prompt) const override {
    const auto& tokens = prompt.fields[0];
    const auto count = std::count(tokens.begin(), tokens.begin() + n_, prompt.token(n_));
    return {count >= prompt.token(n_ + 1) - sigma_ + 1 ? 1 : 0};
  }

  std::string text(const Prompt& prompt) const override {
    std::string out;
    for (std::int64_t t = 0; t < n_; ++t) out += fmt::format("{} ", prompt.token(t));
    return out + fmt::format("| {} | {}", prompt.token(n_), prompt.token(n_ + 1) - sigma_ + 1);
  }

 protected:
  std::int64_t vocabulary() const override { return sigma_ + n_; }
  Range range(std::int64_t position) const override {
    if (position <= n_) return {0, sigma_};
    return fixed_ > 0 ? Range{sigma_ + fixed_ - 1, 1} : Range{sigma_, n_};
  }

 private:
  std::int64_t n_, sigma_, fixed_;
};

Result<std::unique_ptr<Task>> make_counting(const TaskSizes& sizes, const TaskOptions&) {
  const std::int64_t n = sizes.at("n"), k = sizes.at("k");
  if (k > n)
    return fail(ErrorCode::range, "[task] k = {} of counting with n = {} symbols; expected k at most n", k,
                n);
  return new_task<CountingTask>(n, sizes.at("sigma"), k);
}

}  // namespace

TaskWord counting_word() {
  return {.name = "counting",
          .summary = "n symbols, a symbol, a number k -> 1 iff the symbol comes at least k times",
          .sizes = {{"n", "symbols", 8, 1, kMaxPromptLength - 2},
                    {"sigma", "alphabet", 4, 1, kMaxAlphabet / 2},
                    {"k", "the number in every prompt; 0: drawn from 1 .. n", 0, 0, kMaxPromptLength}},
          .make = make_counting};
}

}  // namespace rung
