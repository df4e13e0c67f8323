// A flag that a command would not use is an error, never silence; and no command writes over a file that it reads
// or writes otherwise. Both are decided here, for all commands, after the flags are parsed and before anything runs.
//
//   RUNG_CHECK(check_flag_use(command, given));   // exit code 2, one line
//   RUNG_CHECK(check_files(command, given));
#pragma once

#include <set>

#include "cli/command.h"

namespace rung::cli {

// The options that the command line holds.
using GivenOptions = std::set<const Option*>;

// Every given option belongs to the form that command.form() names, stands beside what it needs, and not beside
// what excludes it.
Result<void> check_flag_use(const Command& command, const GivenOptions& given);

// A library names a quantity, `context`; here, where the command has that option, it becomes --context. Any other
// text between backquotes stays as it is. Until the first command runs nothing is changed.
std::string with_flags(const std::string& text);
void set_running_command(const Command& command);

// Files to be written can be written, are not there yet unless --force was given, and are neither each other nor a
// file that the command reads or keeps. With "-" among them standard output is kept for that file alone.
Result<void> check_files(const Command& command, const GivenOptions& given);

}  // namespace rung::cli
