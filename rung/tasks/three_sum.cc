// 3-Sum: x_1 … x_n in [M] → 1 iff x_i + x_j + x_k ≡ 0 (mod M) for different i, j, k; read at the last number.
// Answers are balanced by a coin. 1: free data, then one triple is planted. 0: where M ≥ n² each number in
// turn avoids what would close a triple; below that the lower third 1 .. ⌊(M-1)/3⌋, which has no triple,
// times a unit of Z_M. M = n²+1 unless given.
#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "rung/tasks/residue_task.h"
#include "rung/tasks/task_list.h"

namespace rung {
namespace {

class ThreeSumTask final : public ResidueTask {
 public:
  ThreeSumTask(std::int64_t n, std::int64_t modulus) : ResidueTask(n, modulus) {}

  std::string_view name() const override { return "three-sum"; }
  bool supports(Variant variant) const override {
    return supported(variant, {.permutation = n_ >= 3 && n_ <= lower_third(), .adversarial = n_ >= 3});
  }

  Instance generate(Variant variant, std::uint64_t seed, std::uint64_t index) const override {
    RUNG_REQUIRE(supports(variant), "three-sum {}", variant_name(variant));
    Draw drawn(variant, seed, index);
    Random& random = drawn.random;
    const bool yes = n_ >= 3 && (variant == Variant::adversarial ? !drawn.flipped : coin(random));
    if (variant == Variant::permutation) return token_instance(different(random, yes), {yes ? 1 : 0});
    std::vector<std::int64_t> x(static_cast<std::size_t>(n_));
    if (variant == Variant::adversarial)
      for (auto& value : x) value = 1 + draw(random, variant, lower_third());
    else if (yes || n_ < 3)
      for (auto& value : x) value = draw(random, variant, modulus_);
    else if (modulus_ / n_ >= n_)
      avoid_triples(random, variant, x);
    else {
      const std::int64_t scale = unit(random);
      for (auto& value : x) value = times(scale, 1 + draw(random, variant, lower_third()));
    }
    if (n_ >= 3) {
      const auto places = distinct(random, 3, n_);
      if (yes) plant(x, places);
    }
    return token_instance(std::move(x), {yes ? 1 : 0});
  }

  std::vector<std::int64_t> answer(const Prompt& prompt) const override {
    // For every pair i < j: does the third number stand after j?
    std::unordered_map<std::int64_t, std::int64_t> last;
    for (std::int64_t t = 0; t < n_; ++t) last[prompt.token(t)] = t;
    for (std::int64_t i = 0; i < n_; ++i)
      for (std::int64_t j = i + 1; j < n_; ++j) {
        const auto third = last.find(closing(prompt.token(i), prompt.token(j)));
        if (third != last.end() && third->second > j) return {1};
      }
    return {0};
  }

 private:
  std::int64_t lower_third() const { return (modulus_ - 1) / 3; }
  std::int64_t closing(std::int64_t a, std::int64_t b) const { return (2 * modulus_ - a - b) % modulus_; }
  std::int64_t times(std::int64_t a, std::int64_t b) const {
    return static_cast<std::int64_t>(static_cast<__int128>(a) * b % modulus_);
  }
  std::int64_t unit(Random& random) const {
    for (;;)
      if (const std::int64_t u = draw(random, Variant::uniform, modulus_); std::gcd(u, modulus_) == 1)
        return u;
  }
  void plant(std::vector<std::int64_t>& x, const std::vector<std::int64_t>& places) const {
    const auto at = [&](int i) -> std::int64_t& {
      return x[static_cast<std::size_t>(places[static_cast<std::size_t>(i)])];
    };
    at(2) = closing(at(0), at(1));
  }

  // REQUIRES M >= n²: fewer than n²/2 values are shut out at any time.
  void avoid_triples(Random& random, Variant variant, std::vector<std::int64_t>& x) const {
    std::unordered_map<std::int64_t, int> seen;  // value -> how often
    const auto closes = [&](std::int64_t value) {
      for (const auto& [first, times_seen] : seen) {
        const std::int64_t second = closing(value, first);
        const auto found = seen.find(second);
        if (found != seen.end() && (second != first || times_seen >= 2)) return true;
      }
      return false;
    };
    for (auto& value : x) {
      do value = draw(random, variant, modulus_);
      while (closes(value));
      ++seen[value];
    }
  }

  std::vector<std::int64_t> different(Random& random, bool yes) const {
    const std::int64_t scale = unit(random);
    auto x = distinct(random, n_, lower_third());
    for (auto& value : x) value = times(scale, value + 1);
    const auto places = distinct(random, 3, n_);
    if (yes) plant(x, places);  // new: in the lower third no two numbers are closed by a third
    return x;
  }
};

}  // namespace

TaskWord three_sum_word() {
  return {.name = "three-sum",
          .summary = "x_1 ... x_n in [M] -> 1 iff some x_i + x_j + x_k = 0 mod M, i, j, k different",
          .sizes = {{"n", "numbers", 8, 1, kMaxPromptLength},
                    {"M", "modulus; n^2+1 unless given, 4 at least", std::nullopt, 4, kMaxAlphabet}},
          .make = [](const TaskSizes& sizes, const TaskOptions&) -> Result<std::unique_ptr<Task>> {
            const std::int64_t n = sizes.at("n");
            const std::int64_t modulus = n > (1 << 29) ? kMaxAlphabet : std::max<std::int64_t>(4, n * n + 1);
            return new_task<ThreeSumTask>(n, size_or(sizes, "M", modulus));
          }};
}

}  // namespace rung
