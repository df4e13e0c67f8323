// What came of one configuration of an experiment: the label that the bounds gave it beforehand, and what was
// measured.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rung/evaluation/interval.h"
#include "rung/evaluation/label.h"
#include "rung/lab/state_capacity.h"

namespace rung::lab {

// The best learning rate of one seed: chosen by the last evaluation during training, scored on fresh
// instances.
struct SeedScore {
  std::uint64_t seed = 1;
  double rate = 0;
  std::uint64_t right = 0, of = 0;  // answers
  bool exhaustive = false;          // every instance of the task at this size was run
  double accuracy() const { return of ? static_cast<double>(right) / static_cast<double>(of) : 0; }
  bool operator==(const SeedScore&) const = default;
};

// One point of an attack's cost.
struct CostPoint {
  std::int64_t layers = 1, bits = 0;  // bits a layer
  double lg_evaluations = 0, seconds = 0;
  bool found = false;
  bool operator==(const CostPoint&) const = default;
};

// What was run: the stack, the task that is asked about, and its sizes. Empty for attacks.
struct Subject {
  std::string arch, task;
  std::map<std::string, std::int64_t> size;
  bool operator==(const Subject&) const = default;
};

// The bits of weights that a proof writes down.
struct WrittenPrecision {
  int used = 0;
  std::optional<int> proved;    // by the lemma
  std::optional<int> measured;  // the smallest that passed, where it was searched for
  bool operator==(const WrittenPrecision&) const = default;
};

// Accuracy on the task that is asked about, evaluation by evaluation, thinned out to kCurvePoints.
struct MemberCurve {
  std::uint64_t seed = 1;
  double rate = 0;
  bool chosen = false;                                  // the rate whose score counts for this seed
  std::vector<std::pair<std::int64_t, double>> points;  // step, accuracy
  bool operator==(const MemberCurve&) const = default;
};
inline constexpr std::size_t kCurvePoints = 40;
// At most kCurvePoints of them, the first and the last among them, in order.
std::vector<std::pair<std::int64_t, double>> thinned(
    const std::vector<std::pair<std::int64_t, double>>& points);

enum class Origin {
  trained,  // weights that gradient descent found
  written,  // weights that a proof writes down
  attack,   // no weights of its own: what a search costs
};

struct Outcome {
  std::string id;
  Origin origin = Origin::trained;
  Subject subject;
  Label label;
  std::vector<SeedScore> scores;  // empty: nothing was measured; `trouble` says why
  std::vector<CostPoint> costs;   // of an attack
  std::optional<StateCapacity> capacity;
  std::optional<WrittenPrecision> precision;
  std::vector<MemberCurve> curves;  // of a training
  std::string device;               // that trained it
  std::string note, trouble;        // one line each
  std::string record;               // id of the run's record
  double seconds = 0;

  double mean() const;                            // over the seeds; 0 without scores
  std::optional<ShareInterval> interval() const;  // over the seeds; nothing for fewer than two
};

// Without the curves: a row of the document that `rung lab --json` prints.
nlohmann::ordered_json outcome_json(const Outcome& outcome);
// [{"seed", "rate", "chosen", "curve": [[step, accuracy], ...]}, ...]
nlohmann::ordered_json curves_json(const Outcome& outcome);
// The whole of it, for the file of a finished configuration.
nlohmann::ordered_json saved_outcome(const Outcome& outcome);
// The inverse of saved_outcome. Errors: a file that is none.
Result<Outcome> parse_outcome(const std::string& text, const std::string& where);

}  // namespace rung::lab
