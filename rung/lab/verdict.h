// The decision rule: what measured configurations say about a prediction. A pure function.
//
// A theorem is decided by its own classes alone. A configuration in the gap says nothing about
// it, nor does a constructible one that merely failed to train. What would contradict one: weights of class C
// that answer every instance of an exhaustive check, or a construction that errs at the precision for which
// it is proved. A sample, however good, contradicts no theorem; it asks for an exhaustive check. An empirical
// prediction is about the recipe as well: it fails where the interval over the seeds contradicts it, and
// stays open where its controls (`given`) did not train, since then nothing in the experiment did.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rung/lab/outcome.h"
#include "rung/theory/outcome.h"

namespace rung::lab {

// What a cost is plotted against: bits a layer, bits of all layers, or layers at equal bits a layer.
enum class Axis { bits, total_bits, layers };
// How `serves` counts the arguments that a state has room for: by the bits that it kept at least, spread as the ceiling
// spreads them, or by the answers, each entry being kept whole or not at all.
enum class Room { bits, answers };

}  // namespace rung::lab

namespace rung {
template <>
inline constexpr auto kWords<lab::Axis> = std::to_array<std::string_view>({"bits", "total-bits", "layers"});
template <>
inline constexpr auto kWords<lab::Room> = std::to_array<std::string_view>({"bits", "answers"});
}  // namespace rung

namespace rung::lab {

struct Prediction {
  std::string id, statement;
  PredictionKind kind = PredictionKind::reaches;
  Scope scope = Scope::empirical;
  // Ids of configurations, each with `*` for any text.
  std::vector<std::string> configurations, than, given;
  std::optional<double> accuracy;  // x; of `given`: 0.99 unless `given_accuracy` says otherwise
  double margin = 0;               // of `ordered` and `serves`
  double given_accuracy = 0.99;
  // Of empirical `reaches` and `stays-below`: decided by counting seeds on the predicted side, which must be at least so
  // many; 0: by the interval over them.
  std::int64_t seeds = 0;
  bool separated = false;             // undecided at a size that does not separate (rung/lab/separation.h)
  double low = 0, high = 0;           // of `slope`
  Axis over = Axis::bits;             // of `slope`
  Room room = Room::bits;             // of `serves`
  std::vector<std::string> explains;  // "experiment/prediction": why that one failed
};

struct Finding {
  Decision decision = Decision::undecided;
  std::string reason;   // one line
  std::string decides;  // undecided: what would decide it
};

// REQUIRES the outcomes are those that the prediction names; empty `about` (nothing of that name at this
// size) is undecided.
Finding decide(const Prediction& prediction, std::span<const Outcome> about, std::span<const Outcome> than,
               std::span<const Outcome> given);

// The share of questions about the `kept` most frequent of n arguments, the r-th having weight 1/r; of a fraction of an
// argument, that fraction of its weight. REQUIRES n >= 1, kept >= 0.
double zipf_mass(double kept, std::int64_t n);

// Whether an id matches a pattern with `*`.
bool matches(std::string_view pattern, std::string_view id);

}  // namespace rung::lab
