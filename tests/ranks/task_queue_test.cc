#include "rung/ranks/task_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <thread>

#include "tests/ranks/thread_transport.h"

namespace rung {
namespace {

// Items are numbers as text; the result is the square and the rank that did it.
std::string square(const WorkItem& item) {
  const long value = std::stol(item.order);
  return std::to_string(value * value);
}

void work(Ranks& ranks, const std::string& name) {
  QueueWorker worker(ranks, name);
  while (const auto item = worker.draw()) worker.hand_in(*item, square(*item));
}

// Posts 0 .. count-1 and gathers results by number until none is open.
std::map<std::uint64_t, std::string> lead(Ranks& ranks, const std::string& name, int count) {
  TaskQueue queue(ranks, name);
  for (int i = 0; i < count; ++i) EXPECT_EQ(queue.post(std::to_string(i)), static_cast<std::uint64_t>(i));
  std::map<std::uint64_t, std::string> results;
  std::jthread own([&] { work(ranks, name); });
  while (queue.open() > 0)
    if (const auto event = queue.collect(0.1)) {
      EXPECT_FALSE(event->question);
      EXPECT_TRUE(results.emplace(event->number, event->text).second) << "item " << event->number << " twice";
    }
  queue.close();
  return results;
}

void expect_squares(const std::map<std::uint64_t, std::string>& results, int count) {
  ASSERT_EQ(results.size(), static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) EXPECT_EQ(results.at(static_cast<std::uint64_t>(i)), std::to_string(i * i));
}

TEST(TaskQueue, one_rank_does_everything_itself) {
  Ranks alone;
  expect_squares(lead(alone, "squares", 100), 100);
  EXPECT_EQ(alone.leave(3), 3);
}

class SeveralRanks : public testing::TestWithParam<int> {};

TEST_P(SeveralRanks, every_result_is_collected_once_and_all_agree_on_the_exit_code) {
  PostOffice office(GetParam());
  std::vector<int> codes(static_cast<std::size_t>(GetParam()), -1);
  {
    std::vector<std::jthread> others;
    for (int rank = 1; rank < GetParam(); ++rank)
      others.emplace_back([&, rank] {
        const auto ranks = rank_of(office, rank);
        EXPECT_EQ(ranks->rank(), rank);
        work(*ranks, "first");
        work(*ranks, "second");
        work(*ranks, "never opened");
        codes[static_cast<std::size_t>(rank)] = ranks->leave(0);
      });
    const auto ranks = rank_of(office, 0);
    EXPECT_EQ(ranks->count(), GetParam());
    expect_squares(lead(*ranks, "first", 500), 500);
    expect_squares(lead(*ranks, "second", 1), 1);
    codes[0] = ranks->leave(7);
  }
  for (const int code : codes) EXPECT_EQ(code, 7);
}

TEST_P(SeveralRanks, questions_are_answered_by_rank_0) {
  PostOffice office(GetParam());
  std::vector<std::jthread> others;
  for (int rank = 1; rank < GetParam(); ++rank)
    others.emplace_back([&, rank] {
      const auto ranks = rank_of(office, rank);
      QueueWorker worker(*ranks, "asked");
      while (const auto item = worker.draw())
        worker.hand_in(*item, worker.ask(*item, "twice " + item->order).value_or("lost"));
      EXPECT_FALSE(worker.ask({0, ""}, "after the end").has_value());
      ranks->leave(0);
    });
  const auto ranks = rank_of(office, 0);
  {
    TaskQueue queue(*ranks, "asked");
    for (int i = 0; i < 50; ++i) queue.post(std::to_string(i));
    int done = 0;
    while (queue.open() > 0)
      if (const auto event = queue.collect(0.1)) {
        if (event->question) {
          ASSERT_EQ(event->text.substr(0, 6), "twice ");
          queue.answer(*event, std::to_string(2 * std::stol(event->text.substr(6))));
        } else {
          EXPECT_EQ(event->text, std::to_string(2 * event->number));
          ++done;
        }
      }
    EXPECT_EQ(done, 50);
  }
  ranks->leave(0);
}

INSTANTIATE_TEST_SUITE_P(ranks, SeveralRanks, testing::Values(2, 3, 4), testing::PrintToStringParamName());

TEST(TaskQueue, a_silent_rank_costs_only_what_it_had_in_hand) {
  PostOffice office(3);
  std::vector<std::jthread> others;
  std::atomic<bool> holds{false}, over{false};
  others.emplace_back([&] {  // takes a item, falls silent, and hands it in when everybody else is through
    const auto ranks = rank_of(office, 1, 60);
    QueueWorker worker(*ranks, "squares");
    const auto item = worker.draw();
    ASSERT_TRUE(item.has_value());
    office.silent[1] = true;
    holds = true;
    while (!over) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  others.emplace_back([&] {
    const auto ranks = rank_of(office, 2, 0.5);
    while (!holds) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    work(*ranks, "squares");
    EXPECT_EQ(ranks->leave(0), 0);
    EXPECT_FALSE(ranks->orderly());
  });
  const auto ranks = rank_of(office, 0, 0.5);
  TaskQueue queue(*ranks, "squares");
  for (int i = 0; i < 20; ++i) queue.post(std::to_string(i));
  std::map<std::uint64_t, std::string> results;
  while (queue.open() > 0)
    if (const auto event = queue.collect(0.1)) results.emplace(event->number, event->text);
  expect_squares(results, 20);
  EXPECT_EQ(ranks->living(), 2);
  EXPECT_EQ(ranks->leave(0), 0);
  EXPECT_FALSE(ranks->orderly());
  over = true;
}

TEST(TaskQueue, what_is_in_hand_when_a_board_closes_may_still_be_handed_in) {
  PostOffice office(2);
  std::atomic<bool> holds{false};
  std::jthread other([&] {
    const auto ranks = rank_of(office, 1);
    QueueWorker worker(*ranks, "stopped");
    const auto item = worker.draw();
    ASSERT_TRUE(item.has_value());
    holds = true;
    while (!worker.closed()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(worker.ask(*item, "may I?"), "yes");
    worker.hand_in(*item, "half");
    EXPECT_FALSE(worker.draw().has_value());
    ranks->leave(0);
  });
  const auto ranks = rank_of(office, 0);
  {
    TaskQueue queue(*ranks, "stopped");
    queue.post("first");
    queue.post("second");
    while (!holds) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    queue.close();
    std::vector<std::string> texts;
    while (queue.open() > 0)
      if (const auto event = queue.collect(0.1)) {
        if (event->question)
          queue.answer(*event, "yes");
        else
          texts.push_back(event->text);
      }
    EXPECT_EQ(texts, std::vector<std::string>{"half"});
  }
  ranks->leave(0);
}

}  // namespace
}  // namespace rung
