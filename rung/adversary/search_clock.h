// A search's time: when it must stop, and when it is time to say how far it is.
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>

#include "rung/adversary/attack.h"

namespace rung {

class SearchClock {
 public:
  explicit SearchClock(const SearchOptions& options) : options_(options), start_(Clock::now()) {}

  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  // The budget is spent, or somebody asked to stop. Callable from several threads.
  bool over() const { return seconds() > options_.seconds || (options_.stop && options_.stop()); }
  // Passes progress on, at most five times a second. Callable from several threads.
  void report(const SearchProgress& progress) {
    if (!options_.progress) return;
    const std::unique_lock lock(guard_, std::try_to_lock);
    if (!lock || Clock::now() - reported_ < std::chrono::milliseconds(200)) return;
    reported_ = Clock::now();
    options_.progress(progress);
  }

 private:
  using Clock = std::chrono::steady_clock;
  const SearchOptions& options_;
  Clock::time_point start_, reported_{};
  std::mutex guard_;
};

}  // namespace rung
