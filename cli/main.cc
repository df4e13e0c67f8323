// The one translation unit that includes CLI11.
#include <poll.h>
#include <unistd.h>

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <new>
#include <nlohmann/json.hpp>
#include <system_error>

#include "cli/command.h"
#include "cli/flag_use.h"
#include "cli/manual.h"
#include "rung/base/nearest_word.h"
#include "rung/base/size_text.h"
#include "rung/ranks/launch.h"
#include "rung/ranks/ranks.h"

namespace rung::cli {
namespace {

// The parsed options, and what was understood where the text does not say it by itself.
struct Parsed {
  std::vector<std::pair<const Option*, CLI::Option*>> options;
  std::vector<std::string> notes;
};

// A whole number as people write it (rung/base/size_text.h).
template <class Target>
CLI::Option* add_size(CLI::App& app, const Option& option, Target& target, std::vector<std::string>& notes) {
  return app.add_option(
      option.names,
      [&option, &target, &notes](const CLI::results_t& words) {
        const auto value = parse_size(words.front());
        if (!value) {
          const std::size_t area = value.error().message.find("] ");
          throw CLI::ConversionError(option_names(option).front() + " " +
                                     value.error().message.substr(area + 2));
        }
        target = *value;
        if (const std::string note = size_note(words.front()); !note.empty())
          notes.push_back(option_names(option).front() + " " + note);
        return true;
      },
      option.help);
}

CLI::Option* declare(CLI::App& app, Option& option, std::vector<std::string>& notes) {
  CLI::Option* added = std::visit(
      [&](auto* target) -> CLI::Option* {
        using Target = std::remove_pointer_t<decltype(target)>;
        if constexpr (std::is_same_v<Target, bool>)
          return app.add_flag(option.names, *target, option.help);
        else if constexpr (std::is_same_v<Target, std::int64_t> ||
                           std::is_same_v<Target, std::optional<std::int64_t>>)
          return add_size(app, option, *target, notes);
        else
          return app.add_option(option.names, *target, option.help);
      },
      option.target);
  if (option.required) added->required();
  // --sweep a --sweep b MODEL: a repeated flag takes one word each time.
  if (std::holds_alternative<std::vector<std::string>*>(option.target) && option.names.starts_with("-"))
    added->allow_extra_args(false);
  if (!option.choices.empty()) added->check(CLI::IsMember(option.choices));
  if (!option.group.empty()) added->group(option.group);
  return added;
}

// A flag that the command does not have, answered before its value is taken for something else.
std::optional<std::string> unknown_flag(const Command& command, int argc, char** argv) {
  std::vector<std::string> names{"--help", "-h"};
  for (const Option& option : command.options)
    for (std::string& name : option_names(option)) names.push_back(std::move(name));
  const std::vector<std::string_view> known(names.begin(), names.end());
  for (int i = 2; i < argc; ++i) {
    std::string_view word = argv[i];
    if (word == "--") break;
    if (word.size() < 2 || word[0] != '-' ||
        (word[1] != '-' && std::isalpha(static_cast<unsigned char>(word[1])) == 0))
      continue;
    word = word.substr(0, word.find('='));
    if (std::find(known.begin(), known.end(), word) != known.end()) continue;
    const std::string longer = "-" + std::string(word);  // -n for --n
    const auto same = std::find(known.begin(), known.end(), longer);
    const auto near = same != known.end() ? *same : nearest_word(word, known);
    return fmt::format("[arguments] {} has no flag {}; {}", command.name, rung::quoted(word),
                       near.empty() ? fmt::format("rung {} --help lists them", command.name)
                                    : fmt::format("did you mean {}?", near));
  }
  return std::nullopt;
}

// What CLI11 found, in our words.
std::string misuse(const Command& command, const CLI::App& app, const Parsed& parsed,
                   const CLI::ParseError& error) {
  for (const auto& [option, own] : parsed.options)
    if (own->count() > 1 && !std::holds_alternative<std::vector<std::string>*>(option->target) &&
        !is_flag(*option))
      return fmt::format("[arguments] {} takes one value; {} were given: {}", option_names(*option).front(),
                         own->count(), fmt::join(own->results(), ", "));
  const auto extra = app.remaining();
  if (!extra.empty()) {
    for (const Option& option : command.options)
      if (is_positional(option))
        return fmt::format("[arguments] {} takes one {}; {} is one too many", command.name, option.names,
                           rung::quoted(extra.front()));
    return fmt::format("[arguments] {} takes no {}; rung {} --help says what it takes", command.name,
                       rung::quoted(extra.front()), command.name);
  }
  return fmt::format("[arguments] {}; see rung {} --help", error.what(), command.name);
}

constexpr const char* kUnwritten = "[output] standard output could not be written";
constexpr int kReaderLeft = 128 + SIGPIPE;  // as if the signal had ended it

// `rung task ... | head`: whoever read has what it wanted.
bool reader_left() {
  pollfd output{STDOUT_FILENO, POLLOUT, 0};
  return ::poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0;
}

// A result that never reached its file is a failure of the outside world, whatever the command says.
bool output_was_written() {
  return std::cout.flush() && std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
}

// One line on standard error, from rank 0; where another fails alone, rank 0 is told.
void complain(const std::string& message) {
  Ranks* ranks = joined_ranks();
  if (launch().rank == 0)
    std::cerr << "rung: " << message << "\n";
  else if (ranks && !ranks->leads())
    ranks->take_no_part(message);
}

int run(const Command& command, const GivenOptions& given) {
  if (launch().count > 1 && !command.spreads) {
    if (launch().rank != 0) return 0;
    std::cerr << "rung: [ranks] " << command.name << " runs on one rank; the others have nothing to do\n";
  }
  // Where nobody reads on, writing fails; the work and its files are finished all the same.
  std::signal(SIGPIPE, SIG_IGN);
  set_running_command(command);
  try {
    const Result<int> result = [&]() -> Result<int> {
      RUNG_CHECK(check_flag_use(command, given));
      RUNG_CHECK(check_files(command, given));
      return command.run();
    }();
    const bool written = output_was_written();
    if (result && written) return *result;
    if (!written && reader_left()) return kReaderLeft;
    complain(result ? kUnwritten : with_flags(result.error().message));
  } catch (const std::bad_alloc&) {
    complain("[memory] " + command.name + " needs more memory than there is");
  } catch (const std::system_error&) {  // fmt, where a line does not go out
    if (reader_left()) return kReaderLeft;
    complain(kUnwritten);
  }
  return 2;
}

int main_with(int argc, char** argv) {
  CLI::App app{"rung: the expressiveness theory of attention, executable", "rung"};
  app.set_version_flag("--version,-v,-V", std::string("rung ") + RUNG_VERSION);
  app.require_subcommand(1);
  auto list = command_list();
  list.push_back(help_command(list));
  std::vector<std::string_view> names;
  for (const Command& command : list) names.push_back(command.name);
  if (argc > 1 && argv[1][0] != '-' && std::find(names.begin(), names.end(), argv[1]) == names.end()) {
    complain(fmt::format("[arguments] no command {}; {}", rung::quoted(argv[1]), suggest(argv[1], names)));
    return 2;
  }
  for (const Command& command : list)
    if (argc > 1 && command.name == argv[1])
      if (const auto unknown = unknown_flag(command, argc, argv)) {
        complain(*unknown);
        return 2;
      }
  std::vector<CLI::App*> apps;
  Parsed parsed;
  for (auto& command : list) {
    CLI::App* sub = app.add_subcommand(command.name, command.summary);
    // --help, `rung help` and the man page are one text.
    sub->formatter_fn(
        [&command](const CLI::App*, std::string, CLI::AppFormatMode) { return help_text(command); });
    for (auto& option : command.options)
      parsed.options.emplace_back(&option, declare(*sub, option, parsed.notes));
    apps.push_back(sub);
  }
  try {
    // rung alone is the main job; rung-learn has none.
    const auto whole = std::find_if(list.begin(), list.end(),
                                    [](const Command& command) { return command.name == "hierarchy"; });
    if (argc == 1 && whole != list.end()) return run(*whole, {});
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help, --version
    return launch().rank == 0 ? app.exit(success) : 0;
  } catch (const CLI::ParseError& error) {
    for (std::size_t i = 0; i < list.size(); ++i)
      if (argc > 1 && list[i].name == argv[1]) {
        complain(misuse(list[i], *apps[i], parsed, error));
        return 2;
      }
    complain(fmt::format("[arguments] {}; see rung --help", error.what()));
    return 2;
  }
  GivenOptions given;
  for (const auto& [option, own] : parsed.options) {
    if (own->count() == 0) continue;
    given.insert(option);
    if (option->understood)
      for (const std::string& value : own->results())
        if (const std::string note = option->understood(value); !note.empty())
          parsed.notes.push_back(option_names(*option).front() + " " + note);
  }
  if (launch().rank == 0)
    for (const std::string& note : parsed.notes) std::cerr << "rung: " << note << "\n";
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!apps[i]->parsed()) continue;
    return run(list[i], given);
  }
  return 2;
}

std::vector<std::string> g_arguments;

}  // namespace

const std::vector<std::string>& program_arguments() { return g_arguments; }

int run_program(std::vector<std::string> arguments) {
  g_arguments = std::move(arguments);
  std::vector<char*> argv;
  for (std::string& word : g_arguments) argv.push_back(word.data());
  argv.push_back(nullptr);
  return leave_ranks(main_with(static_cast<int>(g_arguments.size()), argv.data()));
}

void print_json(const nlohmann::ordered_json& document) {
  RUNG_REQUIRE(document.contains("schema"), "a --json document names its schema");
  std::cout << document.dump(2) << "\n";
}

}  // namespace rung::cli

// Every rank ends with rank 0's exit code.
int main(int argc, char** argv) { return rung::cli::run_program({argv, argv + argc}); }
