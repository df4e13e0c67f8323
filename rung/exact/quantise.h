// A trained real model as a model of the exact machine: integers of p bits (mode X, docs/quantise.md).
//
// p is the width of what a model stores or hands over: the residual stream, the channels of every map (q, k,
// v, ...), keys and values, mixer outputs, hidden layers, and, unless accumulator_bits says otherwise, the
// entries of recurrent states. Weights are the program, not the memory: they have a width of their own, like
// tables, shifts and gates. Every scale is a power of two, chosen per tensor from what the real model
// computes on calibration prompts, or taken from the file's notes when it was trained for one.
//
//   CalibrationSet set{prompts, task->query_positions()};
//   auto integers = quantise(*read_weights("trained.safetensors"), set, {.precision = 8});
//   write_weights("eight.safetensors", integers->weights);
//
// Determinism: a function of the arguments; threads do not matter.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "rung/exact/quantise_calibration.h"
#include "rung/spec/weights.h"

namespace rung {

struct QuantiseOptions {
  int precision = 8;                    // p, 2 to 48
  std::optional<int> accumulator_bits;  // of a state entry, 1 to 62; absent: p
  std::optional<Accumulator>
      accumulator;  // of linear attention; absent: the file's, or `round` with accumulator_bits
  std::optional<int> weight_bits;  // 2 to 32; absent: default_weight_bits(p)
  // Rounds in which every fraction is tried one higher and one lower on the calibration prompts, and kept
  // where the right answers become likelier; 0 to 100. Each costs up to two evaluations a
  // fraction. Nothing is refined where all answers are right and the logits are within kCloseEnough.
  int refine = 0;
  std::function<void(std::uint64_t evaluations)> progress = {};  // models evaluated so far
};
inline constexpr double kCloseEnough = 0.05;
// 16, or four more than the activations that the weights multiply.
int default_weight_bits(int precision);

// How one stored tensor became integers of `bits` bits that mean k 2^-fraction.
struct StoredScale {
  std::string name;  // "stream", "layers.0.q", "layers.0.state"
  int bits = 0, fraction = 0;
  double largest = 0, rms = 0;  // of the real values seen
  double error = 0;             // root mean square of the error over rms; 0 where nothing was seen
  bool noted = false;           // the file's own note fixed the fraction
};

struct Quantised {
  Weights weights;
  std::vector<StoredScale> scales;
  double agreement = 0;    // share of the calibration answers that are the real model's
  double logit_error = 0;  // root mean square error of the logits over their spread; 0 for chains of thought
};

// The note that fixes a tensor's fraction: "fraction." and its name in StoredScale.
inline constexpr const char* kFractionNote = "fraction.";

// ENSURES the weights load in the exact machine at the calibration prompts' length. Errors: what has no
// integer form, by name and before any work (quantisable.h); integer weights; options out of range; a model
// whose numbers are not finite.
Result<Quantised> quantise(const Weights& real, const CalibrationSet& set, const QuantiseOptions& options);

}  // namespace rung
