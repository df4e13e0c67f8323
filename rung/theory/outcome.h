// The words for what is known: one enum and one list of names each. The library, the commands, their JSON, the
// page and the docs use these and no others (docs/formats.md lists them).
#pragma once

#include <string>
#include <string_view>

#include "rung/base/words.h"

namespace rung {

// What a bound says of an architecture on a task, at the sizes asked about.
enum class Outcome {
  impossible,  // no weights exist
  possible,    // weights exist, for all of these sizes
  vacuous,     // a theorem applies, its numbers do not reach these sizes
  open,        // some hypothesis fails, or no theorem speaks
};
// How a claim stands: of a model that an attack was given, that it solves its task; of a construction, likewise;
// of a certificate, what it claims.
enum class Evidence {
  verified,    // checked, and it came out as claimed
  refuted,     // checked, and it did not
  unverified,  // the check did not end, or nothing could check it
  none,        // there is no claim
};
// What an experiment says of its prediction.
enum class Decision { held, failed, undecided };
// What `rung verify` says of a model at every length.
enum class ProofOutcome {
  proved,   // right on every word
  refuted,  // wrong on the word that is given
  bounded,  // right on every word up to the given length; nothing is known beyond
};
// What the bounds said of a model on its task before it was measured.
enum class LabelClass {
  C,  // certified impossible
  K,  // constructible
  G,  // gap: neither; an accuracy here decides nothing
};
struct Label {
  LabelClass letter = LabelClass::G;
  std::string reason;  // the theorem with its status, or why there is none
  double ceiling = 1;  // best average accuracy of any such model on uniform instances; 1: no bound
  std::string ceiling_reason;
};

// Where a statement comes from, and how well it is known: two questions, never one word.
enum class Source { paper, literature, ours };
enum class Status {  // from strong to weak, for a reader; a verdict never prefers checked to proved
  checked,           // proved, and the proof checked by Coq (proofs/Statements.v)
  proved,
  conditional,  // proved from a hypothesis that the statement names and that nobody has proved, or rung cannot check
  sketch,
  heuristic,
  measured,
  conjecture,
};

template <>
inline constexpr auto kWords<Outcome> = std::to_array<std::string_view>({"impossible", "possible", "vacuous",
                                                                         "open"});
template <>
inline constexpr auto kWords<Evidence> = std::to_array<std::string_view>({"verified", "refuted", "unverified",
                                                                          "none"});
template <>
inline constexpr auto kWords<Decision> = std::to_array<std::string_view>({"held", "failed", "undecided"});
template <>
inline constexpr auto kWords<ProofOutcome> = std::to_array<std::string_view>({"proved", "refuted",
                                                                              "bounded"});
template <>
inline constexpr auto kWords<LabelClass> = std::to_array<std::string_view>({"C", "K", "G"});
template <>
inline constexpr auto kWords<Source> = std::to_array<std::string_view>({"paper", "literature", "ours"});
template <>
inline constexpr auto kWords<Status> = std::to_array<std::string_view>({"checked", "proved", "conditional",
                                                                        "sketch", "heuristic", "measured",
                                                                        "conjecture"});

inline std::string_view outcome_name(Outcome outcome) { return name_of(outcome); }
inline std::string_view evidence_name(Evidence evidence) { return name_of(evidence); }
inline std::string_view decision_name(Decision decision) { return name_of(decision); }
inline std::string_view label_name(LabelClass label) { return name_of(label); }
inline std::string_view source_name(Source source) { return name_of(source); }
inline std::string_view status_name(Status status) { return name_of(status); }

// Each in a plain sentence, without its full stop; what the page and `rung help` say.
std::string_view outcome_meaning(Outcome outcome);
std::string_view evidence_meaning(Evidence evidence);
std::string_view decision_meaning(Decision decision);
std::string_view label_meaning(LabelClass label);

// A complete argument stands behind it, checked by machine or not.
inline bool is_proved(Status status) { return status == Status::checked || status == Status::proved; }

}  // namespace rung
