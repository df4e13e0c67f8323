// A command of `rung`: one file in cli/, one line in the list of main.cc. A command declares its options in
// this light vocabulary; main.cc alone turns it into CLI11 (whose header is heavy), man pages and shell
// completion.
//
// Conventions: results go to standard output; with --json exactly one document with a "schema" field and
// nothing else; everything meant for a person waiting (progress, notes) goes to standard error. Exit codes: 0
// done, 1 a negative mathematical outcome (a refuted claim, a failed verification), 2 bad input or a failure
// of the outside world; the message is one line on standard error.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "rung/base/result.h"

namespace rung::cli {

using OptionTarget =
    std::variant<bool*, std::string*, std::int64_t*, double*, std::optional<std::string>*,
                 std::optional<std::int64_t>*, std::optional<double>*, std::vector<std::string>*>;

// What a command does with the file that an option names (cli/flag_use.h).
enum class FileUse {
  none,
  read,
  write,  // makes it: rung/base/staged_file.h, replaced with --force alone; "-" is standard output
  keep,   // its own memory, read and written as it goes: a store, a checkpoint
};

// What else may be said of an option.
struct OptionRules {
  bool required = false;
  std::vector<std::string> choices = {};  // words only; empty: anything
  std::string group = {};                 // heading in --help; empty: "Options"
  // Where it means something; given elsewhere it is an error, never silence (cli/flag_use.h).
  std::vector<std::string> forms = {};     // forms of the command; empty: all of them
  std::vector<std::string> needs = {};     // one of these flags beside it; empty: none
  std::vector<std::string> excludes = {};  // none of these beside it
  FileUse file = FileUse::none;
  // What a value was taken for, where a person should be told ("fp8 is e4m3; ..."); numbers have it without this.
  std::function<std::string(std::string_view value)> understood = {};
};

// {"--count,-c", "how many (1)", &flags->count, {.needs = {"--all"}}}
struct Option : OptionRules {
  Option(std::string written, std::string meaning, OptionTarget where, OptionRules rules = {})
      : OptionRules(std::move(rules)), names(std::move(written)), help(std::move(meaning)), target(where) {}
  std::string names;  // "--count,-c", or a bare NAME for a positional argument
  std::string help;
  OptionTarget target;
};

// REQUIRES: targets outlive the run. `run` returns an exit code, or an error that main prints with exit code
// 2.
struct Command {
  std::string name;
  std::string summary;                     // one line, shown in the list
  std::string description = {};            // paragraphs, shown by --help and the man page
  std::vector<std::string> examples = {};  // whole command lines
  std::vector<Option> options = {};
  // Which of its forms the parsed flags ask for, in words that a message can use: "--list", "random". Absent:
  // there is one. An empty word: none, as `run` will say.
  std::function<std::string()> form = {};
  std::function<Result<int>()> run = {};
  // Its work is shared by the ranks that mpirun or srun starts (docs/cluster.md): `run` is called on all of
  // them and joins them. Any other command runs on rank 0 alone.
  bool spreads = false;
};

// One file a command; each returns a fresh Command that owns its option values through shared state.
Command export_command();
Command import_command();
Command runs_command();
Command serve_command();
Command compare_command();
Command design_command();
Command show_command();
Command task_command();
Command eval_command();
Command quantise_command();
Command protocol_command();
Command capacity_command();
Command class_command();
Command ceiling_command();
Command build_command();
Command bound_command();
Command break_command();
Command verify_command();
Command train_command();
Command lab_command();
Command hierarchy_command();
Command pipe_command();
Command probe_command();
Command report_command();
// All of a program's commands but `help`: command_list.cc for rung, learn/command_list.cc for rung-learn.
std::vector<Command> command_list();
// Explains the others; also the man page and the shell completion.
Command help_command(std::vector<Command> commands);

// What main() was called with, or, in a child of `rung pipe`, what its request says; [0] is the program.
const std::vector<std::string>& program_arguments();
// A whole run, as main() would do it. Returns the exit code; the caller flushes nothing.
int run_program(std::vector<std::string> arguments);

// Prints the document, two-space indented, with a newline. REQUIRES document.contains("schema").
void print_json(const nlohmann::ordered_json& document);

}  // namespace rung::cli
