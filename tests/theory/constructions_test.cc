// Costs of constructions: goldens of the retrieval gadget, and the verdict on exactly the architecture that a
// cost describes.
#include "rung/theory/constructions_cost.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "rung/theory/trigonometric_match.h"
#include "tests/theory/asked.h"

namespace rung {
namespace {

TEST(constructions, two_sum_and_encoder_goldens) {
  EXPECT_NEAR(trigonometric_scale(4, 9, Blank::counting), 42.1, 0.05);
  EXPECT_NEAR(trigonometric_scale(4, 9, Blank::threshold), 56.1, 0.1);
  EXPECT_EQ(encoder_layers(1), 2);
  EXPECT_EQ(encoder_layers(2), 3);
  EXPECT_EQ(encoder_layers(3), 3);
  EXPECT_EQ(encoder_layers(4), 4);
  EXPECT_EQ(encoder_layers(5), 4);
  EXPECT_EQ(eva_linear_cost(4096).state_bits(), 4096 * 12);  // n lg n at n = 4^k
  EXPECT_EQ(dyck_cost(2, 2)->state_bits(), 2 * 1 + 2 + 1);
  EXPECT_EQ(dyck_state_bits(2, 2), 2 * 1 + 2 + 1);
}

bool proved_possible(const Verdict& v) { return v.outcome == Outcome::possible && is_proved(v.status); }

void is_possible(const Asked& asked, const std::string& line, const std::string& task,
                 const TaskSizes& sizes) {
  const auto v = asked.on(line, task, sizes);
  EXPECT_TRUE(proved_possible(v)) << line << " on " << task << " " << v.theorem << " "
                                  << (v.hypotheses.empty()
                                          ? ""
                                          : v.hypotheses.back().text + v.hypotheses.back().numbers);
}
// Not by a proof: open, or a sketch that names its gap.
void is_not_proved(const Asked& asked, const std::string& line, const std::string& task,
                   const TaskSizes& sizes) {
  const auto v = asked.on(line, task, sizes);
  EXPECT_FALSE(proved_possible(v)) << line << " on " << task << " by " << v.theorem;
}

// The architecture that a cost describes, and no more.
Asked exactly(const ConstructionCost& cost) {
  Asked asked;
  asked.dimensions.heads = cost.heads();
  asked.dimensions.head_dim = cost.key_dim();
  asked.dimensions.value_dim = cost.value_dim();
  asked.dimensions.width = cost.width;
  asked.dimensions.precision.bits = cost.precision;
  asked.dimensions.context = 0;
  asked.context(std::int64_t{1} << 20);
  return asked;
}

TEST(constructions, fit_their_own_cost_at_fifty_sizes) {
  for (int k = 1; k <= 50; ++k) {
    const std::int64_t n = 2 + k * k * k;  // to 125 002
    is_possible(exactly(eva_full_cost(n)), "full", "eva", {{"n", n}});
    is_possible(exactly(eva_linear_cost(n)), "none+linear(normalised=no,feature=identity)", "eva",
                {{"n", n}});
    is_possible(exactly(two_sum_binary_cost(n, 2 * n + 1)), "full", "two-sum", {{"n", n}});
    is_possible(exactly(equality_cost(n)), "full*2", "equality", {{"n", n}});
    const int D = std::bit_width(static_cast<std::uint64_t>(n - 1));
    is_possible(exactly(retrieval_cost(n, D, n)), "full", "retrieval", {{"n", n}});
    for (int L = 1; L <= 3; ++L) {
      TaskSizes sizes{{"L", L}, {"m", 1 + k * k}};
      for (int l = 1; l < L; ++l) sizes["n" + std::to_string(l)] = 3 + k % 5;
      const SeqcompDigits digits =
          seqcomp_digits(*make_question("seqcomp", sizes, std::int64_t{1} << 30, false));
      is_possible(exactly(seqcomp_full_cost(digits)), "full*" + std::to_string(L + 1), "seqcomp", sizes);
      is_possible(exactly(seqcomp_carried_cost(digits, false, CarryForm::columns)),
                  "linear+full*" + std::to_string(L), "seqcomp", sizes);
      is_possible(exactly(seqcomp_carried_cost(digits, true, CarryForm::columns)),
                  "full+linear" + (L > 1 ? "+full*" + std::to_string(L - 1) : ""), "seqcomp", sizes);
      is_possible(exactly(seqcomp_thought_cost(digits)).thought(), "full", "seqcomp", sizes);
      if (L > 1)
        is_possible(exactly(*seqcomp_precomposed_cost(digits, CarryForm::none)), "full*" + std::to_string(L),
                    "seqcomp", sizes);
      is_possible(exactly(seqcomp_encoder_cost(digits)).encoder(),
                  "full*" + std::to_string(encoder_layers(L)), "seqcomp", sizes);
    }
  }
}

TEST(constructions, do_not_fit_when_one_resource_is_missing) {
  const auto cost = eva_full_cost(1000);
  EXPECT_EQ(cost.key_dim(), 20);
  is_possible(exactly(cost), "full", "eva", {{"n", 1000}});
  auto narrow = exactly(cost);
  narrow.dimensions.head_dim = 19;
  is_not_proved(narrow, "full", "eva", {{"n", 1000}});
  auto coarse = exactly(cost);
  coarse.dimensions.precision.bits = cost.precision - 1;
  is_not_proved(coarse, "full", "eva", {{"n", 1000}});
  auto thin = exactly(cost);
  thin.dimensions.width = cost.width - 1;
  is_not_proved(thin, "full", "eva", {{"n", 1000}});
  is_not_proved(exactly(equality_cost(64)), "full", "equality", {{"n", 64}});
  is_not_proved(exactly(eva_linear_cost(100)), "none+linear(normalised=no,feature=identity)", "eva",
                {{"n", 101}});
  is_not_proved(exactly(eva_linear_cost(100)), "none+linear(normalised=no,feature=exp)", "eva", {{"n", 100}});
  is_not_proved(exactly(eva_linear_cost(100)), "linear(normalised=no,feature=identity)", "eva", {{"n", 100}});
}

// One number of two bits cannot name eight answers.
TEST(constructions, do_not_read_eight_answers_out_of_two_bits) {
  is_not_proved(Asked().width(512).bits(2), "linear(feature=identity,normalised=no,heads=1,dim=24,vdim=1)",
                "eva", {{"n", 8}});
  is_possible(Asked().width(512).bits(3), "linear(feature=identity,normalised=no,heads=1,dim=24,vdim=1)",
              "eva", {{"n", 8}});
}

TEST(constructions, need_a_residual_stream_that_holds_the_row) {
  for (const auto& [line, task] : {std::pair("full(heads=4,dim=64,vdim=64)", "eva"),
                                   {"full(heads=4,dim=64,vdim=64)", "index"},
                                   {"full(heads=4,dim=64,vdim=64)", "retrieval"},
                                   {"full(heads=4,dim=64,vdim=64)*3", "mqar"},
                                   {"full(heads=4,dim=64,vdim=64)*2", "equality"},
                                   {"full(heads=4,dim=64,vdim=64)", "two-sum"},
                                   {"linear(heads=8,dim=64,vdim=64,feature=relu,normalised=no)*2", "eva"},
                                   {"rnn(size=500)", "dyck"}})
    is_not_proved(Asked().width(1).bits(20), line, task, {{"n", 8}});
  is_not_proved(Asked().width(1).bits(20), "full(heads=4,dim=64,vdim=64)*3", "seqcomp",
                {{"m", 3}, {"n1", 2}});
}

TEST(constructions, that_look_up_by_position_need_positions) {
  for (const PositionCode code : {PositionCode::none, PositionCode::rope}) {
    auto asked = Asked().width(512).heads(4).bits(20);
    asked.dimensions.position = code;
    for (const char* task : {"eva", "mqar", "cgram", "equality", "counting", "two-sum", "two-sum-exists"})
      is_not_proved(asked, "full*3", task, {{"n", 8}});
    is_not_proved(asked, "full*3", "seqcomp", {{"m", 3}, {"n1", 2}});
  }
  auto asked = Asked().width(512).heads(4).bits(20).nowhere();
  is_possible(asked, "full", "retrieval", {{"n", 8}});             // keys are addresses of their own
  is_possible(asked, "rnn(cell=relu)+full", "index", {{"n", 8}});  // a recurrence counts
  is_not_proved(asked, "full", "index", {{"n", 8}});
}

// Heads that share keys and values are one head to a construction that needs several.
TEST(constructions, count_heads_with_keys_and_values_of_their_own) {
  auto asked = Asked().width(512).heads(4).bits(20);
  is_possible(asked, "full(heads=4,dim=40,vdim=20)*3", "cgram", {{"n", 12}, {"c", 5}});
  is_not_proved(asked, "full(heads=4,kv=2,dim=40,vdim=20)*3", "cgram", {{"n", 12}, {"c", 5}});
  is_not_proved(asked, "full(heads=8,kv=1,dim=10,vdim=1)", "eva", {{"n", 8}});  // three bits, one at a time
}

// Keys must repeat where there are more pairs than keys; nothing may be assumed about them.
TEST(constructions, recall_where_keys_repeat) {
  auto asked = Asked().width(512).heads(4).bits(20);
  is_not_proved(asked, "full*2", "mqar", {{"n", 8}, {"M", 4}});
  is_possible(asked, "full*3", "mqar", {{"n", 8}, {"M", 4}});
  for (const auto& text : asked.on("full*3", "mqar", {{"n", 8}, {"M", 4}}).assumes)
    EXPECT_EQ(text.find("repeats"), std::string::npos) << text;
  const int p = mqar_cost(8, 4, 8, 8)->precision;
  is_possible(Asked().width(512).heads(4).bits(p), "full*3", "mqar", {{"n", 8}, {"M", 4}});
  is_not_proved(Asked().width(512).heads(4).bits(p - 1), "full*3", "mqar", {{"n", 8}, {"M", 4}});
}

// The query's own token has a weight, too.
TEST(constructions, of_retrieval_count_the_query) {
  is_not_proved(Asked().width(512).bits(2), "full", "retrieval", {{"n", 8}});
  is_possible(Asked().width(512).bits(retrieval_cost(8, 3, 8).precision), "full", "retrieval", {{"n", 8}});
}

// Without the bias half the top score of D β saturates: no file has such keys, at any precision.
TEST(constructions, have_keys_of_twice_the_digits) {
  for (const auto& [p, D] : {std::pair(5, 11), {6, 23}, {7, 39}, {16, 11}}) {
    const std::int64_t n = (std::int64_t{1} << std::min(D, 19)) - 1;
    auto asked = Asked().width(512).bits(p).context(std::int64_t{1} << 20);
    asked.dimensions.head_dim = 2 * address_bits(n + 1) - 1;
    asked.dimensions.value_dim = 64;
    is_not_proved(asked, "full", "eva", {{"n", n}});
  }
}

// What is proved for integers says nothing about floats.
TEST(constructions, of_integers_say_nothing_about_floats) {
  for (const char* format : {"bf16", "fp16", "e4m3", "e5m2", "fp32"}) {
    auto asked = Asked().width(512).heads(4);
    asked.dimensions.precision = *parse_precision(format);
    for (const char* task :
         {"mqar", "two-sum", "two-sum-exists", "cgram", "counting", "equality", "retrieval"})
      for (const std::int64_t n : {2, 8}) {
        if (std::string(task) == "cgram" && n == 2) continue;
        is_not_proved(asked, "full*3", task, {{"n", n}});
      }
    is_not_proved(asked, "linear(feature=identity,normalised=no)*2", "eva", {{"n", 8}});
    is_not_proved(asked, "linear+full*2", "seqcomp", {{"m", 3}, {"n1", 2}});
  }
  auto asked = Asked().width(512).heads(4).bf16();
  is_possible(asked, "full", "eva", {{"n", 8}});  // whole scores, and outputs far from 1/2
  asked.dimensions.precision = *parse_precision("e4m3");
  is_not_proved(asked, "full", "eva", {{"n", 8}});
  is_possible(Asked().width(512).heads(4).bf16().exact(), "full*2", "equality", {{"n", 8}});
}

TEST(constructions, are_sketches_where_only_words_say_how) {
  const auto wide = Asked().width(512).heads(4).bits(40);
  for (const auto& [line, task, sizes] :
       {std::tuple<std::string, std::string, TaskSizes>{"sparse(B=8,k=2,form=plain)", "eva", {{"n", 64}}},
        {"topk(k=1,form=plain)", "eva", {{"n", 64}}},
        {"full(conv=4)", "eva", {{"n", 64}}},
        {"gdelta(form=plain)+full*2", "seqcomp", {{"m", 3}, {"n1", 9}}},
        {"full(window=8)+full*2", "seqcomp", {{"m", 3}, {"n1", 9}}},
        {"linear(feature=taylor2)+full*2", "seqcomp", {{"m", 3}, {"n1", 9}}}}) {
    const auto v = wide.on(line, task, sizes);
    EXPECT_EQ(v.outcome, Outcome::possible) << line;
    EXPECT_EQ(v.status, Status::sketch) << line;
    ASSERT_FALSE(v.assumes.empty());
    EXPECT_NE(v.assumes.back().find("not written as weights"), std::string::npos) << v.assumes.back();
  }
  auto normed = wide;
  normed.dimensions.norm = Norm::rms;
  EXPECT_EQ(normed.on("full", "eva", {{"n", 64}}).status, Status::sketch);
}

TEST(constructions, for_other_tasks_fit_and_fail) {
  const auto wide = Asked().width(512).heads(4).bits(40);
  is_possible(wide, "full*2", "counting", {{"n", 1000}});
  is_not_proved(Asked().width(512).heads(4).bits(16), "full*2", "counting", {{"n", 1000}});
  is_possible(wide, "full*2", "two-sum-exists", {{"n", 100}});
  is_not_proved(wide, "full", "two-sum-exists", {{"n", 100}});
  is_possible(wide, "full*3", "mqar", {{"n", 100}});
  is_possible(wide, "full*3", "cgram", {{"n", 100}});
  EXPECT_EQ(wide.on("full*2", "nearest", {{"n", 64}, {"margin", 128}}).status, Status::measured);
  is_possible(wide, "full", "index", {{"n", 100}});
  is_possible(Asked().width(64).bits(8), "rnn", "dyck", {{"n", 100}});
  is_not_proved(Asked().width(64).bits(4), "rnn", "dyck", {{"n", 100}});
  is_not_proved(Asked().width(64).bits(8), "rnn(cell=relu)", "dyck", {{"n", 100}});
  // Cosines: three dimensions, many bits.
  auto cosines = Asked().width(10).heads(1).bits(two_sum_cosines_cost(16, 33)->precision);
  cosines.dimensions.head_dim = 3;
  is_possible(cosines, "full", "two-sum", {{"n", 16}});
  is_not_proved(cosines.bits(two_sum_cosines_cost(16, 33)->precision - 1), "full", "two-sum", {{"n", 16}});
}

}  // namespace
}  // namespace rung
