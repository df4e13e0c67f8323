#include "rung/ranks/task_queue.h"

#include "rung/base/require.h"

namespace rung {

TaskQueue::TaskQueue(Ranks& ranks, std::string name) : ranks_(ranks), name_(std::move(name)) {
  RUNG_REQUIRE(ranks.leads(), "rank {} opens the queue {}", ranks.rank(), name_);
  const std::lock_guard lock(ranks.guard_);
  RUNG_REQUIRE(!name_.empty() && !ranks.queues_.contains(name_) && !ranks.closed_.contains(name_),
               "the queue {} again", name_);
  ranks.queues_[name_];
}

TaskQueue::~TaskQueue() {
  close();
  const std::lock_guard lock(ranks_.guard_);
  auto& state = ranks_.queues_.at(name_);
  for (auto& event : state.inbox)  // nobody will answer any more
    if (event.message.kind == RankMessage::Kind::question)
      ranks_.post(event.rank, {.kind = RankMessage::Kind::lost, .ticket = event.message.ticket});
  ranks_.queues_.erase(name_);
}

std::uint64_t TaskQueue::post(std::string order) {
  const std::lock_guard lock(ranks_.guard_);
  auto& state = ranks_.queues_.at(name_);
  state.waiting.push_back({state.posted, std::move(order)});
  ranks_.serve_draws();
  return state.posted++;
}

std::optional<TaskQueue::Event> TaskQueue::collect(double seconds) {
  std::unique_lock lock(ranks_.guard_);
  auto& state = ranks_.queues_.at(name_);
  ranks_.changed_.wait_for(lock, std::chrono::duration<double>(seconds),
                           [&] { return !state.inbox.empty(); });
  if (state.inbox.empty()) return std::nullopt;
  auto event = std::move(state.inbox.front());
  state.inbox.pop_front();
  return Event{event.message.kind == RankMessage::Kind::question, event.rank, event.message.number,
               std::move(event.message.text), event.message.ticket};
}

void TaskQueue::answer(const Event& event, std::string text) {
  RUNG_REQUIRE(event.question, "an answer to the result of item {}", event.number);
  const std::lock_guard lock(ranks_.guard_);
  ranks_.post(event.rank,
              {.kind = RankMessage::Kind::answer, .ticket = event.ticket, .text = std::move(text)});
}

std::size_t TaskQueue::open() const {
  const std::lock_guard lock(ranks_.guard_);
  const auto& state = ranks_.queues_.at(name_);
  return state.waiting.size() + state.under_way.size() + state.inbox.size();
}

void TaskQueue::close() {
  const std::lock_guard lock(ranks_.guard_);
  ranks_.queues_.at(name_).waiting.clear();
  ranks_.close_queue(name_);
}

std::optional<WorkItem> QueueWorker::draw() {
  std::unique_lock lock(ranks_.guard_);
  if (ranks_.is_closed(name_)) return std::nullopt;
  RankMessage reply = ranks_.call({.kind = RankMessage::Kind::draw, .queue = name_}, lock);
  if (reply.kind != RankMessage::Kind::item) return std::nullopt;
  return WorkItem{reply.number, std::move(reply.text)};
}

void QueueWorker::hand_in(const WorkItem& item, std::string result) {
  const std::lock_guard lock(ranks_.guard_);
  ranks_.post(
      0,
      {.kind = RankMessage::Kind::result, .number = item.number, .queue = name_, .text = std::move(result)});
}

std::optional<std::string> QueueWorker::ask(const WorkItem& item, std::string question) {
  std::unique_lock lock(ranks_.guard_);
  RankMessage reply = ranks_.call({.kind = RankMessage::Kind::question,
                                   .number = item.number,
                                   .queue = name_,
                                   .text = std::move(question)},
                                  lock);
  if (reply.kind != RankMessage::Kind::answer) return std::nullopt;
  return std::move(reply.text);
}

bool QueueWorker::closed() const {
  const std::lock_guard lock(ranks_.guard_);
  return ranks_.is_closed(name_);
}

}  // namespace rung
