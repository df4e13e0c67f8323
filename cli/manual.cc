#include "cli/manual.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

namespace rung::cli {
namespace {

constexpr std::string_view kExitCodes[][2] = {
    {"0", "done"},
    {"1", "a negative mathematical outcome: a refuted claim, a failed verification"},
    {"2", "bad input or a failure of the outside world; one line on standard error says which"},
    {"130", "stopped by Ctrl-C, where the work can be resumed"},
};

// A text line of roff: backslashes and hyphens keep their meaning, a leading dot or quote is no request.
std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool at_line_start = out.empty() || out.back() == '\n';
    if (at_line_start && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
  }
  return out;
}

std::string roff_paragraphs(std::string_view text) {
  std::string out = roff(text);
  for (std::size_t at = out.find("\n\n"); at != std::string::npos; at = out.find("\n\n", at + 1))
    out.replace(at, 2, "\n.PP\n");
  return out + "\n";
}

constexpr std::size_t kTextWidth = 100;
constexpr std::size_t kWidestHeading = 32;
constexpr std::string_view kPlainGroup = "Options";

// Lines of at most kTextWidth columns; line breaks of the text stay.
std::string wrapped(std::string_view text, std::size_t width = kTextWidth) {
  std::string out;
  std::size_t column = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(" \n"), text.size());
    if (column > 0 && column + 1 + end > width) {
      out += '\n';
      column = 0;
    }
    if (column > 0) out += ' ';
    out += text.substr(0, end);
    column += end + (column > 0 ? 1 : 0);
    if (end < text.size() && text[end] == '\n') {
      out += '\n';
      column = 0;
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

// The options under their headings, the plain ones first, then in the order of the list.
std::vector<std::pair<std::string, std::vector<const Option*>>> option_groups(const Command& command) {
  std::vector<std::pair<std::string, std::vector<const Option*>>> groups = {{std::string(kPlainGroup), {}}};
  for (const Option& option : command.options) {
    const std::string title = option.group.empty() ? std::string(kPlainGroup) : option.group;
    auto group =
        std::find_if(groups.begin(), groups.end(), [&](const auto& one) { return one.first == title; });
    if (group == groups.end()) group = groups.insert(groups.end(), {title, {}});
    group->second.push_back(&option);
  }
  if (groups.front().second.empty()) groups.erase(groups.begin());
  return groups;
}

std::string option_heading(const Option& option) {
  std::string heading = fmt::format("{}", fmt::join(option_names(option), ", "));
  if (const std::string value = value_word(option); !value.empty()) heading += " " + value;
  return heading;
}

}  // namespace

std::vector<std::string> option_names(const Option& option) {
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin <= option.names.size();) {
    const std::size_t end = std::min(option.names.find(',', begin), option.names.size());
    names.push_back(option.names.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

bool is_positional(const Option& option) { return option.names.empty() || option.names[0] != '-'; }

bool is_flag(const Option& option) { return std::holds_alternative<bool*>(option.target); }

std::string value_word(const Option& option) {
  if (is_positional(option) || is_flag(option)) return "";
  if (!option.choices.empty()) return fmt::format("{}", fmt::join(option.choices, "|"));
  const bool whole = std::holds_alternative<std::int64_t*>(option.target) ||
                     std::holds_alternative<std::optional<std::int64_t>*>(option.target);
  const bool real = std::holds_alternative<double*>(option.target) ||
                    std::holds_alternative<std::optional<double>*>(option.target);
  return whole ? "N" : real ? "X" : "TEXT";
}

std::string synopsis(const Command& command) {
  std::string line = "rung " + command.name;
  const auto named = std::find_if_not(command.options.begin(), command.options.end(), is_positional);
  if (named != command.options.end()) line += " [OPTION]...";
  for (const Option& option : command.options) {
    if (!is_positional(option)) continue;
    const bool repeats = std::holds_alternative<std::vector<std::string>*>(option.target);
    const std::string word = option.names + (repeats ? "..." : "");
    line += fmt::format(fmt::runtime(option.required ? " {}" : " [{}]"), word);
  }
  return line;
}

std::string help_list(const std::vector<Command>& commands) {
  std::size_t width = 0;
  for (const Command& command : commands) width = std::max(width, command.name.size());
  std::string out = "Commands:\n";
  for (const Command& command : commands)
    out += fmt::format("  {:<{}}  {}\n", command.name, width, command.summary);
  return out;
}

std::string help_text(const Command& command) {
  std::string out = fmt::format("{}\n\n{}\n", synopsis(command), command.summary);
  if (!command.description.empty()) out += fmt::format("\n{}\n", wrapped(command.description));
  std::size_t width = 0;
  for (const Option& option : command.options) width = std::max(width, option_heading(option).size());
  width = std::min(width, kWidestHeading);
  for (const auto& [title, options] : option_groups(command)) {
    out += fmt::format("\n{}:\n", title);
    for (const Option* option : options) {
      const std::string heading = option_heading(*option);
      const std::string gap = heading.size() > width ? fmt::format("\n{:{}}", "", width + 4) : "  ";
      std::string help = wrapped(option->help, kTextWidth - width - 4);
      for (std::size_t at = help.find('\n'); at != std::string::npos; at = help.find('\n', at + 1))
        help.insert(at + 1, width + 4, ' ');
      out += fmt::format("  {:<{}}{}{}\n", heading, width, gap, help);
    }
  }
  if (!command.examples.empty()) out += "\nExamples:\n";
  for (const std::string& example : command.examples) out += fmt::format("  {}\n", example);
  return out;
}

std::string man_page(const std::vector<Command>& commands, const std::string& version) {
  std::string out = fmt::format(".TH RUNG 1 \"\" \"rung {}\" \"User Commands\"\n", version);
  out += ".SH NAME\nrung \\- the expressiveness theory of attention, executable\n.SH SYNOPSIS\n.B rung\n";
  out += ".I COMMAND\n[\\fIOPTION\\fR]...\n.SH DESCRIPTION\n";
  out += roff(
      "Says what a stack of full, linear, recurrent and sparse attention layers means bit for bit, how much "
      "it can remember, and what it provably cannot do. Results go to standard output; every command that "
      "has --json writes one document with a \"schema\" field there and nothing else.\n");
  out += ".SH COMMANDS\n";
  for (const Command& command : commands) {
    out += fmt::format(".SS {}\n{}.\n", roff(synopsis(command)), roff(command.summary));
    if (!command.description.empty()) out += fmt::format(".PP\n{}", roff_paragraphs(command.description));
    for (const auto& [title, options] : option_groups(command)) {
      if (title != kPlainGroup) out += fmt::format(".PP\n{}:\n", roff(title));
      for (const Option* option : options)
        out += fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff(option_heading(*option)), roff(option->help));
    }
    if (command.examples.empty()) continue;
    out += ".PP\nExamples:\n.PP\n.nf\n.RS\n";
    for (const std::string& example : command.examples) out += roff(example) + "\n";
    out += ".RE\n.fi\n";
  }
  out += ".SH EXIT STATUS\n";
  for (const auto& [code, meaning] : kExitCodes) out += fmt::format(".TP\n.B {}\n{}\n", code, roff(meaning));
  out +=
      ".SH ENVIRONMENT\n.TP\n.B RUNG_THREADS\nhow many threads long work uses; results do not depend on it\n";
  out += ".TP\n.B RUNG_STORE\nthe store of records, in place of rung\\-runs/runs.sqlite\n";
  return out;
}

nlohmann::ordered_json commands_document(const std::vector<Command>& commands) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Command& command : commands) {
    nlohmann::ordered_json options = nlohmann::ordered_json::array();
    for (const Option& option : command.options)
      options.push_back({{"names", option_names(option)},
                         {"help", option.help},
                         {"value", value_word(option)},
                         {"required", option.required},
                         {"group", option.group.empty() ? kPlainGroup : option.group},
                         {"forms", option.forms},
                         {"needs", option.needs},
                         {"excludes", option.excludes}});
    list.push_back({{"name", command.name}, {"summary", command.summary}, {"options", options}});
  }
  return {{"schema", "rung.help/1"}, {"commands", list}};
}

}  // namespace rung::cli
