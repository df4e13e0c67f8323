// What an experiment found, as data: its configurations with the label that the bounds gave them beforehand and what was
// measured, and what became of its predictions. Written and read here and nowhere else: rung.lab/2, which `rung lab
// --json` prints, and rung.results/2, the compact file that is kept and shown beside others (docs/lab.md has both).
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rung/base/result.h"
#include "rung/records/curve.h"
#include "rung/records/provenance_note.h"
#include "rung/theory/outcome.h"

namespace rung {

inline constexpr std::string_view kLabSchema = "rung.lab/2", kResultsSchema = "rung.results/2";

enum class PredictionKind {
  reaches,      // accuracy at least x
  stays_below,  // accuracy at most x; without x, at most the ceiling that the bounds give
  ordered,      // as accurate as `than`, or better by the margin
  errs,         // a construction gives a wrong answer
  slope,        // lg(cost) against bits a layer (or layers) has a slope in [low, high]
  serves,       // Zipf questions: accuracy within the margin of the mass of the arguments that the state of
                // `than`, measured on uniform questions, has room for
};
enum class Scope { theorem, empirical };
enum class Origin {
  trained,  // weights that gradient descent found
  written,  // weights that a proof writes down
  attack,   // no weights of its own, and no label: what a search costs
};

template <>
inline constexpr auto kWords<PredictionKind> =
    std::to_array<std::string_view>({"reaches", "stays-below", "ordered", "errs", "slope", "serves"});
template <>
inline constexpr auto kWords<Scope> = std::to_array<std::string_view>({"theorem", "empirical"});
template <>
inline constexpr auto kWords<Origin> = std::to_array<std::string_view>({"trained", "written", "attack"});

// The best learning rate of one seed: chosen by the last evaluation during training, scored on fresh instances.
struct SeedScore {
  std::uint64_t seed = 1;
  double rate = 0;
  std::uint64_t right = 0, of = 0;  // answers
  bool exhaustive = false;          // every instance of the task at this size was run
  std::optional<int> carried_bits;  // of fetched values and states, with which it does as well
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

// What a state kept of a random table (rung/lab/state_capacity.h).
struct StateCapacity {
  std::int64_t n = 0, alphabet = 0;
  std::int64_t elements = 0;  // numbers of state, over all layers; log-linear: of one level
  bool one_level = false;     // elements and bits are those of one level
  double table_bits = 0;      // n lg alphabet: the information limit, all that there is to keep
  double mean_bits = 0;       // that the mean accuracy over the seeds takes: an estimate, no bound
  double accuracy_bound = 0;  // below the mean, by a one-sided 95 % confidence bound over the seeds
  double kept_bits = 0;       // that this accuracy takes, rounded down: what was kept at least
  double per_element() const { return elements ? kept_bits / static_cast<double>(elements) : 0; }
  bool operator==(const StateCapacity&) const = default;
};

// Bits that decide whether a size of a composition leaves no room for one layer less (rung/lab/separation.h).
struct Separation {
  std::int64_t needed = 0;   // of the cheapest shortcut
  std::int64_t fetched = 0;  // numbers that one full layer fetches
  std::int64_t bits = 0;     // of such a number, and of one of a state
  std::int64_t carried = 0;  // what one full layer fetches, times the slack
  std::int64_t state = 0;    // of the largest recurrent state
  double table = 0;          // of z_1
  bool states_are_small() const { return 2 * static_cast<double>(state) < table; }
  bool separated() const { return needed > carried && states_are_small(); }
  bool operator==(const Separation&) const = default;
};

// Accuracy on the task that is asked about, thinned.
struct MemberCurve {
  std::uint64_t seed = 1;
  double rate = 0;
  bool chosen = false;  // the rate whose score counts for this seed
  AccuracyCurve points;
  bool operator==(const MemberCurve&) const = default;
};

// What came of one configuration.
struct ConfigurationOutcome {
  std::string id;
  Origin origin = Origin::trained;
  Subject subject;
  Label label;
  std::vector<SeedScore> scores;                      // empty: nothing was measured; `trouble` says why
  std::optional<double> accuracy;                     // mean over the seeds
  std::optional<std::pair<double, double>> interval;  // over the seeds, of two or more
  std::vector<CostPoint> costs;                       // of an attack
  std::optional<StateCapacity> capacity;
  std::optional<WrittenPrecision> precision;
  std::optional<Separation> separation;
  std::string device;         // that trained it
  std::string note, trouble;  // one line each
  std::string record;         // id of the run's record
  double seconds = 0;
  std::vector<MemberCurve> curves;  // of a training
};

struct PredictionVerdict {
  std::string id, statement;
  PredictionKind kind = PredictionKind::reaches;
  Scope scope = Scope::empirical;
  std::vector<std::string> configurations;
  std::vector<std::string> explains;  // "experiment/prediction": those whose failure it explains
  std::optional<Decision> verdict;    // nothing before it was run
  std::string reason, decides;
};

struct LabDocument {
  std::string experiment, tests, size;
  std::int64_t seeds = 1;
  std::vector<ConfigurationOutcome> configurations;  // their curves stand in `rung.results` alone
  bool dry_run = false;                              // labels and predictions alone
  bool stopped = false;
  double seconds = 0;
  std::vector<PredictionVerdict> verdicts;
  std::string folder;
};

struct ExperimentResults {
  std::string command;
  ProvenanceNote provenance;
  LabDocument lab;
};

// What every record of an experiment says of it.
struct LabNote {
  std::string experiment, size_word;
  std::int64_t seeds = 1;
  std::string configuration,
      lab_run;  // of a configuration's records: its id, and that of the experiment's record
};

template <class Fields>
void describe(Fields& field, LabNote& x) {
  field("experiment", x.experiment, "size_word", x.size_word, "seeds", x.seeds);
  field.some("configuration", x.configuration, "lab_run", x.lab_run);
}

nlohmann::ordered_json lab_json(const LabDocument& document);
nlohmann::ordered_json results_json(const ExperimentResults& results);
// Of this version or of rung.results/1, whose words are translated; nothing where the document is of another schema.
// Errors: "[results] `where`..." for one of these that is of another shape.
Result<std::optional<ExperimentResults>> parse_results(const std::string& text, const std::string& where);

// A configuration with its curves, for its file and between ranks.
std::string outcome_text(const ConfigurationOutcome& outcome);
Result<ConfigurationOutcome> parse_outcome(const std::string& text, const std::string& where);
// A configuration's row without curves: the body of its record.
nlohmann::ordered_json outcome_json(const ConfigurationOutcome& outcome);
// Fields of records' bodies.
nlohmann::ordered_json note_json(const LabNote& note);
nlohmann::ordered_json verdict_json(const PredictionVerdict& verdict);

}  // namespace rung
