// The last of several matches, by two full layers: count, then look up key and count together.
//
// Claim. Candidates carry keys of K digits, possibly equal ones. In the first layer every candidate counts
// the candidates up to itself with its own key, and every asking token counts those with the key it seeks
// (counting_head.h; one token is the blank). The pair (key, count) belongs to one candidate alone, and the
// last match is the one whose count is the total: in the second layer one retrieval head finds it. p = 2 lg n
// + O(1). Reference: ours. (A single layer would have to prefer later positions, which takes weights of n
// bits.)
#pragma once

#include "rung/constructions/construction.h"
#include "rung/constructions/counting_head.h"
#include "rung/constructions/retrieval_head.h"

namespace rung {

struct LastMatchSlots {
  Slot own;        // K coordinates: ±1 code of a candidate's key, 0 at other tokens
  Slot candidate;  // 1 at candidates
  Slot other;      // 1 at tokens that are neither a candidate nor the blank
  Slot sought;     // K coordinates: ±1 code of the key that a token asks for
  Slot one;
  std::vector<std::int64_t> values, fetched;
};

// The smallest p at which the gadget holds (softmax_gadgets.h). Errors: more candidates than 48 bits can count.
Result<int> last_match_precision(int key_digits, std::int64_t candidates, std::int64_t tokens);

// All inputs at once: `before` is the lookup that brings each candidate its key.
IntervalArgument last_match_argument(const RetrievalGadget& before, const LastMatchGadget& gadget);

// Adds the two layers. Makes its own slots for shares, ranks and totals.
void write_last_match(ModelWriter& model, const LastMatchGadget& gadget, const LastMatchSlots& slots);

}  // namespace rung
