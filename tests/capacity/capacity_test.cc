#include "rung/capacity/capacity.h"

#include <gtest/gtest.h>

#include <cmath>

#include "rung/capacity/fooling_set.h"

namespace rung {
namespace {

std::unique_ptr<Task> task(const char* name, const TaskSizes& sizes) {
  auto made = make_task(name, sizes);
  RUNG_REQUIRE(made.ok(), "{}", made.ok() ? "" : made.error().message);
  return std::move(*made);
}

TEST(Capacity, a_cut_outside_the_prompt_is_refused) {
  const auto eva = task("eva", {{"n", 3}});
  for (std::int64_t cut : {-1, 5}) {
    const auto capacity = count_capacity(*eva, {.cut = cut});
    ASSERT_FALSE(capacity);
    EXPECT_EQ(capacity.error().code, ErrorCode::range);
  }
}

TEST(Capacity, class_bits_are_the_least_that_suffice) {
  EXPECT_EQ(class_bits(1), 0);
  EXPECT_EQ(class_bits(2), 1);
  EXPECT_EQ(class_bits(256), 8);
  EXPECT_EQ(class_bits(257), 9);
}

TEST(Capacity, enumeration_meets_the_theorems) {
  for (const auto& made : {task("eva", {{"n", 4}}), task("index", {{"n", 5}, {"sigma", 3}}),
                           task("two-sum", {{"n", 3}, {"M", 7}}), task("two-sum", {{"n", 4}, {"M", 4}})}) {
    const auto capacity = count_capacity(*made, {});
    ASSERT_TRUE(capacity) << capacity.error().message;
    ASSERT_TRUE(capacity->theorem);
    const CutCapacity& cut = capacity->cuts[capacity->largest];
    EXPECT_TRUE(cut.exact());
    EXPECT_EQ(cut.position, capacity->theorem->cut) << made->name();
    EXPECT_EQ(Integer(cut.classes), capacity->theorem->count.value().value()) << made->name();
    EXPECT_EQ(class_bits(cut.classes), bits_needed(capacity->theorem->count));
  }
}

TEST(Capacity, sequential_composition_meets_its_theorem_at_the_cut_after_the_last_table) {
  const auto made = task("seqcomp", {{"L", 2}, {"m", 2}, {"n1", 2}});
  const auto capacity = count_capacity(*made, {});
  ASSERT_TRUE(capacity);
  EXPECT_EQ(capacity->theorem->cut, 4);
  EXPECT_EQ(capacity->cuts[4].classes, 256);  // 4^4
  EXPECT_TRUE(capacity->cuts[4].exact());
}

// Which stacks can be told apart after t of n brackets: those that can still be closed in time, and one dead
// state.
std::int64_t stack_count(std::int64_t n, std::int64_t types, std::int64_t depth, std::int64_t t) {
  std::int64_t stacks = 0;
  for (std::int64_t height = t % 2; height <= std::min({t, n - t, depth}); height += 2) {
    std::int64_t words = 1;
    for (std::int64_t i = 0; i < height; ++i) words *= types;
    stacks += words;
  }
  return stacks + (t > 0 && t < n ? 1 : 0);
}

TEST(Capacity, dyck_needs_its_stack) {
  for (int n : {2, 4, 6, 8})
    for (int types : {1, 2})
      for (int depth : {1, 2, 3}) {
        const auto capacity = count_capacity(*task("dyck", {{"n", n}, {"k", types}, {"depth", depth}}), {});
        ASSERT_TRUE(capacity);
        for (std::int64_t t = 0; t < n; ++t)
          EXPECT_EQ(capacity->cuts[static_cast<std::size_t>(t)].classes, stack_count(n, types, depth, t))
              << n << " " << types << " " << depth << " " << t;
      }
}

TEST(Capacity, equality_and_disjointness_need_the_first_string) {
  for (const char* name : {"equality", "disjointness"})
    for (int n = 1; n <= 6; ++n) {
      const auto capacity = count_capacity(*task(name, {{"n", n}}), {});
      ASSERT_TRUE(capacity);
      EXPECT_EQ(capacity->cuts[static_cast<std::size_t>(n)].classes, std::int64_t{1} << n) << name;
      EXPECT_TRUE(capacity->cuts[static_cast<std::size_t>(n)].exact());
    }
}

TEST(Capacity, recall_of_distinct_keys_reaches_its_theorem_by_the_rows_of_one_key_set) {
  for (const auto& made : {task("retrieval", {{"n", 2}, {"D", 2}, {"sigma", 3}}),
                           task("mqar", {{"n", 2}, {"M", 2}, {"sigma", 2}, {"queries", 2}})}) {
    const auto capacity = count_capacity(*made, {});
    ASSERT_TRUE(capacity);
    const CutCapacity& cut = capacity->cuts[static_cast<std::size_t>(capacity->theorem->cut)];
    EXPECT_EQ(Integer(cut.classes), capacity->theorem->count.value().value());
    EXPECT_GT(*cut.upper, cut.classes);
  }
}

TEST(Capacity, the_easy_order_needs_few_bits) {
  auto easy = make_task("seqcomp", {{"L", 2}, {"m", 2}, {"n1", 2}}, {{"order", "easy"}});
  ASSERT_TRUE(easy);
  const auto capacity = count_capacity(**easy, {});
  ASSERT_TRUE(capacity);
  EXPECT_LE(class_bits(capacity->cuts[capacity->largest].classes), 3);
  EXPECT_FALSE(capacity->theorem);
}

TEST(Capacity, what_cannot_be_read_once_or_enumerated_is_refused) {
  for (const char* name : {"sparse-average", "nearest"}) {
    const auto capacity = count_capacity(*task(name, {{"n", 2}}), {});
    ASSERT_FALSE(capacity) << name;
    EXPECT_EQ(capacity.error().code, ErrorCode::unsupported);
  }
}

TEST(Capacity, one_cut_alone_gives_the_same_number) {
  const auto eva = task("eva", {{"n", 4}});
  const auto all = count_capacity(*eva, {}), one = count_capacity(*eva, {.cut = 2});
  ASSERT_TRUE(all && one);
  ASSERT_EQ(one->cuts.size(), 1u);
  EXPECT_EQ(one->cuts[0].classes, all->cuts[2].classes);
  EXPECT_EQ(one->cuts[0].classes, 16);
}

TEST(Capacity, a_fooling_set_never_exceeds_the_exact_count_and_finds_it_when_small) {
  for (const auto& made :
       {task("eva", {{"n", 3}}), task("index", {{"n", 4}, {"sigma", 2}}),
        task("two-sum", {{"n", 3}, {"M", 5}}), task("seqcomp", {{"L", 2}, {"m", 2}, {"n1", 1}})}) {
    const auto exact = count_capacity(*made, {});
    ASSERT_TRUE(exact);
    for (const CutCapacity& cut : exact->cuts) {
      const auto few = find_fooling_set(*made, {.cut = cut.position, .prefixes = 5, .suffixes = 3});
      const auto many = find_fooling_set(*made, {.cut = cut.position, .prefixes = 2000, .suffixes = 600});
      ASSERT_TRUE(few && many);
      EXPECT_LE(few->separated, std::min<std::int64_t>(5, cut.classes));
      EXPECT_EQ(many->separated, cut.classes) << made->name() << " " << cut.position;
    }
  }
}

TEST(Capacity, a_task_too_large_to_enumerate_gets_a_certified_lower_bound) {
  const auto eva = task("eva", {{"n", 64}});
  const auto capacity = count_capacity(*eva, {.prompts = 1'000'000});
  ASSERT_TRUE(capacity);
  EXPECT_EQ(capacity->method, CapacityMethod::fooling_set);
  const CutCapacity& cut = capacity->cuts[capacity->largest];
  EXPECT_FALSE(cut.exact());
  EXPECT_GE(cut.classes, 64);
  EXPECT_NEAR(capacity->theorem->count.lg(), 384, 1e-9);
}

TEST(Capacity, a_full_memory_falls_back_to_sampling) {
  const auto eva = task("eva", {{"n", 6}});
  const auto capacity = count_capacity(*eva, {.prompts = 1'000'000, .bytes = 1000});
  ASSERT_TRUE(capacity);
  EXPECT_EQ(capacity->method, CapacityMethod::fooling_set);
}

}  // namespace
}  // namespace rung
