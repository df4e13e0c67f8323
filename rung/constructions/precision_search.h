// The smallest precision at which a construction passes its verification. What the lemma proves and what a
// search found are different things and are called so: p_proved, p_measured.
#pragma once

#include "rung/constructions/verification.h"

namespace rung {

struct PrecisionSearch {
  std::optional<int> p_measured;          // the smallest p of the range that passed
  std::optional<Verification> passed;     // its verification
  std::optional<int> failed_at;           // p_measured - 1, or the last p tried
  std::optional<FailedInstance> failure;  // shown there
};

// Tries p = from, from+1, …, to in turn and stops at the first that passes. A size or precision that cannot
// be built counts as failed without an instance. With options.quantised set, every p is run in mode Q in
// fixed point p.f (f as given). Errors: those of the largest p, when nothing could be built.
Result<PrecisionSearch> search_precision(ConstructionRequest request, VerificationOptions options, int from,
                                         int to);

// Up to which size does the construction work in a float format? Doubles `size` from `from` up to `to`, mode
// Q. The integers that the construction writes down may have any width up to the proved one (or 12 bits): one
// that passes suffices.
struct FormatReach {
  Precision format;
  std::optional<std::int64_t> works_up_to;  // absent: not even at the first size
  std::optional<std::int64_t> fails_at;     // absent: no failure up to `to`
  std::optional<FailedInstance> failure;
};
Result<FormatReach> search_format(ConstructionRequest request, VerificationOptions options,
                                  const std::string& size, std::int64_t from, std::int64_t to,
                                  const Precision& format);

}  // namespace rung
