// Presence: one softmax head tells whether any visible token carries a flag, and reads it where exactly one
// does.
//
// Claim. Scores 0 at flagged tokens and -g at the others, values those of the flagged tokens. With `keys`
// visible tokens the unflagged ones weigh at most (keys-1) E[-g] of one flagged token. Below 1, a bit that
// every flagged token has set is read as 1 when some token is flagged; a bit that only flagged tokens set is
// read as 0 when none is (all values are 0 then). So g > log(keys-1) and p = O(log log keys). Reference:
// Bhattamishra et al. 2406.09347 (equality, disjointness by two layers).
#pragma once

#include "rung/constructions/model_writer.h"
#include "rung/theory/softmax_gadgets.h"

namespace rung {

struct PresenceHead {
  Slot flag;                          // one coordinate, a bit
  Slot one;                           // 1 in every row
  std::vector<std::int64_t> values;   // coordinates read at the flagged token
  std::vector<std::int64_t> fetched;  // coordinates that receive them, as many
};

// "full(heads=1,dim=1,vdim=V)".
std::string presence_mixer(const PresenceHead& head);
void write_presence(LayerWriter& layer, const PresenceGadget& gadget, const PresenceHead& head);

}  // namespace rung
