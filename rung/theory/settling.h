// Layers that come to rest: when the tokens of a prompt repeat, do a layer's activations, and after how many tokens?
// What the aperiodicity theorem (aperiodicity.cc, docs/theorems.md) asks of every layer, and its horizon.
//
// Monotone recurrences. `mamba`, `mamba2` in every form, `gla`, and `linear` that rounds its sums, with saturating states and decays >= 0: every
// state entry moves by h ← sat(rsh(a h) + b), a >= 0, where a and b depend on the layer's input alone. This map of a finite
// chain does not decrease in h, so while the input repeats the entry moves in one direction, from period to period, and
// rests after at most (values - 1) of them. Floats alike: rounding is monotone, and NaN, once there, stays.
// Windows and convolutions are functions of the last few inputs. Top-k breaks ties by position, so that equal tokens past
// the k-th change nothing. Full attention and exact sums read numerators and denominators that are affine in the number of
// periods, so the rounded quotient is monotone in the end, and rests because it is bounded.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "rung/theory/logarithm.h"
#include "rung/theory/setting.h"

namespace rung {

struct Settling {
  std::string
      uncovered;  // why the theorem does not speak about the stack, naming the first such layer; empty: it does
  bool recurrence = false;  // some layer is a monotone recurrence
  bool sums = false;        // some layer sums over the whole past (full, exact linear, sparse)
  bool selects = false;     // top-k, sparse
  bool blocks = false;      // chunks, sparse, positions that repeat
  std::int64_t period = 1;  // of them, in tokens: a common multiple
  // Some layer is of no kind of proofs/Rest.v: blocks, exact sums of linear attention, full attention behind a
  // convolution of its own.
  bool informal = false;
};

// What the layers of the setting are. A stack without positions but periodic ones is assumed; the caller checks that.
Settling settling_of(const Setting& setting);

// The largest value of a softmax weight table of kExponentBits, and of `value.scale` in a weights file (docs/weights.md).
Integer largest_softmax_weight();
inline constexpr std::int64_t kLargestValueScale = std::int64_t{1} << 32;

// Beyond so many bits a horizon is no longer counted (a double would not hold it); what rests_from returns is
// then only that large.
inline constexpr unsigned kLongestHorizon = 1000;

// One letter repeated. If the stack's input is the same at every position from `first` on (0-based; any before it), its output
// is from the returned one on. REQUIRES settling_of(setting) covered, no blocks. For a recurrence of a-bit entries with a convolution of width c
// this is first + 2^a + c - 3; a window or convolution of width w adds w - 1, top-k adds k - 1; heads side by side take the
// largest. Full attention with weights up to E, values of p bits and value scale c makes first into
// first (1 + E (2^(p+1) c - 2c - 1)): with v the value that repeats and B the weights before it, y is
// c v + round(c (A - v B) / (B + m D)) after m of them, |A - v B| <= B (2^p - 1), B <= first E, D >= 1 or nothing moves.
// Exact linear attention alike with weights of any sign; unnormalised it has saturated once the sum has outgrown the
// largest read shift.
Integer rests_from(const Setting& setting, Integer first);

// A word of `length` letters repeated, in periods: if the input repeats from period `first` on, so does the output from the
// returned one. REQUIRES settling_of(setting) covered, no sums, no blocks, length >= 1.
Integer rests_from_period(const Setting& setting, std::int64_t length, Integer first);

}  // namespace rung
