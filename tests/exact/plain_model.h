// A second evaluator of integer models, written from docs/weights.md alone: unbounded integers,
// whole-sequence formulas, every position from scratch. Its only debts are to rung/spec: the file's structure
// and the resolved shapes. Cost: polynomial in everything; meant for a handful of numbers.
#pragma once

#include "rung/spec/weights.h"
#include "tests/exact/plain_integer.h"

namespace rung::plain {

struct Reading {
  Row activation;  // the residual row after the last layer (and norm)
  Row logits;      // z, before it is decoded
  Row answer;      // decoded: one token, or the numbers of a vector
};

// One reading per position. REQUIRES integer weights that are complete, a prompt inside its domains.
std::vector<Reading> evaluate(const Weights& weights, const Prompt& prompt);

// The tokens of the chain of thought. REQUIRES decode.steps >= 1.
std::vector<std::int64_t> think(const Weights& weights, Prompt prompt);

}  // namespace rung::plain
