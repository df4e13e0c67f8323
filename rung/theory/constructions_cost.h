// What the constructions cost: layers, heads, dimensions, precision and state, as functions of the task's
// sizes. These are the formulas that `possible` verdicts compare an architecture with, and that built weights
// are compared with in turn.
//
// The retrieval gadget. D = ⌈lg T⌉; every position t has the code c(t) ∈ {±1}^D, key (c(t), 1^D), value bits
// in {0,1}; the querying token has query (β c(target), -β 1^D). The score is -2β (Hamming distance), 0 at the
// target alone. With scores saturating at -sat,
//   δ = Σ_{h=1..D} C(D,h) exp(-min(2βh, sat)) < 1
// puts more than half of the weight on the target, so every bit is decoded by y > 1/2. Without saturation
// δ = (1 + e^{-2β})^D - 1: β ≈ ½ log(1.45 D) suffices, and p grows like log log T. The MLP restores exact
// bits, so errors never add up over layers. Key width 2D, or D (no bias half) with one bit more of precision.
//
// All weights exist for an arbitrary position-wise MLP and a binary position code at the input.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "rung/spec/architecture.h"
#include "rung/spec/ceil_lg.h"

namespace rung {

// Bits that a code of `values` values takes: at least one.
constexpr int code_bits(std::int64_t values) { return values <= 1 ? 1 : ceil_lg(values); }

// ⌈lg T⌉, at least 1: the bits of a position's code. REQUIRES tokens >= 1.
int address_bits(std::int64_t tokens);

double retrieval_delta(int D, double beta, double saturation);
// p = 1 + ⌈lg(D log 2 + log(1/(1-δ_∞)))⌉ with δ_∞ = (1 + e^{-2β})^D - 1, no fraction bits. Nothing when δ_∞
// >= 1.
std::optional<int> retrieval_precision(int D, int beta);
// The least integer β with δ_∞ < 1.
int retrieval_beta(int D);
// The largest D with δ < 1 at p bits without fraction, sat = 2^(p-1). REQUIRES p >= 2.
int retrieval_reach(int p, int beta);

// Does the gadget decode at this precision? Fixed point p.f: sat = 2^(p-1-f), β and 1 representable, and
// δ < (1-2^-f)/(1+2^-f) (δ < 1 at f = 0, where rounding is the decision). Floats: δ_∞ <= 1/4, leaving room
// for sums with a relative error of 1/8. Returns the β used.
struct RetrievalFit {
  int beta = 0;
  double delta = 0;
};
std::optional<RetrievalFit> retrieval_fit(const Precision& precision, int D);

// One construction, at one size. Precision is p without fraction bits; 0 where a float is meant or none is
// needed.
struct ConstructionCost {
  std::string_view id;    // of the theorem that uses it
  std::string_view word;  // "F", "R F^L"
  std::int64_t full_layers = 0;
  std::int64_t recurrent_layers = 0;
  std::int64_t heads = 1;    // per layer
  std::int64_t key_dim = 0;  // per head
  std::int64_t value_dim = 0;
  int precision = 0;
  std::int64_t state_bits = 0;  // of the recurrent layers together
  std::int64_t generated = 0;   // chain-of-thought tokens
};

ConstructionCost eva_full_cost(std::int64_t n);
ConstructionCost eva_linear_cost(std::int64_t n);  // d = ⌈√n⌉, d² ⌈lg n⌉ state bits
ConstructionCost eva_sparse_cost(std::int64_t n, std::int64_t block);
ConstructionCost retrieval_cost(std::int64_t n, int key_bits, std::int64_t values);
ConstructionCost two_sum_trigonometric_cost(std::int64_t n, std::int64_t M,
                                            bool counting_blank);      // H = 1, d = 3
ConstructionCost two_sum_binary_cost(std::int64_t n, std::int64_t M);  // d = 2⌈lg M⌉ + 1
// A second layer, and kCountingFraction fraction bits: a match with itself (y = 1/2) is told from one more
// (2/3) at 7/12.
inline constexpr int kCountingFraction = 4;
ConstructionCost two_sum_exists_cost(std::int64_t n, std::int64_t M);
ConstructionCost two_sum_slots_cost(std::int64_t n, std::int64_t M, std::int64_t block);  // sparse, H = B
ConstructionCost seqcomp_full_cost(int L, std::int64_t prompt);    // F^{L+1}, two heads
ConstructionCost seqcomp_early_cost(int L, std::int64_t prompt);   // R F^L
ConstructionCost seqcomp_middle_cost(int L, std::int64_t prompt);  // F R F^{L-1}
ConstructionCost seqcomp_precomposed_cost(int L, std::int64_t prompt, std::int64_t n_last,
                                          std::int64_t alphabet, bool early);
ConstructionCost seqcomp_encoder_cost(int L, std::int64_t prompt);     // ⌈lg(L+1)⌉ + 1 layers
ConstructionCost seqcomp_thought_cost(int L, std::int64_t prompt);     // one F, L+1 generated tokens
ConstructionCost sparse_average_cost(std::int64_t n, std::int64_t q);  // measured: m' = 10 q log n
ConstructionCost equality_cost(std::int64_t n);
ConstructionCost nearest_cost(std::int64_t n, std::int64_t d, double gap);
ConstructionCost recall_cost(std::int64_t tokens, std::int64_t context_symbols,
                             std::int64_t alphabet);  // MQAR, c-gram
ConstructionCost counting_cost(std::int64_t n, std::int64_t alphabet);
// D⌈lg k⌉ + ⌈lg(D+1)⌉ + 1 bits; states of the stack automaton times symbols hidden units of an Elman network.
struct DyckCost {
  std::int64_t state_bits = 0;
  std::optional<std::int64_t> units;  // absent when too many to count
};
DyckCost dyck_cost(std::int64_t types, std::int64_t depth);

// c = (M²/4) log 4n (threshold blank) or (M²/8) log 16n (counting blank).
double two_sum_scale(std::int64_t n, std::int64_t M, bool counting_blank);
// ⌈2 lg M + lg log 16n⌉: safe fraction bits of cos and sin.
int two_sum_fraction_bits(std::int64_t n, std::int64_t M);
// Encoder layers ⌈lg(L+1)⌉ + 1. REQUIRES L >= 1.
int encoder_layers(int L);

}  // namespace rung
