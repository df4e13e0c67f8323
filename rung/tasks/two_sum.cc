// 2-Sum-last: x_1 … x_n, x_{n+1} in [M] → 1 iff x_j + x_{n+1} ≡ 0 (mod M) for some j ≤ n. The version of all
// lower bounds. M = 2n+1 unless given. Answers are balanced: a coin decides, then the data are drawn for that
// answer (1: one place, evenly drawn, holds the match and the others are free; 0: every place avoids it).
#include "rung/tasks/residue_task.h"
#include "rung/tasks/task_list.h"

namespace rung {
namespace {

class TwoSumTask final : public ResidueTask {
 public:
  TwoSumTask(std::int64_t n, std::int64_t modulus) : ResidueTask(n, modulus) {}

  std::string_view name() const override { return "two-sum"; }
  std::int64_t prompt_length() const override { return n_ + 1; }
  // Permutation: x_1 … x_n all different, with or without the match.
  bool supports(Variant variant) const override {
    return supported(variant, {.permutation = modulus_ >= n_ + 1, .adversarial = modulus_ >= 2});
  }

  Instance generate(Variant variant, std::uint64_t seed, std::uint64_t index) const override {
    RUNG_REQUIRE(supports(variant), "two-sum {}", variant_name(variant));
    const auto n = static_cast<std::size_t>(n_);
    std::vector<std::int64_t> x(n + 1);
    if (variant == Variant::adversarial) {
      Draw pair(variant, seed, index);
      x[n] = draw(pair.random, variant, modulus_);
      const std::int64_t match = negative(x[n]);
      for (std::size_t j = 0; j < n; ++j) x[j] = (match + (coin(pair.random) ? 1 : modulus_ - 1)) % modulus_;
      const std::size_t place = pair.random.below(n);
      if (!pair.flipped) x[place] = match;
      return token_instance(std::move(x), {pair.flipped ? 0 : 1});
    }
    Random random(seed, index);
    const bool yes = modulus_ == 1 || coin(random);
    x[n] = draw(random, variant, modulus_);
    const std::int64_t match = negative(x[n]);
    const std::size_t place = random.below(n);
    if (variant == Variant::permutation) {
      // Different values of [M] without the match; numbers at or above it move up by one.
      const auto values = distinct(random, n_, modulus_ - 1);
      for (std::size_t j = 0; j < n; ++j) x[j] = values[j] + (values[j] >= match ? 1 : 0);
    } else {
      for (std::size_t j = 0; j < n; ++j) do
          x[j] = draw(random, variant, modulus_);
        while (!yes && x[j] == match);
    }
    if (yes) x[place] = match;
    return token_instance(std::move(x), {yes ? 1 : 0});
  }

  std::vector<std::int64_t> answer(const Prompt& prompt) const override {
    for (std::int64_t j = 0; j < n_; ++j)
      if ((prompt.token(j) + prompt.token(n_)) % modulus_ == 0) return {1};
    return {0};
  }
};

}  // namespace

TaskWord two_sum_word() {
  return {.name = "two-sum",
          .summary = "x_1 ... x_n, x_{n+1} in [M] -> 1 iff some x_j + x_{n+1} = 0 mod M",
          .sizes = {{"n", "numbers before the last one", 8, 1, kMaxPromptLength - 1},
                    {"M", "modulus; 2n+1 unless given", std::nullopt, 1, kMaxAlphabet}},
          .make = [](const TaskSizes& sizes, const TaskOptions&) -> Result<std::unique_ptr<Task>> {
            const std::int64_t n = sizes.at("n");
            return new_task<TwoSumTask>(n, size_or(sizes, "M", 2 * n + 1));
          }};
}

}  // namespace rung
