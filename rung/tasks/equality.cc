// Equality: a#b# → 1 iff a = b. Answers are balanced by a coin; b is a itself, or drawn until it differs.
// Adversarial: b differs from a in exactly one place, or nowhere. Zipf: bit 0 has probability 2/3.
#include "rung/tasks/task_list.h"
#include "rung/tasks/two_strings.h"

namespace rung {
namespace {

class EqualityTask final : public TwoStringsTask {
 public:
  explicit EqualityTask(std::int64_t n) : TwoStringsTask(n) {}
  std::string_view name() const override { return "equality"; }

  Instance generate(Variant variant, std::uint64_t seed, std::uint64_t index) const override {
    RUNG_REQUIRE(supports(variant), "equality {}", variant_name(variant));
    Draw drawn(variant, seed, index);
    Random& random = drawn.random;
    const Bits first = draw_bits(random, variant);
    Bits second = first;
    bool yes = !drawn.flipped;
    if (variant == Variant::adversarial) {
      auto& bit = second[random.below(second.size())];
      if (drawn.flipped) bit = 1 - bit;
    } else if (yes = coin(random); !yes) {
      while (second == first) second = draw_bits(random, variant);
    }
    return two_strings(first, second, yes);
  }

  std::vector<std::int64_t> answer(const Prompt& prompt) const override {
    for (std::int64_t i = 0; i < n_; ++i)
      if (a(prompt, i) != b(prompt, i)) return {0};
    return {1};
  }
};

}  // namespace

TaskWord equality_word() {
  return {.name = "equality",
          .summary = "a#b#, strings of n bits -> 1 iff a = b",
          .sizes = {{"n", "bits of a and of b", 8, 1, kMaxPromptLength / 2 - 1}},
          .make = [](const TaskSizes& sizes, const TaskOptions&) {
            return new_task<EqualityTask>(sizes.at("n"));
          }};
}

}  // namespace rung
