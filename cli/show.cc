#include <memory>

#include "cli/command.h"
#include "rung/spec/architecture.h"

namespace rung::cli {

Command show_command() {
  struct Flags {
    std::string architecture;
    bool json = false;
  };
  auto flags = std::make_shared<Flags>();
  Command command{.name = "show", .summary = "layers, state bits and pattern word of an architecture"};
  command.options = {{.names = "ARCH", .help = "architecture line or config.json", .target = &flags->architecture, .required = true},
                     {.names = "--json", .help = "one JSON document", .target = &flags->json}};
  command.run = [flags]() -> Result<int> { return fail(ErrorCode::unsupported, "[show] {}", flags->architecture); };
  return command;
}

}  // namespace rung::cli
