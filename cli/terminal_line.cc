#include "cli/terminal_line.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "rung/base/text_columns.h"

namespace rung::cli {
namespace {

std::size_t terminal_columns() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

}  // namespace

bool has_terminal_line() {
  const char* terminal = std::getenv("TERM");
  return isatty(STDERR_FILENO) == 1 && terminal != nullptr && std::string_view(terminal) != "dumb" &&
         *terminal != '\0';
}

void show_terminal_line(const std::string& text) {
  std::string line = text;
  const std::size_t room = terminal_columns() - 1;
  if (text_columns(line) > room) {
    constexpr std::string_view kMore = "...";
    while (text_columns(line) + kMore.size() > room && !line.empty()) line.pop_back();
    line += kMore;
  }
  std::fprintf(stderr, "\r\033[K%s", line.c_str());
  std::fflush(stderr);
}

void clear_terminal_line() {
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
}

}  // namespace rung::cli
