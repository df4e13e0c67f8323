// The one translation unit that includes CLI11.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <new>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/manual.h"
#include "rung/spec/nearest_word.h"

namespace rung::cli {
namespace {

void declare(CLI::App& app, Option& option) {
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
  if (std::holds_alternative<std::vector<std::string>*>(option.target) && option.names.starts_with("-")) added->allow_extra_args(false);
  if (!option.choices.empty()) added->check(CLI::IsMember(option.choices));
  if (!option.group.empty()) added->group(option.group);
}

// A result that never reached its file is a failure of the outside world, whatever the command says.
bool output_was_written() { return std::cout.flush() && std::fflush(stdout) == 0 && std::ferror(stdout) == 0; }

int run(const Command& command) {
  try {
    const Result<int> result = command.run();
    if (!result) {
      std::cerr << "rung: " << result.error().message << "\n";
      return 2;
    }
    if (output_was_written()) return *result;
    std::cerr << "rung: [output] standard output could not be written\n";
  } catch (const std::bad_alloc&) {
    std::cerr << "rung: [memory] " << command.name << " needs more memory than there is\n";
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
    std::cerr << fmt::format("rung: [arguments] no command {}; {}\n", rung::quoted(argv[1]), suggest(argv[1], names));
    return 2;
  }
  std::vector<CLI::App*> apps;
  for (auto& command : list) {
    CLI::App* sub = app.add_subcommand(command.name, command.summary);
    // --help, `rung help` and the man page are one text.
    sub->formatter_fn([&command](const CLI::App*, std::string, CLI::AppFormatMode) { return help_text(command); });
    for (auto& option : command.options) declare(*sub, option);
    apps.push_back(sub);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help, --version
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    std::cerr << "rung: [arguments] " << error.what() << "; see rung --help\n";
    return 2;
  }
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!apps[i]->parsed()) continue;
    return run(list[i]);
  }
  return 2;
}

}  // namespace

void print_json(const nlohmann::ordered_json& document) {
  RUNG_REQUIRE(document.contains("schema"), "a --json document names its schema");
  std::cout << document.dump(2) << "\n";
}

}  // namespace rung::cli

int main(int argc, char** argv) { return rung::cli::main_with(argc, argv); }
