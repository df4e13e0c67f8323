// A theorem as data and a function, and what it says about one architecture on one task.
//
//   Setting setting = ...;                            // an architecture with its numbers (setting.h)
//   for (const Theorem& theorem : theorems()) ...     // the explicit list, theorem_list.cc
//   Verdict v = decide(setting, question);            // the strongest statement about the task
//
// A verdict speaks about worst-case inputs and the best possible weights with an arbitrary position-wise MLP.
// It says nothing about training: no failure to learn is a bound, and `possible` promises weights, not that
// training finds them.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rung/theory/logarithm.h"
#include "rung/theory/outcome.h"
#include "rung/theory/parameter.h"
#include "rung/theory/setting.h"

namespace rung {

struct Hypothesis {
  std::string text;
  bool holds = false;
  std::string numbers;  // "24 state bits", "s = 1024, n lg n = 1032.5"; may be empty
};

// What one set of weights can do at every length, of a task that exists at every length (automaton tasks, words of
// tracked recall). The verdict itself is about the context or sizes that were asked for.
struct EveryLength {
  Outcome outcome = Outcome::open;  // impossible, possible or open
  std::string theorem;
  Status status = Status::proved;
  // Open: what the theorem asks for and does not find. Impossible: that it is counted from beyond every context in use on.
  std::string reason = {};
};

struct Verdict {
  std::string task;
  Outcome outcome = Outcome::open;
  std::string theorem;  // id; empty when no theorem speaks about the task
  Source source = Source::ours;
  std::string_view reference;  // of the theorem
  Status status = Status::proved;
  std::vector<Hypothesis> hypotheses;
  std::vector<std::string> assumes;   // what the verdict takes for granted about the model
  std::optional<double> left, right;  // impossible, vacuous: bits needed against bits available;
      // possible: the scarcest resource against what the construction asks for
  std::optional<double> margin;                // left / right
  std::optional<Integer> horizon;              // size at which the bound turns (docs/bound.md)
  Parameter parameters = Parameter::object();  // sizes and searched proof parameters
  std::vector<std::string> argument;           // --explain: the steps with this architecture's numbers
  std::optional<EveryLength> every_length;     // decide() brings the strongest, whichever theorem it is from
  // Open because the theorem is about other architectures, or vacuous at every size: the last to be shown.
  bool elsewhere = false;

  bool all_hold() const;
  void require(std::string text, bool holds, std::string numbers = {}) {
    hypotheses.push_back({std::move(text), holds, std::move(numbers)});
  }
};

// The values of one option of a task.
struct OptionValues {
  std::string_view option;              // "order"
  std::vector<std::string_view> words;  // empty: every value, of an option whose words are open
};

// What it says stands in docs/theorems.md alone, which the program carries and reads (theorem_page.h); its file has the
// id, what it is about and the function.
struct Theorem {
  std::string_view id;  // "recurrent-eva"
  // From the page.
  std::string_view title = {};
  std::string_view statement = {};  // with symbols, one paragraph
  Source source = Source::ours;
  std::string_view reference = {};  // literature: which; ours and paper: where the argument is from
  Status status = Status::proved;
  std::string_view formal = {};  // checked: the theorem of proofs/Statements.v
  std::string_view file = {};    // where it is implemented, "rung/theory/recurrent_eva.cc"
  std::string_view test = {};    // which test program and case exercises it
  // From its file.
  std::vector<std::string_view> tasks = {};  // the words it speaks about; empty: quoted in the table only
  bool automata = false;                     // and about every automaton of a user's file
  bool every_length = false;                 // may say what one set of weights does at every length
  // The forms of these tasks for which it holds: every option that a task of the list has, with the values
  // under which the argument goes through, and the variants whose prompts it is about (a theorem about every
  // prompt of the task needs none). What is not named here makes the verdict open; apply() sees to that.
  // An easier form (fewer prompts, a friendlier order) keeps what is possible and loses what is impossible; a
  // harder one (more places to answer at) the other way round.
  std::vector<OptionValues> options = {};
  std::vector<Variant> variants = {};
  // Nothing where the theorem has nothing to say about this architecture at all. Not to be called but by
  // apply().
  std::optional<Verdict> (*evaluate)(const Theorem&, const Setting&, const Question&) = nullptr;
};

// Whether the theorem is about the question's task.
bool speaks_about(const Theorem& theorem, const Question& question);

// A verdict that carries the theorem's id, source and status.
Verdict verdict_of(const Theorem& theorem, const Question& question);

// Variants that draw every prompt of their task with positive probability: what no weights do on all prompts,
// none do on these.
inline const std::vector<Variant> kEveryPrompt{Variant::uniform, Variant::zipf};
// Every variant draws prompts of the task: weights that are right on all are right on these.
inline const std::vector<Variant> kEveryVariant{Variant::uniform, Variant::permutation, Variant::zipf,
                                                Variant::adversarial};

// What the theorem says of this architecture and this form of the task; open, with the option or variant as a
// failed hypothesis, where it does not name it.
std::optional<Verdict> apply(const Theorem& theorem, const Setting& setting, const Question& question);

std::span<const Theorem> theorems();
const Theorem& theorem(std::string_view id);  // REQUIRES a known id

// The strongest verdict: what decides (impossible or possible), proved before sketches and impossible first
// among equals; then vacuous; then open. Among equals the larger margin. ENSURES: a sketch never hides a
// proof, and never a proved impossible beside a proved possible (checked); every_length is there, open with
// its reason at least, where the task exists at every length and some theorem speaks about that.
Verdict decide(const Setting& setting, const Question& question);
// Puts them in that order; equals keep theirs.
void rank(std::vector<Verdict>& verdicts);
// All verdicts on the task, strongest first.
std::vector<Verdict> consider(const Setting& setting, const Question& question);

// For a person: "paper 2602.01763", "literature: Author 1999", "ours"; without a reference, "literature".
std::string source_text(Source source, std::string_view reference = {});

// What it takes for granted, joined by "; ".
std::string assumes_text(const Verdict& verdict);

nlohmann::ordered_json verdict_json(const Verdict& verdict);
// A JSON integer below 2^53, a float up to 2^1000, null beyond.
Parameter json_number(const Integer& value);

}  // namespace rung
