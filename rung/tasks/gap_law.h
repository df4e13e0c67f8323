// The power law of Zoology's gaps (zoology.h): places 0 … count-1 drawn one after another without repetition, place g
// with weight (g+1)^(power-1), rounded down to a whole number of 2^-32.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rung/base/random.h"

namespace rung {

class GapLaw {
 public:
  // REQUIRES places >= 1, 0 < power <= 1.
  GapLaw(std::int64_t places, double power);

  std::int64_t places() const { return static_cast<std::int64_t>(weights_.size()); }
  std::span<const std::uint64_t> weights() const { return weights_; }
  // Different places, in the order in which they were drawn. REQUIRES count <= places().
  std::vector<std::int64_t> draw(Random& random, std::int64_t count) const;

 private:
  std::vector<std::uint64_t> weights_;
  std::vector<std::uint64_t> sums_;  // a Fenwick tree over the weights
};

}  // namespace rung
