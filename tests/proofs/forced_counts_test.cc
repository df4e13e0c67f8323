// The inequalities of rung-check's forced certificates against the extracted ones. e is coarser in the checker, so
// that there only its "true" is compared.
#include <gtest/gtest.h>

#include "check/counting.h"
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

}  // namespace
}  // namespace rung
