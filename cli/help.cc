#include <fmt/format.h>

#include <iostream>
#include <memory>

#include "cli/command.h"
#include "cli/manual.h"

namespace rung::cli {

Command help_command(std::vector<Command> commands) {
  struct Flags {
    std::optional<std::string> topic;
    bool man = false;
    std::optional<std::string> completion;
  };
  auto flags = std::make_shared<Flags>();
  Command command{.name = "help", .summary = "explain a command, or print the man page or the shell completion"};
  std::vector<std::string> topics;
  for (const Command& other : commands) topics.push_back(other.name);
  topics.push_back(command.name);
  command.options = {
      {.names = "TOPIC", .help = "a command; without one, the list of commands", .target = &flags->topic},
      {.names = "--man", .help = "the manual page as roff", .target = &flags->man},
      {.names = "--completion", .help = "the completion script of a shell", .target = &flags->completion,
       .choices = {"bash"}},
  };
  command.examples = {"rung help show", "rung help --completion bash > ~/.local/share/bash-completion/completions/rung"};
  commands.push_back(command);
  command.run = [flags, commands, topics]() -> Result<int> {
    if (flags->man) {
      std::cout << man_page(commands, RUNG_VERSION);
    } else if (flags->completion) {
      std::cout << bash_completion(commands);
    } else if (!flags->topic) {
      std::cout << "rung: the expressiveness theory of attention, executable\n\n" << help_list(commands)
                << "\n`rung help COMMAND` explains one of them.\n";
    } else {
      for (const Command& other : commands) {
        if (other.name != *flags->topic) continue;
        std::cout << help_text(other);
        return 0;
      }
      return fail(ErrorCode::parse, "[help] no topic \"{}\"; there is {}", *flags->topic, fmt::join(topics, ", "));
    }
    return 0;
  };
  return command;
}

}  // namespace rung::cli
