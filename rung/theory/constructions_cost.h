// What the constructions cost: the complete resource vector of the file that `rung build` writes, as a function of the
// task's sizes. A `possible` verdict compares an architecture with one of these vectors, resource by resource
// (construction_fit.h), and a test compares every vector with the built files exactly.
//
// Precisions come from the same functions that the constructions themselves use (softmax_gadgets.h,
// trigonometric_match.h); widths and layers are those of the residual rows in rung/constructions. What is not in the
// vector is assumed and said so in every verdict: MLPs are arbitrary position-wise functions, the vocabulary and the
// output are the task's, and softmax sums are exact (mode X).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rung/spec/architecture.h"
#include "rung/theory/setting.h"
#include "rung/theory/softmax_gadgets.h"

namespace rung {

// ⌈lg T⌉, at least 1: the bits of a position's code. REQUIRES tokens >= 1.
inline int address_bits(std::int64_t tokens) { return digits_for(tokens); }

// One layer, or `count` equal layers in a row, and how the construction uses them.
struct LayerCost {
  enum class Use {
    lookup,   // softmax attention over the whole past: one target a head
    softmax,  // the same, and every visible token counts: counting, presence, averages
    mlp,      // any layer: its mixer is idle, its MLP works
    carry,    // linear attention that hands single tokens on: one key feature a head, or one column a token
    table,    // linear attention, unnormalised: a number a key feature and value coordinate
    relu_table,  // the same with relu features, whose keys are unit vectors only behind them
    buckets,     // the same in every bucket of log-linear attention
    delta,       // the delta rule
    ssd,         // a state space without decay
    gdelta,      // the same with a gate that is 1
    elman,       // a recurrent cell with a table of its own
    counter,     // a recurrent cell with relu
    gru,         // a gated cell with tables of its own
    slots,       // block-sparse attention with a head for every place of a block
  };
  Use use = Use::lookup;
  std::int64_t count = 1;
  std::int64_t heads = 1;      // with keys and values of their own
  std::int64_t key_dim = 0;    // per head
  std::int64_t value_dim = 0;  // per head; recurrent cells: hidden numbers
  std::int64_t block = 0;      // slots: tokens a block
  std::int64_t steps = 1;      // delta, gdelta: writes a token
};

enum class Sight { either, causal, bidirectional };

struct ConstructionCost {
  std::string construction;                    // the word of `rung build`
  std::map<std::string, std::string> options;  // its form
  std::string word;                            // "F", "R F^L"
  std::vector<LayerCost> layers;
  std::int64_t width = 0;                      // of the residual stream
  int precision = 2;                           // bits of every stored number; no fraction is needed
  int entry_bits = 0;                          // of a recurrent state; 0: no such state
  PositionCode position = PositionCode::none;  // none, binary, or a table
  Sight sight = Sight::causal;
  std::int64_t generated = 0;  // chain-of-thought tokens
  int sum_bits = 0;            // of a softmax numerator or denominator: exponent table, values and all keys
  bool formal = false;         // a construction of proofs/Statements.v, its condition met on integers
  // What a float format must hold as a whole number for the file to mean the same in it; absent: nothing is claimed
  // about floats. Softmax: the largest score, where every number that it meets is whole and outputs stay clear of 1/2.
  // Without softmax: the largest number that is stored, where all are whole, nothing is shifted and nothing saturates:
  // what mode Q rounds is then there already, and the machine is the integers'.
  std::optional<std::int64_t> float_whole;

  std::int64_t full_layers() const, recurrent_layers() const;
  // The largest over the layers that attend; over all where none does.
  std::int64_t heads() const, key_dim() const, value_dim() const;
  std::int64_t state_bits() const;
};

ConstructionCost eva_full_cost(std::int64_t n);
ConstructionCost index_lookup_cost(std::int64_t n, std::int64_t sigma);
ConstructionCost index_counter_cost(std::int64_t n, std::int64_t sigma);  // no positions
// Eva, or Index with `values`: the state as a table of n numbers, `rows` of them a key feature; use: table, buckets,
// delta or ssd. REQUIRES 1 <= rows <= n, rows == 1 for delta and ssd; Index has use table alone.
ConstructionCost eva_table_cost(LayerCost::Use use, std::int64_t n, std::int64_t rows,
                                std::optional<std::int64_t> values = std::nullopt);
ConstructionCost eva_linear_cost(std::int64_t n);  // ⌈√n⌉ rows: ⌈√n⌉² ⌈lg n⌉ state bits
ConstructionCost eva_sparse_cost(
    std::int64_t n);  // as eva_full_cost; the block is the construction's own choice
ConstructionCost retrieval_cost(std::int64_t n, int key_bits, std::int64_t sigma);
// Nothing where no precision up to 47 bits suffices.
std::optional<ConstructionCost> two_sum_cosines_cost(std::int64_t n, std::int64_t M);  // H = 1, d = 3
ConstructionCost two_sum_binary_cost(std::int64_t n, std::int64_t M);                  // d = 2⌈lg M⌉
std::optional<ConstructionCost> two_sum_exists_cost(std::int64_t n, std::int64_t M);
ConstructionCost two_sum_slots_cost(std::int64_t n, std::int64_t M, std::int64_t block);
ConstructionCost equality_cost(std::int64_t n);  // and disjointness
// Nothing where 48 bits cannot count, or codes have more than 62 digits.
std::optional<ConstructionCost> counting_cost(std::int64_t n, std::int64_t sigma);
std::optional<ConstructionCost> mqar_cost(std::int64_t n, std::int64_t M, std::int64_t sigma,
                                          std::int64_t queries);
std::optional<ConstructionCost> cgram_cost(std::int64_t n, std::int64_t c, std::int64_t sigma);
// Nothing where the table of the cell would have more than 2^24 entries.
std::optional<ConstructionCost> dyck_cost(std::int64_t types, std::int64_t depth);
// D⌈lg k⌉ + ⌈lg(D+1)⌉ + 1, at any size.
std::int64_t dyck_state_bits(std::int64_t types, std::int64_t depth);
// Measured, not exact: an upper bound of what was built.
ConstructionCost nearest_cost(std::int64_t n, std::int64_t d, std::int64_t sigma, std::int64_t f);
// `everywhere`: the answer is read at every position, which may name later ones.
ConstructionCost sparse_average_cost(std::int64_t n, std::int64_t q, std::int64_t d, std::int64_t f,
                                     bool everywhere);

// L-SeqComp: digits of everything that is stored. Of one size, or bounds over all sizes with a prompt of T tokens.
struct SeqcompDigits {
  std::int64_t L = 1, prompt = 0;
  int address = 1;                   // ⌈lg T⌉
  int values = 1, tokens = 1;        // ⌈lg N_{L-1}⌉; with `=`
  int branch = 1;                    // of the largest w
  std::int64_t branches = 0;         // of all w together
  std::int64_t last_branch = 0;      // n_{L-1}; 0: not one size
  std::vector<std::int64_t> tables;  // N_0, N_1, .. of one size, up to 4096
};
SeqcompDigits seqcomp_digits(const Question& question);

enum class CarryForm { none, heads, columns };  // a head for every token, or a column of one head
ConstructionCost seqcomp_full_cost(const SeqcompDigits& size);                   // F^{L+1}, two heads
std::optional<ConstructionCost> seqcomp_serial_cost(const SeqcompDigits& size);  // F^{2L}, one head; L >= 2
// R F^L, and F R F^{L-1}. REQUIRES form != none.
ConstructionCost seqcomp_carried_cost(const SeqcompDigits& size, bool late, CarryForm form);
// F^L (L >= 2, form none) and R F^{L-1} (L >= 3); one size, n_{L-1} <= 256.
std::optional<ConstructionCost> seqcomp_precomposed_cost(const SeqcompDigits& size, CarryForm form);
// R^{1+j} F^{L-j}; one size, N_{j-1} <= 4096.
std::optional<ConstructionCost> seqcomp_absorbed_cost(const SeqcompDigits& size, std::int64_t absorbed);
ConstructionCost seqcomp_encoder_cost(const SeqcompDigits& size);  // ⌈lg(L+1)⌉ + 1 layers
ConstructionCost seqcomp_thought_cost(const SeqcompDigits& size);  // one F, L+1 generated tokens

// Encoder layers ⌈lg(L+1)⌉ + 1. REQUIRES L >= 1.
int encoder_layers(std::int64_t L);

}  // namespace rung
