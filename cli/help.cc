#include <fmt/format.h>

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/manual.h"
#include "cli/mixer_list.h"
#include "rung/base/nearest_word.h"
#include "rung/tasks/task.h"

namespace rung::cli {
namespace {

void print_tasks() {
  for (const TaskWord& word : task_words()) std::cout << fmt::format("{:<15} {}\n", word.name, word.summary);
  std::cout << "\n`rung task --list` also gives the sizes that each of them has.\n";
}

}  // namespace

Command help_command(std::vector<Command> commands) {
  struct Flags {
    std::optional<std::string> topic;
    bool man = false, json = false;
    std::optional<std::string> completion;
  };
  auto flags = std::make_shared<Flags>();
  Command command{.name = "help", .summary = "explain a command, the mixers or the tasks"};
  command.description =
      "Also prints the manual page and the shell completion that an installation holds; both are made from "
      "the same list of commands as this text.";
  std::vector<std::string> topics;
  for (const Command& other : commands) topics.push_back(other.name);
  topics.insert(topics.end(), {command.name, "mixers", "tasks"});
  command.options = {
      {"TOPIC",
       "a command, mixers or tasks; without one, the list",
       &flags->topic,
       {.excludes = {"--man", "--completion", "--json"}}},
      {"--man", "the manual page as roff", &flags->man, {.excludes = {"--completion", "--json"}}},
      {"--completion",
       "the completion script of a shell",
       &flags->completion,
       {.choices = {"bash"}, .excludes = {"--json"}}},
      {"--json", "the commands and their flags: one JSON document, schema rung.help/1", &flags->json},
  };
  command.examples = {"rung help show", "rung help mixers",
                      "rung help --completion bash > ~/.local/share/bash-completion/completions/rung"};
  commands.push_back(command);
  command.run = [flags, commands, topics]() -> Result<int> {
    if (flags->json) {
      print_json(commands_document(commands));
    } else if (flags->man) {
      std::cout << man_page(commands, RUNG_VERSION);
    } else if (flags->completion) {
      std::cout << bash_completion(commands);
    } else if (!flags->topic) {
      std::cout
          << "rung: the expressiveness theory of attention, executable\n\n"
          << help_list(commands)
          << "\n`rung help COMMAND` explains one of them, `rung help mixers` the architecture language,\n"
             "`rung help tasks` names the tasks.\n";
    } else if (*flags->topic == "mixers") {
      std::cout << mixer_list_text();
    } else if (*flags->topic == "tasks") {
      print_tasks();
    } else {
      for (const Command& other : commands) {
        if (other.name != *flags->topic) continue;
        std::cout << help_text(other);
        return 0;
      }
      const std::vector<std::string_view> known(topics.begin(), topics.end());
      return fail(ErrorCode::parse, "[help] no topic {}; {}", rung::quoted(*flags->topic),
                  suggest(*flags->topic, known));
    }
    return 0;
  };
  return command;
}

}  // namespace rung::cli
