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
#include "rung/theory/softmax_gadgets.h"

namespace rung {

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
