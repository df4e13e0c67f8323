// The retrieval gadget: a softmax head that reads the value bits of one addressed token.
//
// Claim. D digits address T <= 2^D tokens. Key (c(t), 1^D) with c(t) in {±1}^D the code of t, query (β
// c(target), -β 1^D):
// the score is -2β (Hamming distance), 0 at the target alone. With weights E over scores clipped at -sat, the
// others weigh
//   δ = Σ_{h=1..D} C(D,h) E[-min(2βh, sat)] / E[0]
// and δ < 1 puts more than half of the weight on the target, so that the rounded output is the target's bit,
// whatever the other tokens hold. Reference: Chen, Peng, Wu 2412.02975 (softmax lookup); β and p ours: β > ½
// log(1/(2^(1/D)-1)), that is log log T, because distinct codes are mostly far apart.
// Deviation from the real-valued statement: E is the integer table, so its rounding is inside δ.
#pragma once

#include "rung/constructions/model_writer.h"

namespace rung {

// ⌈lg count⌉, at least 1: digits that tell `count` things apart.
int digits_for(std::int64_t count);

struct RetrievalGadget {
  int digits = 0;  // D
  int beta = 0;
  ScoreTable scores;
  double delta = 0;  // all 2^D codes present
};

// The best β at p bits: β itself, -β and the scores' clip must be numbers of p bits; the smallest that gives
// δ < 1, else the one with the least δ. `keys`: tokens that a head sums over (for the table's bits). REQUIRES
// 2 <= p <= 48.
RetrievalGadget retrieval_gadget(int digits, std::int64_t keys, int precision);
// The smallest p at which retrieval_gadget has δ < 1.
int retrieval_precision_proved(int digits, std::int64_t keys);
// The others' weight when only `keys` codes are present, at worst the nearest ones: an argument about all
// inputs.
double retrieval_leak(const RetrievalGadget& gadget, std::int64_t keys);

// One head of a full layer: which coordinates it reads, and where its output goes.
struct RetrievalHead {
  Slot code;    // of every token: D coordinates, ±1
  Slot target;  // of the querying token: D coordinates, ±1 (0: no target, the output is an average)
  Slot one;     // 1 in every row
  std::vector<std::int64_t> values;   // coordinates that hold bits
  std::vector<std::int64_t> fetched;  // coordinates that receive them, as many
  std::optional<std::int64_t> constant =
      std::nullopt;  // everybody reads this position; target is then not used
};
// The head by which everybody reads the lowest bits at one position, as many as both slots have.
RetrievalHead read_at(const Slot& code, const Slot& one, std::int64_t position, const Slot& values,
                      const Slot& fetched);

// "full(heads=H,dim=2D,vdim=V)", V the most values of a head.
std::string retrieval_mixer(const RetrievalGadget& gadget, const std::vector<RetrievalHead>& heads);
// Writes q, k, v, o and the score table. REQUIRES layer made with retrieval_mixer of the same heads.
void write_retrieval(LayerWriter& layer, const RetrievalGadget& gadget,
                     const std::vector<RetrievalHead>& heads);

std::vector<std::int64_t> coordinates(const Slot& slot);
// The ±1 code of a number, lowest digit first.
std::vector<std::int64_t> signed_code(std::int64_t number, int digits);

}  // namespace rung
