// How often one address may ask: a bucket that fills at a steady rate and holds a burst. Thread-safe.
#pragma once

#include <chrono>
#include <mutex>
#include <string>
#include <unordered_map>

namespace rung::serve {

class RequestRate {
 public:
  using Clock = std::chrono::steady_clock;

  RequestRate(double per_second, double burst) : per_second_(per_second), burst_(burst) {}
  RequestRate(RequestRate&& other) noexcept : per_second_(other.per_second_), burst_(other.burst_) {}

  bool admit(const std::string& address, Clock::time_point now = Clock::now());

 private:
  struct Bucket {
    double left = 0;
    Clock::time_point at;
  };
  std::mutex guard_;
  const double per_second_, burst_;
  std::unordered_map<std::string, Bucket> buckets_;  // at most kMostAddresses; then all start afresh
};

}  // namespace rung::serve
