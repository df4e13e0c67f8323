#include "cli/progress.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/terminal_line.h"

namespace rung::cli {

Progress::Progress(std::string what, std::uint64_t total, bool quiet)
    : what_(std::move(what)),
      total_(total),
      shown_(!quiet && has_terminal_line()),
      start_(std::chrono::steady_clock::now()),
      last_(start_) {}

Progress::~Progress() {
  if (shown_ && last_ != start_) clear_terminal_line();
}

double Progress::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

void Progress::at(std::uint64_t done) {
  if (!shown_) return;
  const std::lock_guard lock(guard_);
  const auto now = std::chrono::steady_clock::now();
  if (now - start_ < std::chrono::seconds(1) || now - last_ < std::chrono::milliseconds(100)) return;
  last_ = now;
  const double rate = static_cast<double>(done) / seconds();
  if (total_ == 0) {
    show_terminal_line(fmt::format("{} {} ({:.0f}/s)", what_, done, rate));
    return;
  }
  constexpr int kBar = 24;
  const auto filled = static_cast<int>(kBar * std::min(done, total_) / total_);
  show_terminal_line(fmt::format(
      "{} [{:#<{}}{:.<{}}] {} of {} ({:.0f}/s, {:.0f} s left)", what_, "", filled, "", kBar - filled, done,
      total_, rate, rate > 0 && done < total_ ? static_cast<double>(total_ - done) / rate : 0.0));
}

}  // namespace rung::cli
