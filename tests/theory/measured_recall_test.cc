// What trained models kept, beside what theory proves.
#include "rung/theory/measured_recall.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "rung/theory/bound_query.h"
#include "tests/theory/asked.h"

namespace rung {
namespace {

std::optional<MeasuredRecall> of(const std::string& line, std::int64_t width = 64) {
  return measured_recall(Asked().width(width).setting(line));
}

TEST(MeasuredRecall, says_nothing_without_a_record_or_with_attention_over_the_past) {
  for (const char* line : {"full", "linear+full", "full(window=8)", "heads(full:1,linear:1)", "none",
                           "conv(width=3)", "rwkv7(rank_w=4,rank_a=4,rank_g=4)",
                           "linear+rwkv7(rank_w=4,rank_a=4,rank_g=4)", "recurrent(kind=other,elements=64)"})
    EXPECT_FALSE(of(line)) << line;
  Asked encoder;
  encoder.encoder();
  EXPECT_FALSE(measured_recall(encoder.setting("linear")));
}

TEST(MeasuredRecall, counts_the_elements_and_inverts_n_lg_n) {
  const auto one = of("delta(heads=1,dim=8)");
  ASSERT_TRUE(one);
  EXPECT_EQ(one->elements, 64);
  EXPECT_GT(one->least, 0);
  EXPECT_LE(one->least, one->most);
  const double kept = one->least * 64;
  const auto n = one->fails_from_least.convert_to<double>();
  EXPECT_GT(n * std::log2(n), kept);
  EXPECT_LE((n - 1) * std::log2(n - 1), kept);
  const auto four = of("delta(heads=1,dim=8)*4");
  ASSERT_TRUE(four);
  EXPECT_EQ(four->elements, 256);
  EXPECT_DOUBLE_EQ(four->least, one->least);
  EXPECT_GT(four->fails_from_least, one->fails_from_least);
  const auto two = of("delta(heads=1,dim=8)+linear(heads=1,dim=8)");
  ASSERT_TRUE(two);
  EXPECT_EQ(two->kinds.size(), 2u);
  EXPECT_EQ(two->elements, 64 + 72);
}

// Of log-linear attention the record counts the state of one level. Its models have one layer.
TEST(MeasuredRecall, extrapolates_to_several_layers_and_to_states_that_none_of_the_kind_had) {
  const auto extrapolated = [](const std::string& line) { return of(line).value().extrapolated; };
  EXPECT_FALSE(extrapolated("loglinear(form=plain,heads=1,dim=16)"));
  EXPECT_TRUE(extrapolated("loglinear(form=plain,heads=1,dim=32)"));
  EXPECT_FALSE(extrapolated("delta(form=plain,heads=1,dim=16)"));
  EXPECT_TRUE(extrapolated("delta(form=plain,heads=1,dim=3)"));
  EXPECT_TRUE(extrapolated("delta(form=plain,heads=1,dim=16)*2"));
}

// A state of 16 numbers kept more in each than one of 64, and that more than one of 256.
TEST(MeasuredRecall, counts_with_the_nearest_sizes_of_the_record) {
  const auto kind = [](const std::string& line) { return of(line).value().kinds.front(); };
  const MeasuredKind small = kind("delta(form=plain,heads=1,dim=4)"),
                     middle = kind("delta(form=plain,heads=1,dim=8)"),
                     large = kind("delta(form=plain,heads=1,dim=16)");
  for (const MeasuredKind& exact : {small, middle, large}) EXPECT_EQ(exact.least, exact.most) << exact.mixer;
  EXPECT_GT(small.least, middle.least);
  EXPECT_GT(middle.least, large.least);
  const MeasuredKind between = kind("delta(form=plain,heads=1,dim=9)");
  EXPECT_EQ(between.elements_from, 64);
  EXPECT_EQ(between.elements_to, 256);
  EXPECT_EQ(between.least, large.least);
  EXPECT_EQ(between.most, middle.most);
  EXPECT_EQ(kind("delta(form=plain,heads=1,dim=2)").most, small.most);
  EXPECT_EQ(kind("delta(form=plain,heads=1,dim=64)").most, large.most);
  // 8 values by 16 numbers and 16 by 64 were recalled whole: failure is expected no earlier.
  EXPECT_GE(of("delta(form=plain,heads=1,dim=4)")->fails_from_least, 8);
  EXPECT_GE(of("delta(form=plain,heads=1,dim=8)")->fails_from_least, 16);
}

TEST(MeasuredRecall, stands_beside_the_verdicts_of_recall_alone_and_changes_none) {
  BoundQuery query;
  query.architecture.line = "linear";
  const auto document = [&](const char* task) {
    query.task = task;
    const auto chosen = query.architecture.choose();
    EXPECT_TRUE(chosen.ok());
    const auto report = answer_query(query, *chosen);
    EXPECT_TRUE(report.ok());
    return bound_document(*report);
  };
  for (const char* task : {"eva", "index", "all"}) {
    const auto json = document(task);
    ASSERT_TRUE(json.contains("measured")) << task;
    EXPECT_EQ(json["measured"]["status"], "measured");
    for (const auto& verdict : json["verdicts"]) EXPECT_NE(verdict["status"], "measured");
  }
  EXPECT_FALSE(document("parity").contains("measured"));
  query.sizes = {{"n", 16}};
  EXPECT_FALSE(document("eva").contains("measured"));
}

}  // namespace
}  // namespace rung
