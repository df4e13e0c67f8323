// 2-Sum-exists: x_1 … x_n in [M] → 1 iff x_i + x_j ≡ 0 (mod M) for some i ≠ j; read at the last number.
// Answers are balanced by a coin. 1: free data, then one pair is planted at two places. 0: each number in
// turn avoids the negatives of those before it. M = 2n+1 unless given.
#include <algorithm>
#include <unordered_set>

#include "rung/tasks/residue_task.h"
#include "rung/tasks/task_list.h"

namespace rung {
namespace {

class TwoSumExistsTask final : public ResidueTask {
 public:
  TwoSumExistsTask(std::int64_t n, std::int64_t modulus) : ResidueTask(n, modulus) {}

  std::string_view name() const override { return "two-sum-exists"; }
  bool supports(Variant variant) const override {
    return supported(variant, {.permutation = n_ >= 2 && modulus_ >= 3 && n_ <= classes(),
                               .adversarial = n_ >= 2 && modulus_ >= 3});
  }

  Instance generate(Variant variant, std::uint64_t seed, std::uint64_t index) const override {
    RUNG_REQUIRE(supports(variant), "two-sum-exists {}", variant_name(variant));
    Draw drawn(variant, seed, index);
    Random& random = drawn.random;
    const auto n = static_cast<std::size_t>(n_);
    bool yes = false;
    std::vector<std::int64_t> x;
    if (variant == Variant::adversarial) {
      yes = !drawn.flipped;
      x.resize(n);  // numbers of 1 .. ⌊(M-1)/2⌋ have no pair
      for (auto& value : x) value = 1 + draw(random, variant, (modulus_ - 1) / 2);
    } else {
      const bool no_possible = modulus_ >= 3 || n_ <= modulus_;
      yes = n_ >= 2 && (!no_possible || coin(random));
      x = variant == Variant::permutation ? different(random, yes) : numbers(random, variant, yes);
    }
    if (n_ >= 2) {
      const auto places = distinct(random, 2, n_);
      if (yes && variant != Variant::permutation)
        x[static_cast<std::size_t>(places[1])] = negative(x[static_cast<std::size_t>(places[0])]);
    }
    return token_instance(std::move(x), {yes ? 1 : 0});
  }

  std::vector<std::int64_t> answer(const Prompt& prompt) const override {
    std::unordered_set<std::int64_t> seen;
    for (std::int64_t t = 0; t < n_; ++t) {
      if (seen.contains(negative(prompt.token(t)))) return {1};
      seen.insert(prompt.token(t));
    }
    return {0};
  }

 private:
  // Numbers up to sign: {0}, {v, -v}, and {M/2} where M is even.
  std::int64_t classes() const { return modulus_ / 2 + 1; }

  std::vector<std::int64_t> numbers(Random& random, Variant variant, bool yes) const {
    std::vector<std::int64_t> x(static_cast<std::size_t>(n_));
    std::unordered_set<std::int64_t> seen;
    for (auto& value : x) {
      // For every v at most one of v and -v is shut out, so few draws are lost.
      do value = draw(random, variant, modulus_);
      while (!yes && seen.contains(negative(value)));
      if (!yes) seen.insert(value);
    }
    return x;
  }

  // Different numbers, one of each class with a sign of its own; with a planted pair v, -v when `yes`.
  std::vector<std::int64_t> different(Random& random, bool yes) const {
    const std::int64_t signless = (modulus_ - 1) / 2;  // the classes {v, -v}, v = 1 .. signless
    auto x = distinct(random, n_, classes());
    for (auto& value : x)
      if (value >= 1 && value <= signless && coin(random)) value = negative(value);
    if (!yes) return x;
    // A pair needs a class of two: keep one that is there, or put one in the place of the first number.
    auto one = std::find_if(x.begin(), x.end(), [&](auto v) { return v != negative(v); });
    if (one == x.end()) {
      one = x.begin();
      *one = 1 + draw(random, Variant::uniform, signless);
    }
    const auto offset = 1 + random.below(x.size() - 1);
    x[(static_cast<std::size_t>(one - x.begin()) + offset) % x.size()] = negative(*one);
    random.shuffle(x);
    return x;
  }
};

}  // namespace

TaskWord two_sum_exists_word() {
  return {.name = "two-sum-exists",
          .summary = "x_1 ... x_n in [M] -> 1 iff some x_i + x_j = 0 mod M, i != j",
          .sizes = {{"n", "numbers", 8, 1, kMaxPromptLength},
                    {"M", "modulus; 2n+1 unless given", std::nullopt, 1, kMaxAlphabet}},
          .make = [](const TaskSizes& sizes, const TaskOptions&) -> Result<std::unique_ptr<Task>> {
            const std::int64_t n = sizes.at("n");
            return new_task<TwoSumExistsTask>(n, size_or(sizes, "M", 2 * n + 1));
          }};
}

}  // namespace rung
