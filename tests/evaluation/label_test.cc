#include "rung/evaluation/label.h"

#include <gtest/gtest.h>

#include "rung/evaluation/evaluation.h"
#include "rung/exact/random_model.h"
#include "rung/theory/ceiling.h"

namespace rung {
namespace {

Label random_label(const std::string& line, std::int64_t n, int precision, std::int64_t width,
                   Accumulator sums, Variant variant = Variant::uniform, bool floats = false) {
  const auto task = make_task("eva", {{"n", n}});
  EXPECT_TRUE(task) << task.error().message;
  RandomModel model;
  model.architecture.stack = *parse_stack(line);
  auto& d = model.architecture.dimensions;
  d.width = width;
  d.mlp_given = true;
  d.vocabulary = n;
  d.context = n + 1;
  d.precision.bits = precision;
  model.fields = (*task)->fields();
  model.output = {OutputSpec::Kind::logits, n, 0};
  model.accumulator = sums;
  const auto weights = random_weights(model);
  EXPECT_TRUE(weights) << weights.error().message;
  const auto machine = Machine::load(*weights, {.positions = n + 1, .unrounded = floats});
  EXPECT_TRUE(machine) << machine.error().message;
  return label_of(*weights, **machine, **task, variant);
}

// A gated delta layer of one head with 4 by 4 entries of 4 bits: 64 bits, and Eva at n = 64 needs 64 lg 64 =
// 384.
TEST(Label, certifies_a_state_that_is_too_small_and_gives_its_ceiling) {
  const Label label = random_label("gdelta(form=plain)", 64, 4, 4, Accumulator::round);
  EXPECT_EQ(label.letter, LabelClass::C) << label.reason;
  EXPECT_EQ(label.ceiling, accuracy_ceiling(64, 64)) << label.ceiling_reason;
  EXPECT_LT(label.ceiling, 1);
}

TEST(Label, leaves_a_state_that_is_large_enough_uncertified) {
  const Label label = random_label("gdelta(form=plain)", 8, 8, 8, Accumulator::round);
  EXPECT_NE(label.letter, LabelClass::C) << label.reason;
  EXPECT_EQ(label.ceiling, 1) << label.ceiling_reason;
}

// Two features by two values (and their counts) of 4 bits: 24 bits, n lg n = 24 at n = 8. Exact sums of 9
// tokens need 12 bits an entry, so that nothing is impossible there, although "4 bits" seem to be.
TEST(Label, counts_exact_sums_at_their_true_width) {
  const Label rounded = random_label("linear(feature=relu)", 9, 4, 2, Accumulator::round);
  EXPECT_EQ(rounded.letter, LabelClass::C) << rounded.reason;
  const Label exact = random_label("linear(feature=relu)", 9, 4, 2, Accumulator::exact);
  EXPECT_NE(exact.letter, LabelClass::C) << exact.reason;
  EXPECT_GT(exact.ceiling, rounded.ceiling);
}

TEST(Label, reads_floats_as_thirty_two_bits) {
  const Label integers = random_label("gdelta(form=plain)", 64, 4, 4, Accumulator::round),
              floats =
                  random_label("gdelta(form=plain)", 64, 4, 4, Accumulator::round, Variant::uniform, true);
  EXPECT_EQ(integers.letter, LabelClass::C);
  EXPECT_NE(floats.letter, LabelClass::C) << floats.reason;
  EXPECT_NE(floats.reason.find("32 bits per stored number"), std::string::npos) << floats.reason;
}

TEST(Label, calls_attention_with_room_constructible_and_gives_no_ceiling) {
  const Label label = random_label("full", 16, 8, 32, Accumulator::round);
  EXPECT_EQ(label.letter, LabelClass::K) << label.reason;
  EXPECT_EQ(label.ceiling, 1);
  EXPECT_NE(label.ceiling_reason.find("attention"), std::string::npos);
}

TEST(Label, has_no_ceiling_off_the_uniform_distribution) {
  EXPECT_EQ(random_label("gdelta(form=plain)", 64, 4, 4, Accumulator::round, Variant::zipf).ceiling, 1);
  EXPECT_LT(random_label("loglinear(base=linear)", 64, 4, 4, Accumulator::round).ceiling, 1);
}

// Fewer prompts are easier: what no weights do on all tables some may do on permutations, of which there are fewer.
TEST(Label, certifies_nothing_about_prompts_that_a_variant_never_draws) {
  EXPECT_EQ(random_label("gdelta(form=plain)", 64, 4, 4, Accumulator::round, Variant::zipf).letter,
            LabelClass::C);
  const Label label = random_label("gdelta(form=plain)", 64, 4, 4, Accumulator::round, Variant::permutation);
  EXPECT_EQ(label.letter, LabelClass::G) << label.reason;
  EXPECT_NE(label.reason.find("variant permutation"), std::string::npos) << label.reason;
  EXPECT_EQ(random_label("full", 16, 8, 64, Accumulator::round, Variant::permutation).letter, LabelClass::K);
}

// The construction of parity by delta has keys of length √2: a file that brings them to length 1 has no part in it.
TEST(Label, calls_constructible_only_what_the_file_can_hold) {
  const auto task = make_task("parity", {{"n", 8}});
  RandomModel model;
  model.architecture.stack = *parse_stack("delta(heads=1,dim=4,vdim=2,form=plain)");
  auto& d = model.architecture.dimensions;
  d.width = 16;
  d.mlp_given = true;
  d.position = PositionCode::none;
  d.vocabulary = 3;
  d.precision.bits = 8;
  model.fields = (*task)->fields();
  model.output = {OutputSpec::Kind::logits, 2, 0};
  model.accumulator = Accumulator::round;
  auto weights = random_weights(model);
  ASSERT_TRUE(weights) << weights.error().message;
  ASSERT_TRUE(weights->tensors.contains("layers.0.key.fraction"));
  const auto letter = [&](bool floats) {
    const auto machine = Machine::load(*weights, {.positions = 9, .unrounded = floats});
    EXPECT_TRUE(machine) << machine.error().message;
    return label_of(*weights, **machine, **task, Variant::uniform).letter;
  };
  for (const bool floats : {false, true}) EXPECT_EQ(letter(floats), LabelClass::G);
  for (const char* name : {"key.fraction", "key.bits", "key.extra"})
    weights->tensors.erase(std::string("layers.0.") + name);
  for (const bool floats : {false, true}) EXPECT_EQ(letter(floats), LabelClass::K);
}

TEST(Interval, is_students_over_members) {
  const double five[] = {0.9, 0.92, 0.94, 0.96, 0.98};
  const auto interval = student_interval(five);  // s = 0.0316228, t(4) = 2.776445
  ASSERT_TRUE(interval);
  EXPECT_NEAR(interval->low, 0.94 - 2.776445 * 0.0316228 / 2.2360680, 1e-6);
  EXPECT_NEAR(interval->high, 0.94 + 2.776445 * 0.0316228 / 2.2360680, 1e-6);
  const double two[] = {0.4, 0.6};
  EXPECT_EQ(student_interval(two)->low, 0);
  EXPECT_EQ(student_interval(two)->high, 1);
  EXPECT_FALSE(student_interval(std::span(two, 1)));
}

TEST(Interval, has_a_lower_bound_that_neither_members_nor_their_samples_make_certain) {
  const AnswerCount five[] = {{900, 1000}, {920, 1000}, {940, 1000}, {960, 1000}, {980, 1000}};
  EXPECT_NEAR(accuracy_lower_bound(five), 0.94 - 2.131847 * 0.0316228 / 2.2360680, 1e-6);  // t(4), one-sided
  const AnswerCount agreed[] = {{1000, 1000}, {1000, 1000}, {1000, 1000}};
  const double z = 1.6448536;
  EXPECT_NEAR(accuracy_lower_bound(agreed), 1000 / (1000 + z * z), 1e-7);
  EXPECT_NEAR(accuracy_lower_bound(std::span(agreed, 1)), 1000 / (1000 + z * z), 1e-7);
  const AnswerCount apart[] = {{400, 1000}, {600, 1000}};
  EXPECT_EQ(accuracy_lower_bound(apart), 0);
  EXPECT_EQ(accuracy_lower_bound({}), 0);
}

}  // namespace
}  // namespace rung
