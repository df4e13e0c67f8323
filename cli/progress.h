// A progress line on standard error, on a terminal only: what, how far, how fast, how long still.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

namespace rung::cli {

class Progress {
 public:
  // `total` 0: not known. Nothing is shown for work that ends within a second, nor when `quiet`.
  Progress(std::string what, std::uint64_t total, bool quiet = false);
  ~Progress();  // clears the line
  void at(std::uint64_t done);
  double seconds() const;

 private:
  std::string what_;
  std::uint64_t total_;
  bool shown_;
  std::chrono::steady_clock::time_point start_, last_;
  std::mutex guard_;
};

}  // namespace rung::cli
