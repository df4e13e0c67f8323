// The counts of classes against recurrent, log-linear and single full layers: what the library decides is what
// the extracted predicates decide, near the threshold and far from it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "check/counting.h"
#include "rung/base/random.h"
#include "rung/theory/horizon.h"
#include "rung/theory/three_sum_values.h"
#include "tests/proofs/extracted.h"
#include "tests/theory/asked.h"

namespace rung {
namespace {

// Log-uniform on [low, 2^bits).
std::int64_t about(Random& random, unsigned bits, std::int64_t low = 1) {
  return low + static_cast<std::int64_t>(random.next() >> (63 - random.below(bits)) & ((1ULL << bits) - 1));
}
// State bits: the least number that suffices, give or take a few (three in four), or anything.
Integer bits_near(Random& random, const Count& count) {
  const Integer needed = bits_needed(count);
  if (random.below(4) == 0) return Integer(random.next() >> random.below(64)) % (2 * needed + 3);
  const Integer near = needed - 2 + random.below(4);
  return near < 0 ? Integer(0) : near;
}

using Draw = std::function<CountSetting(Random&)>;

void expect_agreement(const Draw& draw) {
  Random random(20);
  std::vector<CountSetting> settings;
  std::set<bool> seen;
  for (std::size_t i = 0; i < settings_a_theorem(); ++i) {
    settings.push_back(draw(random));
    seen.insert(settings.back().library);
  }
  EXPECT_EQ(seen.size(), 2u) << "the settings lie on one side of the threshold";
  const auto answers = extracted(settings);
  for (std::size_t i = 0; i < settings.size(); ++i)
    EXPECT_EQ(answers[i], settings[i].library) << settings[i].line();
}

CountSetting against(Random& random, std::string_view name, const Count& count, std::vector<Integer> sizes) {
  const Integer bits = bits_near(random, count);
  sizes.insert(sizes.begin(), bits);
  return {name, std::move(sizes), !bits_suffice(bits, count)};
}

TEST(class_counts, agree_on_tables) {
  expect_agreement([](Random& random) {
    const std::int64_t n = about(random, 40);
    return against(random, "recurrent-eva", eva_count(n), {n});
  });
  expect_agreement([](Random& random) {
    const std::int64_t n = about(random, 40);
    return against(random, "recurrent-seqcomp", seqcomp_count(n), {n});
  });
  expect_agreement([](Random& random) {
    const std::int64_t n = about(random, 40), sigma = about(random, 20);
    return against(random, "recurrent-index", index_count(n, sigma), {n, sigma});
  });
  expect_agreement([](Random& random) {
    const std::int64_t n = about(random, 40), sigma = about(random, 20);
    return against(random, "recurrent-recall", index_count(n, sigma), {n, n + about(random, 10), sigma});
  });
  expect_agreement([](Random& random) {
    const std::int64_t n = about(random, 40);
    return against(random, "recurrent-strings", Count::power(2, n), {n});
  });
}

TEST(class_counts, agree_on_sets) {
  expect_agreement([](Random& random) {
    const std::int64_t n = about(random, 6), M = about(random, 12);
    return against(random, "recurrent-two-sum", two_sum_count(n, M), {n, M});
  });
  expect_agreement([](Random& random) {
    const std::int64_t n = about(random, 6, 2), M = about(random, 12, 3);
    return against(random, "recurrent-two-sum-exists", two_sum_count(n - 1, lower_half(M)), {n, M});
  });
  expect_agreement([](Random& random) {
    const std::int64_t n = about(random, 6, 3), M = about(random, 12, 13);
    return against(random, "recurrent-three-sum", two_sum_count(n - 2, three_sum_values(M)), {n, M});
  });
}

TEST(class_counts, agree_on_the_oldest_bucket) {
  expect_agreement([](Random& random) {
    const std::int64_t n = about(random, 40);
    return against(random, "log-linear-eva", log_linear_count(n), {n});
  });
  expect_agreement([](Random& random) {
    const std::int64_t n = about(random, 40);
    return against(random, "log-linear-seqcomp", log_linear_count(n), {n});
  });
  expect_agreement([](Random& random) {
    const std::int64_t n = about(random, 40), sigma = about(random, 20);
    return against(random, "log-linear-index", log_linear_index_count(n, sigma), {n, sigma});
  });
  expect_agreement([](Random& random) {
    const std::int64_t n = about(random, 6), M = about(random, 12, 2);
    return against(random, "log-linear-two-sum", log_linear_two_sum_count(n, M), {n, M});
  });
}

// The bits are those of the verdict, whatever the sizes make of them.
TEST(class_counts, agree_on_brackets) {
  expect_agreement([](Random& random) {
    const std::int64_t k = random.between(2, 9),
                       sums = about(random, 8, 8);  // bits of a weight, and of a value
    const auto near = static_cast<std::int64_t>(2 * static_cast<double>(sums) / std::log2(k));
    const std::int64_t n = 2 * std::max<std::int64_t>(1, near + random.between(-2, 4));
    const Setting setting = Asked().heads(1).width(8).sums(sums).setting("full(heads=1,dim=4,vdim=1)");
    const auto question = make_question("dyck", {{"n", n}, {"k", k}}, setting.context, false);
    EXPECT_TRUE(question) << question.error().message;
    const auto v = apply(theorem("full-alone-dyck"), setting, *question);
    EXPECT_EQ(v->status, Status::checked);
    const auto bits = static_cast<std::int64_t>(*v->right);
    const bool library = v->outcome == Outcome::impossible;
    rung_check::Budget budget(rung_check::kDefaultWork);
    EXPECT_EQ(rung_check::power_exceeds(k, n / 2 - 1, bits, budget), library);  // what is `forced`
    return CountSetting{"full-alone-dyck", {bits, n, k}, library};
  });
}

}  // namespace
}  // namespace rung
