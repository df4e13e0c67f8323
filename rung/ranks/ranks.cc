// Invariant, under guard_: a item that was posted and not collected is waiting, held by one living rank, or
// its result lies in the inbox. Transport is touched by the transport thread alone.
#include "rung/ranks/ranks.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "rung/base/require.h"

namespace rung {
namespace {

// The postman sleeps so long between two looks: short after a message, longer when nothing happens.
constexpr std::chrono::microseconds kShortest{50}, kLongest{1000};
constexpr double kBeatsPerSilence = 10;
constexpr const char* kSomebodyDied = "somebody died";

double seconds_between(std::chrono::steady_clock::time_point a, std::chrono::steady_clock::time_point b) {
  return std::chrono::duration<double>(b - a).count();
}

}  // namespace

Ranks::Ranks() : dead_(1), gone_(1), heard_(1) {}

Result<std::unique_ptr<Ranks>> Ranks::make(const OpenTransport& open, double silence) {
  auto ranks = std::make_unique<Ranks>();
  ranks->silence_ = silence;
  ranks->transport_thread_ = std::thread([&ranks = *ranks, open] { ranks.carry(open); });
  std::unique_lock lock(ranks->guard_);
  ranks->changed_.wait(lock, [&] { return ranks->ready_; });
  if (ranks->unready_) {
    const Error error = *ranks->unready_;
    lock.unlock();
    return error;
  }
  lock.unlock();
  return ranks;
}

Ranks::~Ranks() {
  {
    const std::lock_guard lock(guard_);
    ending_ = true;
    outgoing_.notify_all();
  }
  if (transport_thread_.joinable()) transport_thread_.join();
}

int Ranks::living() const {
  RUNG_REQUIRE(leads(), "rank {}", rank_);
  const std::lock_guard lock(guard_);
  return count_ - static_cast<int>(std::count(dead_.begin(), dead_.end(), true));
}

void Ranks::take_no_part(const std::string& why) {
  RUNG_REQUIRE(!leads(), "rank 0 always takes part: {}", why);
  const std::lock_guard lock(guard_);
  post(0, {.kind = RankMessage::Kind::refusal, .text = why});
}

int Ranks::leave(int code) {
  std::unique_lock lock(guard_);
  if (leads()) {
    close_queue("");
    const auto others_are_done = [&] {
      for (int other = 1; other < count_; ++other)
        if (!gone_[static_cast<std::size_t>(other)] && !dead_[static_cast<std::size_t>(other)]) return false;
      return true;
    };
    changed_.wait(lock, others_are_done);
    orderly_ = std::find(dead_.begin(), dead_.end(), true) == dead_.end();
    for (int other = 1; other < count_; ++other)
      post(other, {.kind = RankMessage::Kind::leave,
                   .number = static_cast<std::uint64_t>(code),
                   .text = orderly_ ? "" : kSomebodyDied});
    code_ = code;
    if (code != 2)
      for (const std::string& reason : refusals_) std::fprintf(stderr, "rung: [ranks] %s\n", reason.c_str());
  } else {
    post(0, {.kind = RankMessage::Kind::gone});
    changed_.wait(lock, [&] { return code_.has_value(); });
  }
  ending_ = true;
  outgoing_.notify_all();
  lock.unlock();
  if (transport_thread_.joinable()) transport_thread_.join();
  return *code_;
}

void Ranks::carry(const OpenTransport& open) {
  auto transport = open();
  {
    const std::lock_guard lock(guard_);
    if (transport) {
      rank_ = (*transport)->rank();
      count_ = (*transport)->count();
      dead_.assign(static_cast<std::size_t>(count_), false);
      gone_ = dead_;
      heard_.assign(static_cast<std::size_t>(count_), Clock::now());
    } else {
      unready_ = transport.error();
    }
    ready_ = true;
    changed_.notify_all();
  }
  if (!transport) return;
  auto beaten = Clock::now();
  auto pause = kShortest;
  for (;;) {
    bool moved = false;
    {
      std::unique_lock lock(guard_);
      if (out_.empty() && !ending_) outgoing_.wait_for(lock, pause);
      for (; !out_.empty(); moved = true) {
        auto [to, message] = std::move(out_.front());
        out_.pop_front();
        const bool reachable = !dead_[static_cast<std::size_t>(to)];
        lock.unlock();
        if (reachable) (*transport)->send(to, pack(message));
        lock.lock();
      }
      if (ending_) break;
    }
    while (auto incoming = (*transport)->poll()) {
      moved = true;
      handle(incoming->from, unpack(incoming->bytes));
    }
    const auto now = Clock::now();
    if (seconds_between(beaten, now) > silence_ / kBeatsPerSilence) {
      beaten = now;
      if (rank_ != 0) (*transport)->send(0, pack({.kind = RankMessage::Kind::beat}));
      for (int other = 1; rank_ == 0 && other < count_; ++other)
        if (!dead_[static_cast<std::size_t>(other)])
          (*transport)->send(other, pack({.kind = RankMessage::Kind::beat}));
      watch();
    }
    pause = moved ? kShortest : std::min(2 * pause, kLongest);
  }
  (*transport)->close(orderly_ && code_.has_value());
}

void Ranks::handle(int from, RankMessage message) {
  const std::lock_guard lock(guard_);
  heard_[static_cast<std::size_t>(from)] = Clock::now();
  if (leads()) return handle_as_lead(from, std::move(message));
  switch (message.kind) {
    case RankMessage::Kind::leave:
      code_ = static_cast<int>(message.number);
      orderly_ = message.text != kSomebodyDied;
      break;
    case RankMessage::Kind::item:
    case RankMessage::Kind::closed:
    case RankMessage::Kind::answer:
    case RankMessage::Kind::lost:
      if (message.ticket == 0) {
        if (message.queue.empty()) all_closed_ = true;
        closed_.insert(message.queue);
      } else if (const auto waiting = calls_.find(message.ticket); waiting != calls_.end()) {
        waiting->second = std::move(message);
      }
      break;
    default:
      break;
  }
  changed_.notify_all();
}

void Ranks::handle_as_lead(int from, RankMessage message) {
  const auto queue = queues_.find(message.queue);
  switch (message.kind) {
    case RankMessage::Kind::draw:
      draws_.push_back({from, message.ticket, message.queue});
      serve_draws();
      break;
    case RankMessage::Kind::result: {
      if (queue == queues_.end()) break;
      QueueState& state = queue->second;
      const auto waiting = std::find_if(state.waiting.begin(), state.waiting.end(),
                                        [&](const WorkItem& item) { return item.number == message.number; });
      if (waiting != state.waiting.end())
        state.waiting.erase(waiting);  // thought dead, and done all the same
      else if (state.under_way.erase(message.number) == 0)
        break;  // somebody else's result was collected
      state.inbox.push_back({from, std::move(message)});
      break;
    }
    case RankMessage::Kind::question: {
      const bool holds = queue != queues_.end() && queue->second.under_way.contains(message.number) &&
                         queue->second.under_way.at(message.number).rank == from;
      if (holds)
        queue->second.inbox.push_back({from, std::move(message)});
      else
        post(from, {.kind = RankMessage::Kind::lost, .ticket = message.ticket});
      break;
    }
    case RankMessage::Kind::refusal:
      refusals_.push_back(fmt::format("rank {} took no part: {}", from, message.text));
      break;
    case RankMessage::Kind::gone:
      gone_[static_cast<std::size_t>(from)] = true;
      break;
    default:
      break;
  }
  changed_.notify_all();
}

void Ranks::watch() {
  const std::lock_guard lock(guard_);
  const auto now = Clock::now();
  if (!leads()) {
    if (seconds_between(heard_[0], now) <= silence_ || code_) return;
    std::fprintf(stderr, "rung: [ranks] rank %d has not heard from rank 0 for %.0f s, and ends\n", rank_,
                 silence_);
    std::_Exit(1);
  }
  for (int other = 1; other < count_; ++other)
    if (!dead_[static_cast<std::size_t>(other)] &&
        seconds_between(heard_[static_cast<std::size_t>(other)], now) > silence_)
      give_up(other);
}

void Ranks::give_up(int rank) {
  dead_[static_cast<std::size_t>(rank)] = true;
  std::fprintf(stderr, "rung: [ranks] rank %d has not been heard for %.0f s; its work is handed out again\n",
               rank, silence_);
  std::erase_if(draws_, [&](const HeldDraw& draw) { return draw.rank == rank; });
  for (auto& [name, state] : queues_) {
    std::erase_if(state.inbox, [&](const Event& event) {
      return event.rank == rank && event.message.kind == RankMessage::Kind::question;
    });
    for (auto held = state.under_way.begin(); held != state.under_way.end();) {
      if (held->second.rank != rank) {
        ++held;
        continue;
      }
      if (!is_closed(name)) state.waiting.push_front(std::move(held->second.item));
      held = state.under_way.erase(held);
    }
  }
  serve_draws();
  changed_.notify_all();
}

void Ranks::post(int to, RankMessage message) {
  if (to != rank_) {
    out_.emplace_back(to, std::move(message));
    outgoing_.notify_all();
    return;
  }
  if (message.ticket != 0 && message.kind != RankMessage::Kind::draw &&
      message.kind != RankMessage::Kind::question) {
    if (const auto waiting = calls_.find(message.ticket); waiting != calls_.end())
      waiting->second = std::move(message);
    changed_.notify_all();
    return;
  }
  handle_as_lead(to, std::move(message));
}

void Ranks::serve_draws() {
  for (std::size_t i = 0; i < draws_.size();) {
    const HeldDraw draw = draws_[i];
    const auto queue = queues_.find(draw.queue);
    RankMessage reply{.kind = RankMessage::Kind::closed, .ticket = draw.ticket};
    if (!is_closed(draw.queue)) {
      if (queue == queues_.end() || queue->second.waiting.empty()) {
        ++i;
        continue;
      }
      QueueState& state = queue->second;
      WorkItem item = std::move(state.waiting.front());
      state.waiting.pop_front();
      reply = {
          .kind = RankMessage::Kind::item, .ticket = draw.ticket, .number = item.number, .text = item.order};
      const auto number = item.number;
      state.under_way[number] = {draw.rank, std::move(item)};
    }
    draws_.erase(draws_.begin() + static_cast<std::ptrdiff_t>(i));
    post(draw.rank, std::move(reply));
  }
}

void Ranks::close_queue(const std::string& name) {
  if (name.empty() ? all_closed_ : !closed_.insert(name).second) return;
  if (name.empty()) all_closed_ = true;
  for (int other = 1; other < count_; ++other)
    post(other, {.kind = RankMessage::Kind::closed, .queue = name});
  serve_draws();
  changed_.notify_all();
}

RankMessage Ranks::call(RankMessage message, std::unique_lock<std::mutex>& lock) {
  const std::uint64_t ticket = message.ticket = ++tickets_;
  calls_[ticket];
  post(0, std::move(message));
  changed_.wait(lock, [&] { return calls_.at(ticket).has_value() || code_.has_value(); });
  RankMessage reply =
      calls_.at(ticket) ? std::move(*calls_.at(ticket)) : RankMessage{.kind = RankMessage::Kind::closed};
  calls_.erase(ticket);
  return reply;
}

}  // namespace rung
