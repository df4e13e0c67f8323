// Attack scaling: what each method costs against the bits of a state and the number of layers, measured on
// random models whose states forget nothing (sums modulo a power of two, decays near one).
#pragma once

#include "rung/adversary/attack.h"

namespace rung {

struct ScalingPoint {
  std::string method, architecture;
  std::int64_t layers = 1, bits_per_layer = 0, n = 0, nominal_bits = 0;
  std::uint64_t seed = 0;
  Evidence verdict = Evidence::unverified;
  std::uint64_t evaluations = 0;
  double seconds = 0;
  std::optional<double> effective_bits;
  std::string tokens;  // of the colliding beginnings where the method says so
};

struct ScalingOptions {
  std::string method = "auto";  // one method by name; "auto": all that have a scaling series
  double seconds = 120;         // in all; points that do not fit any more are left out
  double seconds_per_point = 20;
  std::uint64_t seed = 1;
  std::function<void(const ScalingPoint&)> point = {};  // as they come
  std::function<bool()> stop = {};
};

// Points from small to large, method after method. Errors: a method without a series.
Result<std::vector<ScalingPoint>> attack_scaling(const ScalingOptions& options);

// One or more layers of `bits` bits each, on eva at n unless said otherwise. mixer: "mamba2" (gated, decays
// near one), "linear" (sums modulo 2^b, arbitrary tables), "linear-values" (keys of the position, values the
// token itself; `bits` are key bits), "loglinear" (bits of one level), "sparse" (bits of a block's message;
// two-sum), "hybrid" (bits of the answer's activation; 2-SeqComp with n values of z_2).
Result<Target> retentive_target(const std::string& mixer, std::int64_t layers, std::int64_t bits,
                                std::int64_t n, std::uint64_t seed);

}  // namespace rung
