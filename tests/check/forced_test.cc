// The word `forced`: it stands where the count reaches, and not one step below; the checker counts as the
// adversary does; and the beginnings that are counted are told apart by the tasks themselves.
#include "check/forced.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "check/counting.h"
#include "rung/adversary/counted_beginnings.h"
#include "rung/capacity/capacity.h"
#include "tests/check/forced_cases.h"
#include "tests/check/verdict_of.h"

namespace rung {
namespace {

constexpr std::uint64_t kWork = 1'000'000'000;

TEST(forced, is_rejected_one_step_below_where_the_count_reaches) {
  for (const auto& [certifies, below] : forced_cases()) {
    std::string reason;
    EXPECT_EQ(verdict_of(below.certificate, below.model, &reason, kWork), CheckVerdict::rejected)
        << below.name;
    const bool counted = reason.find("not forced") != std::string::npos ||
                         reason.find("no value need be undetermined") != std::string::npos;
    EXPECT_TRUE(counted) << below.name << ": " << reason;
  }
}

TEST(forced, is_verified_where_the_count_reaches) {
  for (const auto& [certifies, below] : forced_cases()) {
    std::string reason;
    EXPECT_EQ(verdict_of(certifies.certificate, certifies.model, &reason, kWork), CheckVerdict::verified)
        << certifies.name << ": " << reason;
  }
}

struct SmallTask {
  std::string name;
  TaskSizes sizes;
  std::map<std::string, std::string> options = {};
};

// clang-format off
std::vector<SmallTask> small_tasks() {
  return {{"eva", {{"n", 3}}}, {"eva", {{"n", 4}}}, {"index", {{"n", 5}, {"sigma", 2}}}, {"index", {{"n", 3}, {"sigma", 4}}},
          {"retrieval", {{"n", 2}, {"D", 1}, {"sigma", 3}}}, {"mqar", {{"n", 2}, {"M", 3}, {"sigma", 2}, {"queries", 1}}}, {"mqar", {{"n", 2}, {"M", 1}, {"sigma", 3}, {"queries", 1}}},
          {"mqar", {{"n", 1}, {"M", 1}, {"sigma", 3}, {"queries", 1}}}, {"mqar", {{"n", 3}, {"M", 2}, {"sigma", 2}, {"queries", 1}}},
          {"two-sum", {{"n", 3}, {"M", 5}}}, {"two-sum", {{"n", 4}, {"M", 4}}}, {"two-sum-exists", {{"n", 4}, {"M", 7}}}, {"two-sum-exists", {{"n", 4}, {"M", 8}}},
          {"two-sum-exists", {{"n", 5}, {"M", 6}}}, {"three-sum", {{"n", 4}, {"M", 17}}}, {"three-sum", {{"n", 5}, {"M", 12}}}, {"three-sum", {{"n", 4}, {"M", 26}}},
          {"three-sum", {{"n", 5}, {"M", 10}}}, {"equality", {{"n", 4}}}, {"disjointness", {{"n", 4}}}, {"seqcomp", {{"L", 1}, {"m", 3}}},
          {"seqcomp", {{"L", 2}, {"m", 2}, {"n1", 2}}}, {"cgram", {{"n", 5}, {"c", 2}, {"sigma", 4}}}, {"cgram", {{"n", 7}, {"c", 2}, {"sigma", 4}}},
          {"cgram", {{"n", 8}, {"c", 3}, {"sigma", 3}}}, {"cgram", {{"n", 6}, {"c", 2}, {"sigma", 5}}}, {"khop", {{"n", 5}, {"k", 1}, {"sigma", 5}}},
          {"khop", {{"n", 6}, {"k", 1}, {"sigma", 4}}}, {"khop", {{"n", 7}, {"k", 2}, {"sigma", 4}}}, {"khop", {{"n", 6}, {"k", 2}, {"sigma", 5}}},
          {"khop", {{"n", 8}, {"k", 3}, {"sigma", 4}}}, {"counting", {{"n", 4}, {"sigma", 3}}}, {"counting", {{"n", 5}, {"sigma", 2}}},
          {"counting", {{"n", 4}, {"sigma", 4}, {"k", 1}}}, {"counting", {{"n", 5}, {"sigma", 3}, {"k", 2}}}, {"istree", {{"n", 3}}}, {"istree", {{"n", 4}}}, {"istree", {{"n", 5}}},
          {"sparse-average", {{"n", 3}, {"q", 1}, {"d", 1}, {"f", 0}}, {{"read", "last"}}}, {"sparse-average", {{"n", 3}, {"q", 1}, {"d", 2}, {"f", 0}}, {{"read", "last"}}},
          {"copy", {{"n", 3}, {"sigma", 2}}}, {"copy", {{"n", 2}, {"sigma", 4}}}, {"parity", {{"n", 4}}}, {"parity", {{"n", 1}}}, {"modulo", {{"n", 3}, {"m", 5}}},
          {"flipflop", {{"n", 3}, {"k", 4}}}, {"group", {{"n", 3}}}, {"group", {{"n", 3}}, {{"name", "Z5"}, {"read", "all"}}}, {"group", {{"n", 3}}, {{"letters", "generators"}}},
          {"tracked-recall", {{"n", 3}, {"sigma", 2}, {"w", 1}}}, {"tracked-recall", {{"n", 3}, {"sigma", 3}, {"w", 2}}}, {"tracked-recall", {{"n", 3}, {"sigma", 2}, {"w", 4}}, {{"group", "cyclic"}}},
          {"tracked-recall", {{"n", 4}, {"sigma", 2}, {"w", 2}}, {{"group", "xor"}}}, {"tracked-recall", {{"n", 4}, {"sigma", 2}, {"w", 1}}, {{"group", "xor"}}}};
}

// clang-format on

std::unique_ptr<rung_check::Task> checkers(const Task& task, rung_check::Budget& budget) {
  const auto size = task.size();
  rung_check::Task::Sizes sizes;
  for (const auto& [name, value] : size.items()) sizes[name] = value.get<std::int64_t>();
  return rung_check::make_task(std::string(task.name()), sizes, task.options(), budget);
}

// The largest alphabet worth trying, all of which the checker may be given.
constexpr std::int64_t kAlphabets = 32;

TEST(forced, beginnings_are_never_more_than_the_task_tells_apart) {
  std::size_t compared = 0, tight = 0;
  for (const auto& [name, sizes, options] : small_tasks()) {
    const auto task = task_of(name, sizes, options);
    const auto capacity = count_capacity(*task, {});
    ASSERT_TRUE(capacity) << name << ": " << capacity.error().message;
    ASSERT_EQ(capacity->method, CapacityMethod::enumeration) << name;  // so that classes are exact
    rung_check::Budget budget;
    const auto own = checkers(*task, budget);
    for (std::int64_t alphabet = 1; alphabet <= kAlphabets; ++alphabet) {
      std::optional<rung_check::Beginnings> family;
      try {
        family.emplace(*own, alphabet);
      } catch (const rung_check::Rejected&) {
        continue;
      }
      ASSERT_LT(family->most_positions(), task->prompt_length()) << name;
      for (const auto& cut : capacity->cuts) {
        if (cut.position < 1 || cut.position > family->most_positions()) continue;
        for (std::int64_t bits = 0; bits < 20; ++bits) {
          const bool counted = family->exceed(cut.position, bits, budget);
          EXPECT_TRUE(!counted || cut.classes > std::int64_t{1} << bits)
              << name << " n=" << sizes.begin()->second << " alphabet " << alphabet << " cut " << cut.position
              << ": " << family->shown(cut.position) << ", " << cut.classes << " classes";
          ++compared;
          tight += counted ? 1 : 0;
        }
      }
    }
  }
  EXPECT_GT(compared, 1'000u);
  EXPECT_GT(tight, 200u);
}

// nearest cannot be enumerated. Its beginnings: a corner of the cube and a label at every pair, the last
// corner again where there are more pairs; the ending asks for one of the first corners.
TEST(forced, corners_of_the_cube_are_points_whose_labels_are_told_apart) {
  std::size_t families = 0, refused = 0;
  for (const std::int64_t d : {1, 2, 3, 4, 5, 9})
    for (const std::int64_t f : {2, 3, 8, 12})
      for (const std::int64_t n : {1, 2, 3, 4, 7, 8, 15, 16, 17}) {
        if (d > std::int64_t{1} << (2 * f - 2)) continue;  // too coarse a grid
        const auto side = static_cast<std::int64_t>(
            std::lround(std::ldexp(1.0, static_cast<int>(f)) / std::sqrt(static_cast<double>(d))));
        const std::int64_t half = std::int64_t{1} << (f - 1),
                           widest = std::min(half, (side * side) >> (f - 1));
        for (const std::int64_t margin : std::set<std::int64_t>{0, 1, widest, half}) {
          const auto task =
              task_of("nearest", {{"n", n}, {"d", d}, {"sigma", 3}, {"f", f}, {"margin", margin}});
          rung_check::Budget budget;
          const auto own = checkers(*task, budget);
          if (margin > widest) {  // nothing is counted, by either
            EXPECT_THROW(rung_check::Beginnings(*own, 3), rung_check::Rejected);
            EXPECT_FALSE(forcing_alphabet(*task, 2 * n, 0));
            ++refused;
            continue;
          }
          const rung_check::Beginnings family(*own, 3);
          for (std::int64_t cut = 1; cut <= 2 * n; ++cut) {
            std::int64_t entries = 0;  // 3^entries beginnings, found from the count alone
            for (std::int64_t e = 1; e <= n; ++e)
              if (family.exceed(
                      cut, static_cast<std::int64_t>(std::floor(static_cast<double>(e) * std::log2(3.0))),
                      budget))
                entries = e;
            const std::int64_t corners = std::int64_t{1} << d, points = (cut + 1) / 2;
            ASSERT_EQ(entries, points > corners ? corners - 1 : cut / 2) << "d=" << d << " n=" << n;
            // The beginning: corners in order, each with a label. Whatever fills the prompt is not asked for.
            Random random(1, static_cast<std::uint64_t>(n));
            for (std::int64_t asked = 0; asked < entries; ++asked) {
              Prompt prompt{2 * n + 1, {{}, {}}};
              const auto put = [&](std::int64_t corner, std::int64_t label) {
                for (std::int64_t i = 0; i < d; ++i)
                  prompt.fields[0].push_back(corner < 0 ? 0 : (corner >> i & 1) ? side : -side);
                prompt.fields[1].push_back(label);
              };
              std::int64_t expected = 0;
              for (std::int64_t i = 0; i < n; ++i) {
                const std::int64_t corner = i < points ? std::min(i, corners - 1) : asked == 0 ? 1 : 0;
                const auto label = static_cast<std::int64_t>(random.below(3));
                put(corner, 3);
                put(-1, label);
                if (corner == asked) expected = label;
              }
              put(asked, 3);
              ASSERT_TRUE(task->validate(prompt)) << task->validate(prompt).error().message;
              EXPECT_EQ(task->answer(prompt), (std::vector<std::int64_t>{expected}));
              EXPECT_NO_THROW(own->check({prompt.positions, prompt.fields}));
              EXPECT_EQ(own->answers({prompt.positions, prompt.fields}),
                        (std::vector<std::vector<std::int64_t>>{{expected}}));
            }
            ++families;
          }
        }
      }
  EXPECT_GT(families, 1'000u);
  EXPECT_GT(refused, 40u);
}

// Counting with long integers is work like any other: it is charged before it is done.
TEST(forced, counting_is_charged_to_the_limit) {
  const auto spent = [](auto count) {
    rung_check::Budget budget;
    count(budget);
    return budget.worked();
  };
  const auto power = [](rung_check::Budget& b) { rung_check::power_exceeds(3, 400'000, 633'985, b); };
  const auto sets = [](rung_check::Budget& b) {
    rung_check::subsets_exceed(std::int64_t{1} << 40, 1, 60'000, std::int64_t{1} << 40, b);
  };
  const auto choices = [](rung_check::Budget& b) {
    rung_check::binomial_exceeds(std::int64_t{1} << 40, 60'000, std::int64_t{1} << 40, b);
  };
  const auto images = [](rung_check::Budget& b) { rung_check::images_spread(66'806, 80, 271, 160, b); };
  EXPECT_GT(spent(power), 50'000'000u);
  EXPECT_GT(spent(sets), 100'000'000u);
  EXPECT_GT(spent(choices), 100'000'000u);
  EXPECT_GT(spent(images), 1'000'000u);
  rung_check::Budget small(1000);
  EXPECT_THROW(power(small), rung_check::OutOfResources);
  EXPECT_THROW(sets(small), rung_check::OutOfResources);
  EXPECT_THROW(choices(small), rung_check::OutOfResources);
  EXPECT_THROW(images(small), rung_check::OutOfResources);
}

TEST(forced, spread_of_images_is_decided_where_its_logarithm_is_close) {
  rung_check::Budget budget;
  // Recurrent, full, recurrent with 160 bits before: the smallest first function that is forced, 320.03
  // against 320.025.
  EXPECT_TRUE(rung_check::images_spread(66'806, 80, 271, 160, budget));
  EXPECT_FALSE(rung_check::images_spread(66'800, 80, 271, 160, budget));
  // Far from the border the lengths decide, at any size.
  EXPECT_TRUE(rung_check::images_spread(std::int64_t{1} << 60, 1 << 10, 1 << 10, 1 << 10, budget));
  EXPECT_FALSE(rung_check::images_spread(1 << 20, 1 << 10, 1 << 10, 1 << 10, budget));
  EXPECT_FALSE(rung_check::images_spread(1 << 20, 1, 1, std::int64_t{1} << 40, budget));
}
TEST(forced, spread_of_images_follows_its_logarithm) {
  rung_check::Budget budget;
  std::size_t yes = 0, no = 0;
  for (std::int64_t m = 1; m <= 4096; m = m * 5 / 4 + 1)
    for (std::int64_t T = 1; T <= 9; ++T)
      for (std::int64_t x0 = 1; x0 <= 9; ++x0)
        for (std::int64_t bits = 0; bits <= 40; bits += 4) {
          const double left =
              static_cast<double>(x0) *
              std::log2(2.0 * static_cast<double>(m) / (std::exp(1.0) * static_cast<double>(T * x0)));
          const double right = 2.0 * static_cast<double>(bits) + 2.0 / static_cast<double>(T);
          if (std::abs(left - right) < 1e-6) continue;
          ASSERT_EQ(rung_check::images_spread(m, T, x0, bits, budget), left > right)
              << m << " " << T << " " << x0 << " " << bits;
          ++(left > right ? yes : no);
        }
  EXPECT_GT(yes, 500u);
  EXPECT_GT(no, 500u);
}

TEST(forced, is_counted_alike_by_adversary_and_checker) {
  std::size_t forced = 0;
  for (const auto& [name, sizes, options] : small_tasks()) {
    const auto task = task_of(name, sizes, options);
    rung_check::Budget budget;
    const auto own = checkers(*task, budget);
    for (std::int64_t cut = 1; cut <= task->prompt_length(); ++cut)
      for (std::int64_t bits = 0; bits < 24; ++bits) {
        bool some = false;  // alphabet
        for (std::int64_t alphabet = 1; alphabet <= kAlphabets; ++alphabet) try {
            const rung_check::Beginnings family(*own, alphabet);
            some = some || (cut <= family.most_positions() && family.exceed(cut, bits, budget));
          } catch (const rung_check::Rejected&) {
          }
        const auto alphabet = forcing_alphabet(*task, cut, bits);
        EXPECT_EQ(alphabet.has_value(), some)
            << name << " n=" << sizes.begin()->second << " cut " << cut << " bits " << bits;
        if (!alphabet) continue;
        ++forced;
        EXPECT_TRUE(rung_check::Beginnings(*own, *alphabet).exceed(cut, bits, budget))
            << name << " cut " << cut << " bits " << bits;
      }
  }
  EXPECT_GT(forced, 200u);
}

}  // namespace
}  // namespace rung
