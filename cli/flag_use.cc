#include "cli/flag_use.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "cli/manual.h"
#include "rung/base/nearest_word.h"
#include "rung/base/staged_file.h"
#include "rung/ranks/launch.h"

namespace rung::cli {
namespace {

bool has_word(const std::vector<std::string>& list, const std::string& word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

// The given option of this name.
const Option* given_option(const GivenOptions& given, const std::string& name) {
  for (const Option* option : given)
    if (has_word(option_names(*option), name)) return option;
  return nullptr;
}

std::string option_title(const Option& option) { return option_names(option).front(); }

std::vector<std::string> option_paths(const Option& option) {
  if (const auto* one = std::get_if<std::string*>(&option.target)) return {**one};
  if (const auto* one = std::get_if<std::optional<std::string>*>(&option.target))
    return **one ? std::vector<std::string>{***one} : std::vector<std::string>{};
  if (const auto* many = std::get_if<std::vector<std::string>*>(&option.target)) return **many;
  return {};
}

const Command* running_command = nullptr;

}  // namespace

void set_running_command(const Command& command) { running_command = &command; }

std::string with_flags(const std::string& text) {
  std::string out;
  std::size_t at = 0;
  while (running_command) {
    const std::size_t open = text.find('`', at), close = open == text.npos ? open : text.find('`', open + 1);
    if (close == text.npos) break;
    const std::string flag = "--" + text.substr(open + 1, close - open - 1);
    const auto& options = running_command->options;
    const bool known = std::any_of(options.begin(), options.end(), [&](const Option& option) {
      return has_word(option_names(option), flag);
    });
    out += text.substr(at, open - at);
    if (known)
      out += flag, at = close + 1;
    else
      out += '`', at = open + 1;
  }
  return out + text.substr(at);
}

Result<void> check_flag_use(const Command& command, const GivenOptions& given) {
  const std::string form = command.form ? command.form() : "";
  for (const Option& option :
       command.options) {  // in the order of the list, so that messages are reproducible
    if (!given.contains(&option)) continue;
    const std::string name = option_title(option);
    if (!form.empty() && !option.forms.empty() && !has_word(option.forms, form))
      return fail(ErrorCode::parse, "[{}] {} is not used by {}; it belongs to {}", command.name, name, form,
                  fmt::join(option.forms, ", "));
    const auto beside = [&](const std::string& other) { return given_option(given, other) != nullptr; };
    if (!option.needs.empty() && std::none_of(option.needs.begin(), option.needs.end(), beside))
      return fail(ErrorCode::parse, "[{}] {} is not used without {}", command.name, name,
                  fmt::join(option.needs, " or "));
    for (const std::string& other : option.excludes)
      if (beside(other))
        return fail(ErrorCode::parse, "[{}] {} and {} exclude each other", command.name, name, other);
  }
  return {};
}

Result<void> check_files(const Command& command, const GivenOptions& given) {
  const Option* force = given_option(given, "--force");
  std::vector<std::pair<std::string, std::string>> known;  // name of the option, path
  for (const FileUse use : {FileUse::read, FileUse::keep, FileUse::write})
    for (const Option& option : command.options) {
      if (!given.contains(&option) || option.file != use) continue;
      for (const std::string& path : option_paths(option)) {
        if (use != FileUse::read)
          for (const auto& [name, other] : known)
            if (same_file(path, other))
              return fail(ErrorCode::io, "[{}] {} and {} are one file, {}; two expected", command.name, name,
                          option_title(option), rung::quoted(path));
        known.emplace_back(option_title(option), path);
      }
    }
  bool to_standard_output = false;
  for (const Option& option : command.options) {
    if (!given.contains(&option) || option.file != FileUse::write) continue;
    for (const std::string& path : option_paths(option)) {
      to_standard_output = to_standard_output || path == kStandardOutput;
      if (launch().rank == 0) RUNG_CHECK(StagedFile::check(path, force != nullptr));
    }
  }
  if (!to_standard_output) return {};
  if (given_option(given, "--json"))
    return fail(ErrorCode::parse, "[{}] --json and a file - both write to standard output", command.name);
  return keep_standard_output_for_a_file();
}

}  // namespace rung::cli
