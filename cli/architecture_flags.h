// The flags by which every command is told an architecture: a line or a file, dimensions, and widths of what
// is stored.
//
//   auto flags = std::make_shared<ArchitectureFlags>();
//   flags->declare(command.options);
//   RUNG_TRY(ChosenArchitecture chosen, flags->choose());
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "rung/released/architecture_choice.h"

namespace rung::cli {

struct ArchitectureFlags : ArchitectureChoice {
  // Appends the options, grouped. The positional ARCH is among them unless the command has its own
  // (`with_line` false).
  void declare(std::vector<Option>& options, bool with_line = true);
};

// The document form that --json uses: null where `unknown` names the field.
nlohmann::ordered_json dimensions_document(const Dimensions& dimensions,
                                           const std::vector<std::string>& unknown = {});

}  // namespace rung::cli
