// Commands that are printed or kept for somebody to run, quoted for a shell.
//   CommandLine({"rung", "bound", "full*2"}).option("width", 64).flag("explain").text()
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

namespace rung {

// A file or another operand: as it is where a shell takes it as it is, else in single quotes; one that begins with a
// dash has ./ in front. Control bytes are written as $'...' escapes, so that nothing printed moves a terminal's cursor.
std::string shell_word(std::string_view text);
// The words of a command, flags among them.
std::string shell_line(const std::vector<std::string>& words);

class CommandLine {
 public:
  explicit CommandLine(std::vector<std::string> words) : words_(std::move(words)) {}
  CommandLine& flag(std::string_view name) {
    words_.push_back("--" + std::string(name));
    return *this;
  }
  template <class T>
  CommandLine& option(std::string_view name, const T& value) {
    flag(name);
    words_.push_back(fmt::format("{}", value));
    return *this;
  }
  // One option an entry: sizes or words by name.
  template <class Map>
  CommandLine& options(const Map& values) {
    for (const auto& [name, value] : values) option(name, value);
    return *this;
  }
  std::string text() const { return shell_line(words_); }

 private:
  std::vector<std::string> words_;
};

}  // namespace rung
