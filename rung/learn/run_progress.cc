#include "rung/learn/run_progress.h"

#include <algorithm>

namespace rung::learn {
namespace {

constexpr double kTellEvery = 0.2;  // seconds
constexpr double kNewsEvery = 2, kNewsShareOfTheRun = 0.01;

double between(RunProgress::Clock::time_point from, RunProgress::Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

}  // namespace

double RunProgress::seconds() const { return between(start_, Clock::now()); }

double RunProgress::tokens_per_second() const {
  return static_cast<double>(tokens_) / std::max(1e-9, between(first_step_, last_step_));
}

void RunProgress::step(const Trainer& trainer, std::int64_t tokens, std::int64_t members) {
  const auto now = Clock::now();
  const std::lock_guard lock(guard_);
  if (first_step_ == Clock::time_point{}) first_step_ = now;
  last_step_ = now;
  tokens_ += tokens;
  shown_.steps_done += members;
  if (!tell_ || between(last_told_, now) < kTellEvery) return;
  last_told_ = now;
  shown_.loss = trainer.recent_loss(), shown_.accuracy = trainer.recent_accuracy();
  shown_.stage = trainer.recent_stage();
  shown_.tokens_per_second = tokens_per_second();
  shown_.seconds = seconds();
  tell_(shown_);
}

void RunProgress::skip(std::int64_t steps) {
  const std::lock_guard lock(guard_);
  shown_.steps_done += steps;
}

void RunProgress::member_done(std::int64_t count) {
  const std::lock_guard lock(guard_);
  shown_.members_done += count;
}

bool RunProgress::news_due(std::int64_t group) {
  const std::lock_guard lock(guard_);
  auto& last = last_news_[group];
  const auto now = Clock::now();
  if (last != Clock::time_point{} &&
      between(last, now) < std::max(kNewsEvery, kNewsShareOfTheRun * between(start_, now)))
    return false;
  last = now;
  return true;
}

}  // namespace rung::learn
