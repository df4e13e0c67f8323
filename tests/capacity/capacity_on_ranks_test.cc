// Capacity counted by several ranks: the numbers of one.
#include <gtest/gtest.h>

#include <thread>

#include "rung/capacity/capacity.h"
#include "tests/ranks/thread_transport.h"

namespace rung {
namespace {

// Of rank 0, the others helping.
Result<Capacity> counted_by(int count, const Task& task, const CapacityLimits& limits) {
  PostOffice office(count);
  std::vector<std::jthread> others;
  for (int rank = 1; rank < count; ++rank)
    others.emplace_back([&, rank] {
      const auto ranks = rank_of(office, rank);
      CapacityLimits own = limits;
      own.ranks = ranks.get();
      EXPECT_TRUE(count_capacity(task, own).ok());
      ranks->leave(0);
    });
  const auto ranks = rank_of(office, 0);
  CapacityLimits own = limits;
  own.ranks = ranks.get();
  auto capacity = count_capacity(task, own);
  ranks->leave(0);
  return capacity;
}

TEST(CapacityOnRanks, is_that_of_one_rank) {
  struct Case {
    const char* name;
    TaskSizes sizes;
    std::int64_t prompts;
  };
  // One shape; several shapes; a sampled fooling set; answers in the middle; a tree too small to split.
  for (const Case& one :
       {Case{"two-sum", {{"n", 4}, {"M", 17}}, 1'000'000},
        Case{"mqar", {{"n", 3}, {"M", 6}, {"sigma", 4}, {"queries", 2}}, 10'000'000},
        Case{"eva", {{"n", 32}}, 400'000}, Case{"khop", {{"n", 9}, {"k", 1}, {"sigma", 4}}, 1'000'000},
        Case{"eva", {{"n", 3}}, 1'000'000}}) {
    auto task = make_task(one.name, one.sizes);
    ASSERT_TRUE(task) << task.error().message;
    CapacityLimits limits;
    limits.prompts = one.prompts;
    const auto alone = count_capacity(**task, limits);
    ASSERT_TRUE(alone) << alone.error().message;
    for (const int count : {2, 4}) {
      const auto shared = counted_by(count, **task, limits);
      ASSERT_TRUE(shared) << shared.error().message;
      EXPECT_EQ(shared->method, alone->method) << one.name;
      EXPECT_EQ(shared->prompts, alone->prompts) << one.name;
      ASSERT_EQ(shared->cuts.size(), alone->cuts.size()) << one.name;
      for (std::size_t i = 0; i < alone->cuts.size(); ++i) {
        EXPECT_EQ(shared->cuts[i].position, alone->cuts[i].position);
        EXPECT_EQ(shared->cuts[i].classes, alone->cuts[i].classes)
            << one.name << " on " << count << " ranks, cut " << i;
        EXPECT_EQ(shared->cuts[i].upper, alone->cuts[i].upper)
            << one.name << " on " << count << " ranks, cut " << i;
      }
    }
  }
}

}  // namespace
}  // namespace rung
