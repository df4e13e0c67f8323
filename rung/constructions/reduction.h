// One thing less: the same weights without their last mixing layer, without one head, or with a state one bit
// narrower. A construction that needs what it has errs then, and the instance is shown. This says that these
// weights use the part, not that no other weights could do without it; that is what the bounds say.
//
// One bit less of precision is the business of precision_search.h.
#pragma once

#include "rung/constructions/verification.h"

namespace rung {

struct Reduction {
  enum class Part {
    layer,  // the last layer that has a mixer, taken out of the stack (only where another layer remains)
    head,   // the last head of the layer with most heads: its columns of W_O are 0
    state,  // one bit less of every recurrent number
  };
  Part part = Part::layer;
  std::string what;  // "without layer 3", "without head 2 of layer 1", "with 3 bits a state"
  Weights weights;
};

// Every reduction that this construction has.
Result<std::vector<Reduction>> reductions(const Construction& construction);

struct FailedReduction {
  Reduction::Part part = Reduction::Part::layer;
  std::string what;
  FailedInstance failure;  // the first that the verification came to
};

// Those reductions that err, each with an instance; stops at the first error of each. Errors: those of
// verify().
Result<std::vector<FailedReduction>> failing_reductions(const Construction& construction,
                                                        VerificationOptions options);

template <>
inline constexpr auto kWords<Reduction::Part> = std::to_array<std::string_view>({"layer", "head", "state"});

}  // namespace rung
