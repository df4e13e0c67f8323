// The retrieval gadget: where the library says that its score table puts more than half of the weight on the target, the
// condition of the checked constructions holds on the very integers, and built files carry such tables.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "rung/base/random.h"
#include "rung/constructions/construction.h"
#include "tests/proofs/extracted.h"
#include "tests/theory/asked.h"

namespace rung {
namespace {

// "lookup" of proofs/driver.ml: p, D, beta, and the weights of the scores 0, -1, ...
CountSetting asked_table(const RetrievalGadget& gadget, int p) {
  CountSetting setting{"lookup", {p, gadget.digits, gadget.beta}, retrieval_holds(gadget, p)};
  const auto& weights = gadget.scores.values;
  setting.numbers.insert(setting.numbers.end(), weights.rbegin(), weights.rend());
  return setting;
}

// The weights have at most 46 bits, so that codes of 47 digits and more never hold.
TEST(lookup_tables, hold_on_integers_where_the_library_finds_them_in_doubles) {
  std::vector<CountSetting> settings;
  for (int D = 1; D <= 62; ++D)
    for (int p = 2; p <= kMostPrecision; ++p) {
      const auto gadget = retrieval_gadget(D, std::int64_t{1} << D, p);
      settings.push_back(asked_table(gadget, p));
      EXPECT_EQ(settings.back().library, gadget.delta < 1) << "D=" << D << " p=" << p;
    }
  expect_agreement(settings);
  int p = 2;
  for (const int most : {3, 5, 11, 23, 46}) {  // as printed (eva-full)
    EXPECT_EQ(retrieval_precision_proved(most, std::int64_t{1} << most), p);
    EXPECT_GT(retrieval_precision_proved(most + 1, std::int64_t{1} << (most + 1)), p++);
  }
}

TEST(lookup_tables, agree_on_other_counts_of_digits_betas_and_tables) {
  Random random(27);
  std::vector<CountSetting> settings;
  while (settings.size() < settings_a_theorem()) {
    const int p = static_cast<int>(random.between(2, 7)), D = static_cast<int>(random.between(1, 40));
    auto gadget = retrieval_gadget(D, std::int64_t{1} << random.between(0, 40), p);
    gadget.beta = static_cast<int>(std::max<std::int64_t>(1, gadget.beta + random.between(-1, 1)));
    if (random.below(4) == 0)
      gadget.scores.values.back() = random.between(1, 4 * gadget.scores.values.back());
    settings.push_back(asked_table(gadget, p));
  }
  expect_agreement(settings);
}

// What a file's full layer looks up with: one beta, one table, and maps that only select.
RetrievalGadget table_of_layer(const Weights& weights, std::size_t layer, std::int64_t heads) {
  const auto name = [&](const char* what) { return "layers." + std::to_string(layer) + "." + what; };
  const Tensor &table = weights.tensors.at(name("score.table")), &q = weights.tensors.at(name("q.weight")),
               &k = weights.tensors.at(name("k.weight"));
  RetrievalGadget gadget;
  gadget.digits = static_cast<int>(q.shape[0] / heads / 2);
  EXPECT_EQ(q.shape[0], 2 * gadget.digits * heads);
  gadget.scores.low = weights.tensors.at(name("score.low")).integer(0);
  EXPECT_EQ(gadget.scores.low, 1 - table.size());
  for (std::int64_t i = 0; i < table.size(); ++i) gadget.scores.values.push_back(table.integer(i));
  std::set<std::int64_t> sizes;
  for (std::int64_t i = 0; i < q.size(); ++i) sizes.insert(std::abs(q.integer(i)));
  sizes.erase(0);
  EXPECT_EQ(sizes.size(), 1u);
  gadget.beta = static_cast<int>(*sizes.begin());
  for (std::int64_t i = 0; i < k.size(); ++i) EXPECT_TRUE(k.integer(i) == 0 || k.integer(i) == 1);
  return gadget;
}

// Layers, heads, dimensions and tables of a built file beside those of the checked construction.
std::size_t expect_covered(const ConstructionRequest& request, std::int64_t L, std::int64_t tokens,
                           std::int64_t values, std::vector<CountSetting>& settings) {
  const auto made = build_construction(request);
  EXPECT_TRUE(made) << made.error().message;
  const Weights& weights = made->weights;
  const auto layers = resolve(weights.architecture);
  const int p = weights.architecture.dimensions.precision.bits;
  EXPECT_EQ(layers->size(), static_cast<std::size_t>(L + 1));
  for (std::size_t l = 0; l < layers->size(); ++l) {
    const auto& mixer = (*layers)[l].mixer;
    const bool two = static_cast<std::int64_t>(l) + 1 < L;  // w_{l+1} beside i_l, while there is one
    EXPECT_EQ(mixer.heads, two ? 2 : 1);
    const auto gadget = table_of_layer(weights, l, mixer.heads);
    EXPECT_EQ(gadget.digits, digits_for(tokens));
    EXPECT_EQ(mixer.value_dim, digits_for(values));
    settings.push_back(asked_table(gadget, p));
  }
  return layers->size();
}

TEST(built_files, carry_tables_that_the_checked_constructions_accept) {
  std::vector<CountSetting> settings;
  std::size_t layers = 0;
  for (const std::int64_t n : {1, 2, 3, 4, 7, 8, 15, 16, 100, 1000, 4096, 100'000, 1 << 20, 1 << 25})
    layers += expect_covered({.name = "eva", .sizes = {{"n", n}}}, 0, n + 1, n, settings);
  for (const std::int64_t m : {1, 2, 5, 64, 1000}) {
    layers += expect_covered({.name = "seqcomp", .sizes = {{"L", 1}, {"m", m}}}, 1, m + 2, m, settings);
    layers += expect_covered({.name = "seqcomp", .sizes = {{"L", 2}, {"m", m}, {"n1", 3}}}, 2, 4 * m + 3,
                             3 * m, settings);
    layers += expect_covered({.name = "seqcomp", .sizes = {{"L", 3}, {"m", m}, {"n1", 2}, {"n2", 4}}}, 3,
                             11 * m + 4, 8 * m, settings);
  }
  EXPECT_EQ(settings.size(), layers);
  const auto answers = extracted(settings);
  for (std::size_t i = 0; i < settings.size(); ++i) EXPECT_TRUE(answers[i]) << settings[i].line();
}

// The checked models are decoders on exact integers with two heads; what is argued beside them stays `proved`.
TEST(built_files, are_called_checked_in_the_forms_that_are) {
  const std::string wide = "full(heads=2,dim=40,vdim=20)";
  const TaskSizes eva{{"n", 64}}, seqcomp{{"L", 2}, {"m", 8}, {"n1", 2}};
  const auto asked = [] { return Asked().width(256).bits(8); };
  const auto status = [](const Verdict& v) {
    EXPECT_EQ(v.outcome, Outcome::possible) << v.task;
    return v.status;
  };
  EXPECT_EQ(status(asked().on(wide, "eva", eva)), Status::checked);
  EXPECT_EQ(status(asked().on("delta+" + wide + "+linear", "eva", eva)), Status::checked);
  EXPECT_EQ(status(asked().bf16().on(wide, "eva", eva)), Status::proved);
  EXPECT_EQ(status(asked().encoder().on(wide, "eva", eva)), Status::proved);
  EXPECT_EQ(status(asked().on("sparse(B=16,k=4,heads=2,dim=40,vdim=20,form=plain)", "eva", eva)),
            Status::sketch);
  EXPECT_EQ(status(asked().on(wide + "*3", "seqcomp", seqcomp)), Status::checked);
  EXPECT_EQ(status(asked().on("full(heads=1,dim=40,vdim=20)*4", "seqcomp", seqcomp)), Status::proved);
}

}  // namespace
}  // namespace rung
