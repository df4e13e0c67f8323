// Tracked recall by delta + full: every instance of the smallest sizes, words far longer than the memory, and a model
// whose mark does not move, which must fail.
#include "tests/constructions/forms.h"
#include "tests/constructions/verified.h"

namespace rung {
namespace {

TEST(TrackedRecall, is_right_on_all_small_instances_and_on_long_words) {
  for (const char* line :
       {"tracked-recall --n 2 --w 3", "tracked-recall --n 3 --sigma 2 --w 2",
        "tracked-recall --n 3 --w 2 --group cyclic", "tracked-recall --n 4 --sigma 2 --w 2 --group xor",
        "tracked-recall --n 7 --w 300", "tracked-recall --n 8 --sigma 3 --w 200 --group xor",
        "tracked-recall --n 5 --w 100 --group cyclic"}) {
    const Construction made = built(request_of_line(line));
    EXPECT_EQ(made.p_proved, made.weights.architecture.dimensions.precision.bits) << line;
    const Verification found = verified(made, {.budget = 20'000, .samples = 100});
    EXPECT_EQ(found.errors, 0u) << line << " "
                                << (found.failure ? show_failure(*made.task, *found.failure) : "");
    EXPECT_GT(found.instances, 0u) << line;
  }
}

TEST(TrackedRecall, fails_where_no_letter_moves_the_mark) {
  Construction made = built(request_of_line("tracked-recall --n 4 --w 3"));
  auto& beta = made.weights.tensors.at("layers.0.beta.weight");
  beta = integer_tensor(beta.shape, std::vector<std::int64_t>(static_cast<std::size_t>(beta.size()), 0));
  EXPECT_GT(verified(made, {.budget = 1000, .samples = 100}).errors, 0u);
}

}  // namespace
}  // namespace rung
