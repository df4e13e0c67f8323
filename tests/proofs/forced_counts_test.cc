// The counts of rung-check's forced certificates, and the inequalities under them, against the extracted ones. e is coarser
// in the checker, so that there only its "true" is compared.
#include <gtest/gtest.h>

#include <set>

#include "check/counting.h"
#include "check/forced.h"
#include "rung/base/random.h"
#include "rung/theory/counting.h"
#include "tests/proofs/extracted.h"

namespace rung {
namespace {

std::int64_t any_size(Random& random, unsigned bits) {
  return 1 + static_cast<std::int64_t>(random.next() >> (64 - 1 - random.below(bits)));
}

TEST(forced_counts, of_powers_agree_with_the_extracted_ones) {
  Random random(23);
  std::vector<CountSetting> settings;
  rung_check::Budget budget(rung_check::kDefaultWork);
  for (std::size_t i = 0; i < settings_a_theorem(); ++i) {
    const std::int64_t base = any_size(random, 20), exponent = any_size(random, 12);
    const auto needed = bits_needed(Count::power(base, exponent)).convert_to<std::int64_t>();
    const std::int64_t bits = std::max<std::int64_t>(0, needed - 2 + random.between(0, 3));
    settings.push_back(
        {"exceeds", {exponent, base, bits}, rung_check::power_exceeds(base, exponent, bits, budget)});
  }
  const auto answers = extracted(settings);
  for (std::size_t i = 0; i < settings.size(); ++i)
    EXPECT_EQ(answers[i], settings[i].library) << settings[i].line();
}

TEST(forced_counts, of_sets_agree_with_the_extracted_ones) {
  Random random(24);
  std::vector<CountSetting> settings;
  rung_check::Budget budget(rung_check::kDefaultWork);
  for (std::size_t i = 0; i < settings_a_theorem(); ++i) {
    const std::int64_t n = any_size(random, 11), most = std::min(n, any_size(random, 6));
    const auto needed = bits_needed(Count::subsets(n, most)).convert_to<std::int64_t>();
    const std::int64_t bits = std::max<std::int64_t>(0, needed - 2 + random.between(0, 3));
    settings.push_back({"subsets", {n, most, bits}, rung_check::subsets_exceed(n, 1, most, bits, budget)});
  }
  const auto answers = extracted(settings);
  for (std::size_t i = 0; i < settings.size(); ++i)
    EXPECT_EQ(answers[i], settings[i].library) << settings[i].line();
}

TEST(forced_counts, of_spread_images_are_never_true_where_the_extracted_ones_are_not) {
  Random random(25);
  std::vector<CountSetting> settings;
  rung_check::Budget budget(rung_check::kDefaultWork);
  std::size_t held = 0;
  for (std::size_t i = 0; i < settings_a_theorem(); ++i) {
    const std::int64_t x0 = any_size(random, 10), T = any_size(random, 6), bits = random.between(0, 2 * x0);
    const std::int64_t m = x0 * T * any_size(random, 6);
    try {
      settings.push_back({"spreads", {x0, m, T, bits}, rung_check::images_spread(m, T, x0, bits, budget)});
    } catch (const rung_check::OutOfResources&) {  // powers that the checker does not compare
      continue;
    }
    held += settings.back().library;
  }
  EXPECT_GT(held, 0u);
  const auto answers = extracted(settings);
  for (std::size_t i = 0; i < settings.size(); ++i)
    EXPECT_TRUE(answers[i] || !settings[i].library) << settings[i].line();
}

// All of a task's beginnings, up to the cut of the theorem.
TEST(forced_counts, of_beginnings_agree_with_the_extracted_ones) {
  Random random(31);
  rung_check::Budget budget(rung_check::kDefaultWork);
  std::vector<CountSetting> settings;
  std::set<std::string> both[2];
  for (std::size_t i = 0; i < settings_a_theorem(); ++i) {
    const std::int64_t n = random.between(3, 24), sigma = random.between(2, 9), M = random.between(13, 90);
    struct Asked {
      const char *task, *count;
      rung_check::Task::Sizes sizes;
      std::int64_t alphabet;
      std::vector<Integer> numbers;
      Count classes;
    };
    const std::int64_t n1 = random.between(1, 3);
    const Asked all[] = {
        {"eva", "recurrent-eva", {{"n", n}}, n, {n}, Count::power(n, n)},
        {"index", "recurrent-index", {{"n", n}, {"sigma", sigma}}, sigma, {n, sigma}, Count::power(sigma, n)},
        {"retrieval",
         "recurrent-recall",
         {{"n", n}, {"D", 5}, {"sigma", sigma}},
         sigma,
         {n, 32, sigma},
         Count::power(sigma, n)},
        {"mqar",
         "recurrent-recall",
         {{"n", n}, {"M", n + 2}, {"sigma", sigma}, {"queries", 1}},
         sigma,
         {n, n + 2, sigma},
         Count::power(sigma, n)},
        {"two-sum", "recurrent-two-sum", {{"n", n}, {"M", M}}, M, {n, M}, Count::subsets(M, std::min(n, M))},
        {"two-sum-exists",
         "recurrent-two-sum-exists",
         {{"n", n}, {"M", M}},
         (M - 1) / 2,
         {n, M},
         Count::subsets((M - 1) / 2, std::min(n - 1, (M - 1) / 2))},
        {"three-sum",
         "recurrent-three-sum",
         {{"n", n}, {"M", M}},
         (M - 1) / 3 - M / 6,
         {n, M},
         Count::subsets((M - 1) / 3 - M / 6, std::min(n - 2, (M - 1) / 3 - M / 6))},
        {"equality", "recurrent-strings", {{"n", n}}, 2, {n}, Count::power(2, n)},
        {"disjointness", "recurrent-strings", {{"n", n}}, 2, {n}, Count::power(2, n)},
        {"seqcomp",
         "recurrent-seqcomp",
         {{"L", 2}, {"m", n}, {"n1", n1}},
         n * n1,
         {n * n1},
         Count::power(n * n1, n * n1)},
    };
    const Asked& a = all[random.below(std::size(all))];
    const auto task = rung_check::make_task(a.task, a.sizes, {}, budget);
    const rung_check::Beginnings beginnings(*task, a.alphabet);
    const auto needed = bits_needed(a.classes).convert_to<std::int64_t>();
    const std::int64_t bits = std::max<std::int64_t>(0, needed - 2 + random.between(0, 3));
    CountSetting setting{a.count, a.numbers, beginnings.exceed(beginnings.most_positions(), bits, budget)};
    setting.numbers.insert(setting.numbers.begin(), bits);
    both[setting.library].insert(a.task);
    settings.push_back(std::move(setting));
  }
  EXPECT_EQ(both[0].size(), 10u);
  EXPECT_EQ(both[1].size(), 10u);
  const auto answers = extracted(settings);
  for (std::size_t i = 0; i < settings.size(); ++i)
    EXPECT_EQ(answers[i], settings[i].library) << settings[i].line();
}

TEST(forced_counts, of_transcripts_agree_with_the_extracted_ones) {
  Random random(32);
  rung_check::Budget budget(rung_check::kDefaultWork);
  std::vector<CountSetting> settings;
  std::size_t held[2] = {0, 0};
  while (settings.size() < settings_a_theorem()) {
    const bool early = random.below(2) == 1;
    const std::int64_t T = any_size(random, 6), x0 = any_size(random, early ? 9 : 6),
                       n1 = any_size(random, 6), y = random.between(1, n1);
    const std::int64_t m = T * x0 * (early ? any_size(random, 7) : random.between(1, 3));
    rung_check::TranscriptBits given{
        .partial = any_size(random, 9), .after = any_size(random, 8), .early = early};
    if (early) given.before = random.between(1, 2 * x0);
    const auto count = rung_check::transcript_count(given, T, x0, y);
    bool forced = false;
    try {
      forced = (!early || rung_check::images_spread(m, T, x0, given.before, budget)) &&
               rung_check::power_exceeds(m * n1, count.arguments, count.bits, budget);
    } catch (const rung_check::OutOfResources&) {  // powers that the checker does not compare
      continue;
    }
    const auto whole = [](rung_check::Int value) { return Integer(static_cast<std::int64_t>(value)); };
    CountSetting setting{
        early ? "one-full-layer-early" : "one-full-layer-late", {whole(given.partial)}, forced};
    if (early) setting.numbers.push_back(whole(given.before));
    for (const Integer& number :
         {whole(given.after), Integer(0), Integer(m), Integer(n1), Integer(T), Integer(x0), Integer(y)})
      setting.numbers.push_back(number);
    held[early] += forced;
    settings.push_back(std::move(setting));
  }
  EXPECT_GT(held[0], 0u);
  EXPECT_GT(held[1], 0u);
  const auto answers = extracted(settings);
  for (std::size_t i = 0; i < settings.size(); ++i) {
    const bool early = settings[i].count == "one-full-layer-early";
    EXPECT_TRUE(answers[i] || !settings[i].library) << settings[i].line();
    if (!early) {
      EXPECT_EQ(answers[i], settings[i].library) << settings[i].line();
    }
  }
}

}  // namespace
}  // namespace rung
