// Does an architecture have what a construction needs? The one place where `possible` is decided: every resource of a
// ConstructionCost against the architecture, each with its numbers.
//
// Lemma (padding). If every resource is there, the construction's file can be written with exactly the architecture's
// sizes: its layers become some of the stack's, in order, and nothing else does anything. An idle layer, or an idle
// head, has W_O = 0 and an MLP whose last map is 0; unused key dimensions have keys that no query meets; unused residual
// coordinates are 0 everywhere; more bits change no number, because the residual stream keeps saturating where it did.
// padded_to (tests/constructions/padding.h) is the lemma as code, and tests run what it writes.
//
// Where a mechanism stands in for the one that is built, and only words say how, the fit is a sketch and names the gap.
#pragma once

#include <string>
#include <vector>

#include "rung/theory/constructions_cost.h"
#include "rung/theory/theorem.h"

namespace rung {

// Scarcity of the resource that comes closest to its limit: have / need >= 1 when it fits.
struct Scarcest {
  std::string name;
  double have = 0, need = 0;

  void meet(std::string resource, double there, double needed);
  double ratio() const { return need > 0 ? have / need : 0; }
};

// Where a layer of the construction stands: a layer of the stack and, in heads(...), a group of it.
struct LayerPlace {
  std::size_t layer = 0, part = 0;
};

struct ConstructionFit {
  ConstructionCost cost;  // with the options that the architecture's own layers ask for
  Status status = Status::proved;
  std::vector<Hypothesis> hypotheses;
  std::vector<std::string> gaps;  // sketch: what no weights were written down for
  Scarcest scarcest;
  std::vector<LayerPlace> places;  // one a layer of the construction, as far as they were found

  bool holds() const;
};

// The mixer, or the group of heads, that serves as one layer of a construction; nothing when it cannot.
struct LayerService {
  std::size_t part = 0;
  std::string_view gap;  // empty: as built
};
std::optional<LayerService> layer_service(const MixerShape& mixer, const LayerCost& need, bool sketches);

ConstructionFit fit_construction(const Setting& setting, ConstructionCost cost);

// The best of several: one that holds and is proved, then one that holds, then the one that fails in fewest places.
// REQUIRES at least one.
ConstructionFit best_fit(const Setting& setting, std::vector<ConstructionCost> costs);

// What every such verdict takes for granted.
std::vector<std::string> construction_assumptions(const Setting& setting, const ConstructionCost& cost);

// The verdict of a theorem whose construction this is.
Verdict verdict_of_fit(const Theorem& theorem, const Setting& setting, const Question& question,
                       const ConstructionFit& fit);

}  // namespace rung
