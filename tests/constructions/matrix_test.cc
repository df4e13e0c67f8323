// The matrix construction × size × p: every form passes at the precision that its lemma proves, at the
// smallest that was found and one bit above; one bit, one layer, one head or one bit of state less fails,
// with an instance that the task confirms.
#include "rung/constructions/reduction.h"
#include "tests/constructions/forms.h"
#include "tests/constructions/verified.h"

namespace rung {
namespace {

constexpr VerificationOptions kMatrix{.budget = 1000, .samples = 30};

void expect_shown(const Construction& made, const FailedInstance& failure, const std::string& what) {
  EXPECT_TRUE(made.task->validate(failure.prompt)) << what;
  EXPECT_EQ(made.task->answer(failure.prompt), failure.expected) << what;
  EXPECT_NE(failure.answered, failure.expected) << what;
}

class Matrix : public testing::TestWithParam<Form> {};
INSTANTIATE_TEST_SUITE_P(Constructions, Matrix, testing::ValuesIn(forms()),
                         [](const auto& info) { return info.param.name; });

TEST_P(Matrix, passes_at_every_size_and_precision_and_fails_one_bit_below) {
  for (const auto& line : GetParam().lines) {
    ConstructionRequest request = request_of_line(line);
    const Construction proved = built(request);
    ASSERT_TRUE(proved.p_proved) << line;
    EXPECT_EQ(proved.weights.architecture.dimensions.precision.bits, *proved.p_proved) << line;
    const auto search = search_precision(request, kMatrix, 2, *proved.p_proved);
    ASSERT_TRUE(search) << line << " " << search.error().message;
    ASSERT_TRUE(search->p_measured) << line;
    for (const int p : {*search->p_measured, *proved.p_proved, *proved.p_proved + 1}) {
      request.precision = p;
      const Construction made = built(request);
      const Verification found = verified(made, kMatrix);
      EXPECT_EQ(found.errors, 0u) << line << " p=" << p << " "
                                  << (found.failure ? show_failure(*made.task, *found.failure) : "");
      EXPECT_GT(found.instances, 0u);
      if (p < *proved.p_proved) continue;
      ASSERT_TRUE(found.interval) << line;
      EXPECT_TRUE(found.interval->holds) << line << " p=" << p << " " << found.interval->reason;
    }
    if (*search->p_measured == 2) continue;  // nothing lies below
    EXPECT_EQ(search->failed_at, *search->p_measured - 1) << line;
    ASSERT_TRUE(search->failure) << line;
    expect_shown(proved, *search->failure, line);
  }
}

TEST_P(Matrix, fails_with_one_layer_one_head_or_one_state_bit_less) {
  for (const auto& line : GetParam().lines) {
    const Construction made = built(request_of_line(line));
    const auto all = reductions(made);
    ASSERT_TRUE(all) << all.error().message;
    const auto failing = failing_reductions(made, kMatrix);
    ASSERT_TRUE(failing) << line << " " << failing.error().message;
    EXPECT_FALSE(failing->empty()) << line;
    std::string said;
    for (const auto& reduction : *all) said += " " + reduction.what;
    said += " | fail:";
    for (const auto& less : *failing) said += " " + less.what;
    EXPECT_EQ(failing->size(), all->size()) << line << said;
    for (const auto& less : *failing) expect_shown(made, less.failure, line + " " + less.what);
  }
}

// Negative control: what a construction does not use is no failure.
TEST(Reductions, of_what_is_not_used_do_not_fail) {
  Construction made = built(request_of_line("eva --n 4"));
  made.weights.architecture.dimensions.accumulator_bits = 40;
  const auto failing = failing_reductions(made, kMatrix);
  ASSERT_TRUE(failing) << failing.error().message;
  for (const auto& less : *failing) EXPECT_NE(less.part, Reduction::Part::state);
}

}  // namespace
}  // namespace rung
