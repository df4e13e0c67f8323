// What a layer can serve as in a construction: a lookup by address, a carrier of a few tokens, a table in its
// state. Everything else in the layer is ignored (an MLP may ignore its mixer), so adding a layer never takes
// a service away.
//
// Lookup: softmax over the whole past with the retrieval gadget. Block-sparse attention too (the block's code
// is its compressed key, the target's block is selected, the gadget works inside it), and token selection
// with one target: sketches. Carry: the last token receives the L tokens before it (z_0, w_1 .. w_{L-1} of
// L-SeqComp). Linear attention with a head or value slots for each; windows of reach L+1 and convolutions of
// L+1 taps: proved. Other recurrences hold the slots as well, but their gates are argued only in words:
// sketch. Released mixers that are not evaluated serve as nothing. Table: unnormalised linear attention
// (identity or relu features) or SSD without decay, one entry of the state per argument.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "rung/theory/theorem.h"

namespace rung {

// Scarcity of the resource that comes closest to its limit: have / need >= 1 when it fits.
struct Scarcest {
  std::string name;
  double have = 0, need = 0;

  void meet(std::string resource, double there, double needed);
  double ratio() const { return need > 0 ? have / need : 0; }
};

struct Service {
  Status status = Status::proved;
  std::int64_t capacity = 1;  // lookup: targets at once
  Scarcest scarcest;
};

struct LookupNeed {
  int address = 1;           // D, bits of an address or key
  std::int64_t values = 1;   // bits fetched per target
  std::int64_t targets = 1;  // at once
};
// The most targets (up to need.targets) that the layer fetches at once; nothing when not even one.
std::optional<Service> lookup_service(const MixerShape& mixer, const Precision& precision,
                                      const LookupNeed& need);

// tokens: how far back (L); bits: of each.
std::optional<Service> carry_service(const LayerShape& layer, const Precision& precision, std::int64_t tokens,
                                     std::int64_t bits);

// entries of the given number of bits.
std::optional<Service> table_service(const MixerShape& mixer, const Dimensions& dimensions,
                                     std::int64_t entries, std::int64_t bits);

// Whole numbers up to 2^k that a state entry or value holds exactly: k.
int whole_bits(const Precision& precision, std::optional<std::int64_t> width);

// "arbitrary position-wise MLP", "binary position code at the input", and for floats the accuracy of sums.
std::vector<std::string> construction_assumptions(const Setting& setting);

}  // namespace rung
