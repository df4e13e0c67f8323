// How a user names an architecture, whoever carries the words (flags, a query, a file that was dropped on a
// page): a line or a document, dimensions that override it, and widths of what is stored.
//
//   ArchitectureChoice choice{.line = "linear+full*2"};
//   choice.width = 64;
//   RUNG_TRY(ChosenArchitecture chosen, choice.choose());
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rung/released/released.h"
#include "rung/spec/accounting.h"
#include "rung/spec/architecture.h"

namespace rung {

struct ChosenArchitecture {
  Architecture architecture;
  std::vector<LayerShape> layers;         // resolve(architecture)
  StorageBits bits;                       // for account()
  std::vector<std::string> assumes;       // what is taken for granted about how numbers are stored
  std::optional<ReleasedModel> released;  // where a configuration was read
  Account count(const StorageBits& by) const;
  Account count() const { return count(bits); }
};

struct ArchitectureChoice {
  std::string line;  // an architecture line, the path of a config.json, or of a dimensions file with "arch"
  std::optional<std::string> config, dims;
  std::optional<std::int64_t> width, heads, kv_heads, head_dim, value_dim, state, vocabulary, outputs,
      context, acc_bits;
  std::optional<std::string> mlp, activation, norm, position, precision;
  std::optional<std::string> state_dtype, conv_dtype, cache_dtype;
  bool encoder = false, assume_defaults = false;
  std::int64_t most_layers = kMaxLayers;  // deeper stacks are refused

  bool names_something() const { return !line.empty() || config || dims; }

  // ENSURES: resolved and checked; one-line errors. Sizes override the dimensions file; sizes beside a
  // released configuration are refused, because the file gives them.
  Result<ChosenArchitecture> choose() const;

  // The same with no file touched: `line` is a line whatever it looks like; config and dims do not count.
  Result<ChosenArchitecture> choose_line() const;
  // The same for the text of a JSON document: with "arch" it is ours, every other one a configuration.
  // `line`, config and dims do not count.
  Result<ChosenArchitecture> choose_document(const std::string& text) const;

  // Dimensions alone, for commands that take the stack elsewhere: file, then sizes.
  Result<Dimensions> dimensions() const;

 private:
  Result<void> override_dimensions(Dimensions& dimensions) const;
  Result<ChosenArchitecture> choose_released(ReleasedModel released) const;
  Result<ChosenArchitecture> choose_released_file(const std::string& path) const;
  Result<void> refuse_sizes() const;
  Result<void> refuse_depth(const Stack& stack) const;
  Result<ChosenArchitecture> choose_stack(const std::string& text, const Dimensions& base) const;
  Result<void> set_storage(ChosenArchitecture& chosen) const;
};

struct SizeObservation {
  // What is said of an architecture beside the shapes of its layers; empty: nothing.
  std::function<std::string(const ChosenArchitecture&)> observed = {};
  // How the choice is made; empty: choice.choose().
  std::function<Result<ChosenArchitecture>(const ArchitectureChoice&)> choose = {};
};

// A size that means nothing to an architecture is not taken in silence (the state size of a model without states, the
// heads of layers that name their own): an error for the first given size or width that changes nothing about it at any
// value, neither the shape of a layer nor what is observed. `area` begins the message.
Result<void> check_sizes_used(const ArchitectureChoice& choice, std::string_view area,
                              const SizeObservation& how = {});

}  // namespace rung
