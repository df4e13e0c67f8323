// State-size accounting: everything that a later token can depend on, in elements and bits.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rung/spec/architecture.h"

namespace rung {

// Counts of one layer. Units: elements are stored numbers, bits are bits.
struct LayerAccount {
  std::string mixer;                   // the word as `counts` uses it: "gdelta", "full(window=128)"
  std::string text;                    // the mixer in the language, with its own sizes
  std::int64_t state_elements = 0;     // recurrent state (log-linear: one level)
  std::int64_t levels = 1;             // log-linear: live levels at `context`, ⌊lg t⌋ + 2; else 1
  std::int64_t conv_elements = 0;      // short-convolution buffer
  std::int64_t window_elements = 0;    // keys and values of a window's w - 1 earlier tokens
  std::int64_t state_bits = 0;         // state_elements * levels, conv, window, each with its own dtype
  std::int64_t cache_elements = 0;     // KV-cache elements per token of unbounded attention
  std::int64_t cache_bits = 0;         // per token
  std::optional<std::int64_t> parameters;  // absent for opaque mixers
  std::string letters;                 // "F", "R", "RF" (convolution inside a full layer), "(F∥R)", ""
};

struct Account {
  std::vector<LayerAccount> layers;
  std::map<std::string, std::int64_t> counts;
  std::int64_t state_bits = 0;               // over all layers
  std::int64_t cache_bits_per_token = 0;
  std::optional<std::int64_t> parameters;    // absent when some layer's are
  std::string pattern;                       // word over F and R, THEORY's notation
};

// Widths in bits; by default the architecture's precision and accumulator_bits.
struct StorageBits {
  std::optional<int> state, conv, cache;
  std::optional<std::int64_t> context;  // for log-linear levels
};

Account account(const Architecture& architecture, const std::vector<LayerShape>& layers, const StorageBits& bits);

}  // namespace rung
