// The one translation unit that includes CLI11.
#include <poll.h>
#include <unistd.h>

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
#include "rung/ranks/launch.h"
#include "rung/ranks/ranks.h"

namespace rung::cli {
namespace {

CLI::Option* declare(CLI::App& app, Option& option) {
  CLI::Option* added = std::visit(
      [&](auto* target) -> CLI::Option* {
        if constexpr (std::is_same_v<decltype(target), bool*>)
          return app.add_flag(option.names, *target, option.help);
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
  app.set_version_flag("--version", std::string("rung ") + RUNG_VERSION);
  app.require_subcommand(1);
  auto list = command_list();
  list.push_back(help_command(list));
  std::vector<std::string_view> names;
  for (const Command& command : list) names.push_back(command.name);
  if (argc > 1 && argv[1][0] != '-' && std::find(names.begin(), names.end(), argv[1]) == names.end()) {
    complain(fmt::format("[arguments] no command {}; {}", rung::quoted(argv[1]), suggest(argv[1], names)));
    return 2;
  }
  std::vector<CLI::App*> apps;
  std::vector<std::pair<const Option*, CLI::Option*>> declared;
  for (auto& command : list) {
    CLI::App* sub = app.add_subcommand(command.name, command.summary);
    // --help, `rung help` and the man page are one text.
    sub->formatter_fn(
        [&command](const CLI::App*, std::string, CLI::AppFormatMode) { return help_text(command); });
    for (auto& option : command.options) declared.emplace_back(&option, declare(*sub, option));
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
    complain(fmt::format("[arguments] {}; see rung --help", error.what()));
    return 2;
  }
  GivenOptions given;
  for (const auto& [option, parsed] : declared)
    if (parsed->count() > 0) given.insert(option);
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
