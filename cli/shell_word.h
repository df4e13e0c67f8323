// A word of a command that is printed for somebody to run.
#pragma once

#include <string>
#include <string_view>

namespace rung::cli {

// As it is where a shell takes it as it is, else in single quotes. Control bytes are written as $'...' escapes,
// so that nothing printed moves a terminal's cursor.
std::string shell_word(std::string_view text);

}  // namespace rung::cli
