// The one line on standard error that tells somebody waiting how far the work is.
#pragma once

#include <string>

namespace rung::cli {

// A terminal that can rewrite a line: standard error is one, and TERM names something other than "dumb".
bool has_terminal_line();
// Rewrites the line, cut to the terminal's width. REQUIRES has_terminal_line(), here and below.
void show_terminal_line(const std::string& text);
void clear_terminal_line();

}  // namespace rung::cli
