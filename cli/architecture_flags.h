// The flags by which every command is told an architecture: a line or a file, dimensions, and widths of what
// is stored.
//
//   auto flags = std::make_shared<ArchitectureFlags>();
//   flags->declare(command.options);
//   RUNG_TRY(ChosenArchitecture chosen, flags->choose());
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "rung/spec/accounting.h"
#include "rung/spec/architecture.h"
#include "rung/spec/released/released.h"

namespace rung::cli {

struct ChosenArchitecture {
  Architecture architecture;
  std::vector<LayerShape> layers;         // resolve(architecture)
  StorageBits bits;                       // for account()
  std::optional<ReleasedModel> released;  // where a configuration was read
  Account count() const;
};

struct ArchitectureFlags {
  std::string line;  // ARCH: an architecture line, a config.json, or a dimensions file with "arch"
  std::optional<std::string> config, dims;
  std::optional<std::int64_t> width, heads, kv_heads, head_dim, value_dim, state, vocabulary, outputs,
      context, acc_bits;
  std::optional<std::string> mlp, activation, norm, position, precision;
  std::optional<std::string> state_dtype, conv_dtype, cache_dtype;
  bool encoder = false, assume_defaults = false;

  // Appends the options, grouped. The positional ARCH is among them unless the command has its own
  // (`with_line` false).
  void declare(std::vector<Option>& options, bool with_line = true);

  bool names_something() const { return !line.empty() || config || dims; }

  // ENSURES: resolved and checked; one-line errors. Flags override the dimensions file; sizes beside a
  // released configuration are refused, because the file gives them.
  Result<ChosenArchitecture> choose() const;

  // Dimensions alone, for commands that take the stack elsewhere: file, then flags.
  Result<Dimensions> dimensions() const;

 private:
  Result<void> override_dimensions(Dimensions& dimensions) const;
  Result<ChosenArchitecture> choose_released(const std::string& path) const;
  Result<void> set_storage(ChosenArchitecture& chosen) const;
};

// The document form that --json uses: null where `unknown` names the field.
nlohmann::ordered_json dimensions_document(const Dimensions& dimensions,
                                           const std::vector<std::string>& unknown = {});

}  // namespace rung::cli
