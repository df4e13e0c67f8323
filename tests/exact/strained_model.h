// Random models pushed off the path that random_weights keeps to: other shifts (also negative), narrow and
// wide .bits, biases, value scales, short arbitrary tables whose ends clip, optional tensors present or not.
// Determinism: a function of (line, causal, seed). Most numbers saturate somewhere, which is the point.
#pragma once

#include "rung/base/random.h"
#include "rung/exact/random_model.h"

namespace rung {

// The dimensions, fields, output, precision and accumulator vary with the seed.
RandomModel varied_model(const std::string& line, bool causal, std::uint64_t seed);

// Changes a model in place, `seed` says how. REQUIRES weights from random_weights.
void strain(Weights& weights, std::uint64_t seed);

// Numbers at the edges of their domains: weights to 2^46, widths to 48 bits, accumulators to 62, shifts from
// -40 to 100, scales to 2^32. What the machine accepts must still be exact; what it cannot sum it must
// refuse.
void strain_to_the_edge(Weights& weights, std::uint64_t seed);

Prompt random_prompt(const std::vector<FieldSpec>& fields, std::int64_t positions, std::uint64_t seed);
std::vector<std::int64_t> all_positions(std::int64_t count);

}  // namespace rung
