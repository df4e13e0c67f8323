// State-size accounting: everything that a later token can depend on, in elements and bits.
//
// Exact sums (linear attention with acc=exact, fixed point p, no width given for state entries). An entry of S
// is a sum of products v φ(k)_c. Two numbers of p bits have products from -2^(p-1) (2^(p-1) - 1) to 2^(2p-2),
// fewer than 2^(2p-1) values; a sum of t of them lies in an interval t times as long, so it takes at most
// t 2^(2p-1) values and 2p - 1 + ⌈lg t⌉ bits. That holds for every feature map: identity and relu pass a
// channel of p bits on, the tables of elu1 and exp and the products of taylor2 are saturated to p bits. An
// entry of Z sums features of p bits, p + ⌈lg t⌉ bits; those of relu are never negative, p - 1 + ⌈lg t⌉. So
// an entry has a width for one token, and each doubling of the tokens costs one bit more.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rung/spec/architecture.h"

namespace rung {

// Bits that cross a cut between two tokens, by how they grow with the tokens before it.
struct StateWidths {
  std::int64_t fixed = 0;        // whatever the length; exact sums: their width for one token
  std::int64_t sums = 0;         // entries of exact sums: one bit more for each doubling
  std::int64_t level_fixed = 0;  // the same for every live level of log-linear attention
  std::int64_t level_sums = 0;
  std::int64_t entries = 0;  // how many state entries have a given width (the architecture's, or a dtype)

  // REQUIRES tokens >= 1. All levels live: at most ⌊lg tokens⌋ + 1 (loglinear_live_states).
  std::int64_t after(std::int64_t tokens) const;
};

// Counts of one layer. Units: elements are stored numbers, bits are bits.
struct LayerAccount {
  std::string mixer;                 // the word as `counts` uses it: "gdelta", "full(window=128)"
  std::string text;                  // the mixer in the language, with its own sizes
  std::int64_t state_elements = 0;   // recurrent state (log-linear: one level)
  std::int64_t levels = 1;           // log-linear: live levels at `context`, ⌊lg t⌋ + 1; else 1
  std::int64_t conv_elements = 0;    // short-convolution buffer
  std::int64_t window_elements = 0;  // keys and values of a window's w - 1 (chunk's c - 1) earlier tokens
  StateWidths widths;                // state_elements, conv and window, each with its own dtype
  std::int64_t state_bits = 0;       // widths after `context` tokens
  std::int64_t cache_elements = 0;   // KV-cache elements per token of unbounded attention
  std::int64_t cache_bits = 0;       // per token
  std::optional<std::int64_t> parameters;  // absent for opaque mixers
  std::string parameters_reason;           // why they are absent
  std::string letters;                     // "F", "R", "RF" (convolution inside a full layer), "(F∥R)", ""
};

struct Account {
  std::vector<LayerAccount> layers;
  std::map<std::string, std::int64_t> counts;
  std::int64_t state_bits = 0;  // over all layers
  std::int64_t cache_bits_per_token = 0;
  std::optional<std::int64_t>
      parameters;                 // of all layers, embeddings and output; absent when some layer's are
  std::string parameters_reason;  // why they are absent
  std::string pattern;            // the word over F and R, one letter or more a layer
  std::vector<std::string> pattern_notes;  // letters that no theorem backs
  std::vector<std::string> notes;          // conventions behind the numbers that a reader should know
};

// Widths in bits; by default the architecture's precision and accumulator_bits.
struct StorageBits {
  std::optional<int> state, conv, cache;
  std::optional<std::int64_t> context;  // for log-linear levels and exact sums
};

// "fp32", "float32", "bf16", "bfloat16", "fp16", "float16", "half", "fp8", "e4m3", "e5m2", "int8", or bits:
// "12".
Result<int> parse_dtype(std::string_view text);

// The pattern word with its repetitions folded: "RRRFRRRF" -> "(R^3 F)^2".
std::string fold_pattern(const std::vector<LayerAccount>& layers);

// REQUIRES layers == resolve(architecture).
Account account(const Architecture& architecture, const std::vector<LayerShape>& layers,
                const StorageBits& bits);

}  // namespace rung
