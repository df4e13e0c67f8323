// How generators draw. Integer arithmetic only, so that an instance is the same on every machine.
#pragma once

#include <cstdint>
#include <vector>

#include "rung/base/random.h"
#include "rung/tasks/task.h"

namespace rung {

// Zipf with exponent 1: rank r in [0, bound) has probability (1/(r+1)) / (1 + 1/2 + … + 1/bound), exactly and
// without a table. The ranks 2^j .. 2^(j+1)-1 (counted from 1) have total weight at most 1: draw j evenly, a
// rank evenly among them, and keep rank r with probability 2^j / r. REQUIRES 1 <= bound <= 2^62.
std::int64_t zipf(Random& random, std::int64_t bound);

// A value of [0, bound): Zipf in that variant, uniform in the others.
inline std::int64_t draw(Random& random, Variant variant, std::int64_t bound) {
  return variant == Variant::zipf
             ? zipf(random, bound)
             : static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(bound)));
}

// `count` different values of [0, bound), every ordered choice equally likely. Memory O(count). REQUIRES
// count <= bound.
std::vector<std::int64_t> distinct(Random& random, std::int64_t count, std::int64_t bound);

// An even coin.
inline bool coin(Random& random) { return random.next() >> 63; }

// A value of [0, bound) other than `value`, evenly. REQUIRES bound >= 2.
inline std::int64_t other_than(Random& random, std::int64_t value, std::int64_t bound) {
  const auto drawn = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(bound - 1)));
  return drawn + (drawn >= value ? 1 : 0);
}

// Whether a task has instances of a variant: uniform and zipf always, the others where it says so.
struct OtherVariants {
  bool permutation = false, adversarial = false;
};
inline bool supported(Variant variant, const OtherVariants& others) {
  return variant == Variant::permutation   ? others.permutation
         : variant == Variant::adversarial ? others.adversarial
                                           : true;
}

// The random numbers of one instance. Adversarial instances 2k and 2k+1 share theirs; the second is flipped.
struct Draw {
  Random random;
  bool flipped;
  Draw(Variant variant, std::uint64_t seed, std::uint64_t index)
      : random(seed, variant == Variant::adversarial ? index / 2 : index),
        flipped(variant == Variant::adversarial && index % 2 == 1) {}
};

}  // namespace rung
