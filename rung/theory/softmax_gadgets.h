// The numbers behind the softmax heads of the constructions: which β, which table, which leak, at which precision.
//
// A construction writes these numbers into weights (rung/constructions), and what a `possible` verdict asks for is
// computed from the very same ones (constructions_cost.h): the two cannot drift apart. Everything is computed from
// the integer tables of the exact machine, so rounding is inside every leak.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rung/theory/score_table.h"

namespace rung {

// ⌈lg count⌉, at least 1: digits that tell `count` things apart. REQUIRES count >= 1.
int digits_for(std::int64_t count);

// An argument about all inputs of one size at once: the worst leak and the gap that remains.
struct IntervalArgument {
  bool holds = false;
  double leak = 0;     // largest weight of everything but the target, in units of the target's
  double gap = 0;      // distance to the nearest decision, > 0 iff holds; in the same units
  std::string reason;  // one line
};

// The most bits of a stored number that a construction is searched over.
inline constexpr int kMostPrecision = 48;

// Retrieval: a softmax head that reads the value bits of one addressed token.
//
// D digits address T <= 2^D tokens. Key (c(t), 1^D) with c(t) in {±1}^D the code of t, query (β c(target), -β 1^D):
// the score is -2β (Hamming distance), 0 at the target alone. With weights E over scores clipped at -sat, the others
// weigh δ = Σ_{h=1..D} C(D,h) E[-min(2βh, sat)] / E[0], and δ < 1 puts more than half of the weight on the target, so
// that the rounded output is the target's bit, whatever the other tokens hold.
struct RetrievalGadget {
  int digits = 0;  // D
  int beta = 0;
  ScoreTable scores;
  double delta = 0;  // all 2^D codes present
};
// The best β at p bits: β itself, -β and the scores' clip must be numbers of p bits; the smallest that gives δ < 1/2,
// else the one with the least δ. `keys`: tokens that a head sums over (for the table's bits). REQUIRES 1 <= digits <=
// 62, 2 <= p <= 48.
RetrievalGadget retrieval_gadget(int digits, std::int64_t keys, int precision);
// δ < 1 on integers, Σ C(D,h) E[-2βh] < E[0], with β and the clip numbers of p bits: `lookup_holds` of proofs/Counts.v.
bool retrieval_holds(const RetrievalGadget& gadget, int precision);
// The smallest p at which retrieval_gadget has δ < 1.
int retrieval_precision_proved(int digits, std::int64_t keys);
// The others' weight when only `keys` codes are present, at worst the nearest ones: an argument about all inputs.
double retrieval_leak(const RetrievalGadget& gadget, std::int64_t keys);
// The same for `pairs` pairs whose query stands among them with the key (0^D, 1^D), at score -βD.
double pair_leak(const RetrievalGadget& gadget, std::int64_t pairs);
// The smallest p at which the pairs' leak is below 1.
int pair_precision_proved(int digits, std::int64_t pairs);

// Presence: scores 0 at flagged tokens, -g at the others. The unflagged ones weigh at most (keys-1) E[-g] / E[0].
struct PresenceGadget {
  int gap = 0;  // g
  ScoreTable scores;
  double leak = 0;
};
// The smallest gap with leak < 1 that p bits hold, else the widest. REQUIRES 2 <= precision <= 48, keys >= 1.
PresenceGadget presence_gadget(std::int64_t keys, int precision);
// The smallest p at which presence_gadget has leak < 1.
int presence_precision_proved(std::int64_t keys);

// Counting: matches and one blank have score 0, every other token at most -sat; values are 1 at tokens that count and
// 0 at the blank. The output lies between V cnt/(cnt+1+δ) and V (cnt+δ)/(cnt+1+δ), δ = keys E[-sat] / E[0].
struct CountingGadget {
  int beta = 0;
  std::int64_t saturation = 0;
  ScoreTable scores;
  std::int64_t scale = 0;              // V = 2^(p-1) - 1
  std::vector<std::int64_t> at_least;  // entry c-1: the smallest output that means "at least c"
  double leak = 0;
  bool holds = false;  // every count up to `most` is told apart, whatever the other tokens are
};
// REQUIRES most >= 1, keys >= 1, 2 <= precision <= 48.
CountingGadget counting_gadget(std::int64_t most, std::int64_t keys, int precision);
// The smallest p at which counting_gadget holds, up to kCountedOneByOne counts; beyond, one at which the closest two
// counts are more than a step apart, so that it holds. Nothing where no p up to 48 does.
inline constexpr std::int64_t kCountedOneByOne = 1 << 14;
std::optional<int> counting_precision_proved(std::int64_t most, std::int64_t keys);

// The last of several matches: count equal keys, then retrieve key and count together (last_match.h).
struct LastMatchGadget {
  CountingGadget counting;
  RetrievalGadget lookup;
  int rank_digits = 0;
  // In the second layer: the other candidates, whose codes of key and count all differ, and tokens that are none.
  double leak = 0;
  bool holds() const { return counting.holds && leak < 1; }
};
// REQUIRES candidates >= 1, tokens >= candidates, key and rank digits at most 62 together.
LastMatchGadget last_match_gadget(int key_digits, std::int64_t candidates, std::int64_t tokens,
                                  int precision);
// Nothing where more candidates are to be counted than 48 bits can.
std::optional<int> last_match_precision_proved(int key_digits, std::int64_t candidates, std::int64_t tokens);

// 2-Sum by binary codes: a match scores 0, the blank -β, everything else at most -2β; n tokens may stand at distance 1.
struct BinaryMatch {
  int beta = 0;
  ScoreTable scores;
  double leak = 0;  // of n tokens at distance 1, in units of the blank
};
// The best β at p bits: least n e^{-min(2β, sat)} / e^{-β} with a match above the blank.
BinaryMatch binary_match(std::int64_t n, int precision);
int binary_match_precision_proved(std::int64_t n);

// Slot heads of a sparse layer (two_sum_sparse.cc): the largest Σ w_j distance_j beside a match. The lemma asks for
// 2 V leak + D/2 < V and 2V - D/2 > V.
struct SlotGadget {
  int digits = 0, beta = 0;
  std::int64_t scale = 0;  // V
  ScoreTable scores;
  double leak = 0;
  bool holds() const {
    return 2 * leak + digits / (2.0 * static_cast<double>(scale)) < 1 && 2 * scale > digits;
  }
};
// The best β at p bits over `keys` tokens of one head.
SlotGadget slot_gadget(int digits, std::int64_t keys, int precision);
int slot_precision_proved(int digits, std::int64_t keys);

}  // namespace rung
