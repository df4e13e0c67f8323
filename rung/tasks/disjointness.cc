// Disjointness: a#b# → 1 iff a_i ∧ b_i for no i (the sets are disjoint). Answers are balanced by a coin. 1:
// every place is drawn without (1,1); 0: both strings are drawn until they meet. Adversarial: every place is
// (0,1) or (1,0), except that the sets meet in exactly one place, or nowhere.
#include "rung/tasks/task_list.h"
#include "rung/tasks/two_strings.h"

namespace rung {
namespace {

class DisjointnessTask final : public TwoStringsTask {
 public:
  explicit DisjointnessTask(std::int64_t n) : TwoStringsTask(n) {}
  std::string_view name() const override { return "disjointness"; }

  Instance generate(Variant variant, std::uint64_t seed, std::uint64_t index) const override {
    RUNG_REQUIRE(supports(variant), "disjointness {}", variant_name(variant));
    Draw drawn(variant, seed, index);
    Random& random = drawn.random;
    Bits first = draw_bits(random, variant), second(first.size());
    bool yes = !drawn.flipped;
    if (variant == Variant::adversarial) {
      for (std::size_t i = 0; i < first.size(); ++i) second[i] = 1 - first[i];
      const std::size_t place = random.below(first.size());
      if (drawn.flipped) first[place] = second[place] = 1;
    } else if (yes = coin(random); yes) {
      for (std::size_t i = 0; i < first.size(); ++i) do {
          first[i] = draw(random, variant, 2);
          second[i] = draw(random, variant, 2);
        } while (first[i] && second[i]);
    } else {
      do {
        first = draw_bits(random, variant);
        second = draw_bits(random, variant);
      } while (!meet(first, second));
    }
    return two_strings(std::move(first), second, yes);
  }

  std::vector<std::int64_t> answer(const Prompt& prompt) const override {
    for (std::int64_t i = 0; i < n_; ++i)
      if (a(prompt, i) == 1 && b(prompt, i) == 1) return {0};
    return {1};
  }

 private:
  static bool meet(const Bits& first, const Bits& second) {
    for (std::size_t i = 0; i < first.size(); ++i)
      if (first[i] && second[i]) return true;
    return false;
  }
};

}  // namespace

TaskWord disjointness_word() {
  return {.name = "disjointness",
          .summary = "a#b#, sets as strings of n bits -> 1 iff no place has both bits set",
          .sizes = {{"n", "bits of a and of b", 8, 1, kMaxPromptLength / 2 - 1}},
          .make = [](const TaskSizes& sizes, const TaskOptions&) {
            return new_task<DisjointnessTask>(sizes.at("n"));
          }};
}

}  // namespace rung
