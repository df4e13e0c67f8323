// Where the heads of a model look on one prompt: the exact weights of every softmax over the whole past, for
// pictures.
//
// A weight is E[score of j] / Σ_{j' <= i} E[score of j'], read off the integers that the machine sums: the
// denominator over the first j+1 tokens minus that over the first j. Mode X, decoders; layers without a
// softmax over the whole past (recurrent, sparse, windowed) have no entry.
#pragma once

#include <cstdint>
#include <vector>

#include "rung/base/result.h"
#include "rung/spec/prompt.h"
#include "rung/spec/weights.h"

namespace rung {

struct HeadPattern {
  std::int64_t layer = 0, head = 0;  // from 0
  std::vector<std::vector<double>>
      weights;  // row i: of tokens 0..i; sums to 1, or all 0 where every weight is 0
};

inline constexpr std::int64_t kMaxPatternTokens = 512;

// Errors: real weights, encoders, a prompt of more than kMaxPatternTokens or outside the model's domain.
Result<std::vector<HeadPattern>> attention_patterns(const Weights& weights, const Prompt& prompt);

}  // namespace rung
