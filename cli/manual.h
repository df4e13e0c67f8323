// The list of commands as a person reads it: text for `rung help`, roff for the man page, a script for bash.
// All three are functions of the list alone (no date, no width of a terminal), so an installation can be
// reproduced.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

namespace rung::cli {

// The parts of Option::names: {"--count", "-c"}; a positional argument is one word without dashes.
std::vector<std::string> option_names(const Option& option);
bool is_positional(const Option& option);
bool is_flag(const Option& option);  // takes no value
// What stands for the value: "text|jsonl", "N", "TEXT"; empty for a flag and for a positional argument.
std::string value_word(const Option& option);
// "rung show [OPTION]... ARCH"
std::string synopsis(const Command& command);

std::string help_list(const std::vector<Command>& commands);
std::string help_text(const Command& command);
std::string man_page(const std::vector<Command>& commands, const std::string& version);
std::string bash_completion(const std::vector<Command>& commands);
// Schema rung.help/1: every command with its options, the forms they belong to, and what they need or exclude.
nlohmann::ordered_json commands_document(const std::vector<Command>& commands);

}  // namespace rung::cli
