#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/manual.h"

namespace rung::cli {
namespace {

// `    --format) words='text jsonl' ;;` for every option that has a closed list, and an empty list (files
// follow) for every other option with a value.
std::string value_cases(const Command& command) {
  std::string out;
  for (const Option& option : command.options) {
    if (is_positional(option) || is_flag(option)) continue;
    out += fmt::format("        {}) words='{}'; value=yes ;;\n", fmt::join(option_names(option), "|"),
                       fmt::join(option.choices, " "));
  }
  return out;
}

std::string long_names(const Command& command) {
  std::vector<std::string> names = {"--help"};
  for (const Option& option : command.options)
    for (const std::string& name : option_names(option))
      if (name.starts_with("--")) names.push_back(name);
  return fmt::format("{}", fmt::join(names, " "));
}

// The words that a positional argument may be: its choices.
std::string positional_words(const Command& command) {
  std::vector<std::string> words;
  for (const Option& option : command.options)
    if (is_positional(option)) words.insert(words.end(), option.choices.begin(), option.choices.end());
  return fmt::format("{}", fmt::join(words, " "));
}

}  // namespace

std::string bash_completion(const std::vector<Command>& commands) {
  std::vector<std::string> names;
  for (const Command& command : commands) names.push_back(command.name);
  std::string out = "# bash completion for rung, written by `rung help --completion bash`\n";
  out += "_rung() {\n";
  out += "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words= value= names=\n";
  out += "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n";
  out += fmt::format("    COMPREPLY=($(compgen -W '{} --help --version' -- \"$word\"))\n    return\n  fi\n",
                     fmt::join(names, " "));
  out += "  case ${COMP_WORDS[1]} in\n";
  for (const Command& command : commands) {
    out += fmt::format("    {})\n      names='{}'\n      words='{}'\n", command.name, long_names(command),
                       positional_words(command));
    out += fmt::format("      case $before in\n{}        *) ;;\n      esac ;;\n", value_cases(command));
  }
  out += "  esac\n";
  out += "  case $value$word in\n    -*) words=$names ;;\n  esac\n";
  out += "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n}\n";
  out += "complete -o default -F _rung rung\n";
  return out;
}

}  // namespace rung::cli
