// Weights drawn at random for any architecture that the exact machine runs: targets for attacks, and inputs
// for tests. The scales keep activations inside their widths without saturating all of them, so that a random
// model depends on its input. Determinism: a function of (architecture, fields, output, seed) alone.
#pragma once

#include "rung/spec/weights.h"

namespace rung {

struct RandomModel {
  Architecture architecture;
  std::vector<FieldSpec>
      fields;  // scalar fields get tables (binary codes above kTableRows values), vectors linear maps
  OutputSpec output;
  DecodeSpec decode;
  Accumulator accumulator = Accumulator::wrap;  // unless the line has `acc`
  std::uint64_t seed = 0;
};

// Scores are clipped to [-kRandomScore, kRandomScore] and weighted by round(2^kRandomExpBits exp(tau s)).
inline constexpr std::int64_t kRandomScore = 15;
inline constexpr int kRandomExpBits = 10;
inline constexpr double kRandomTau = 0.25;

// Errors: opaque mixers, sizes that resolve() refuses, a position code or log-linear layer without a context.
Result<Weights> random_weights(const RandomModel& model);

}  // namespace rung
