// One question to `rung bound`, as data: flags, task, sizes, words. Every witness asks through here, and
// every disagreement is reported as the line that repeats it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "rung/released/architecture_choice.h"
#include "rung/theory/theorem.h"

namespace rung {

struct WitnessCase {
  ArchitectureChoice architecture;
  std::string task;
  TaskSizes sizes;
  std::map<std::string, std::string> options;
  std::optional<Variant> variant;
  std::optional<std::int64_t> sum_bits;  // of a partial softmax sum
  bool chain_of_thought = false, assume_exact = false;

  // "rung bound 'linear(heads=1)' --precision 4 --task eva --n 3"
  std::string line() const;
};

// What the theory answers: the setting and all verdicts, the printed one first.
struct Answered {
  Setting setting;
  Question question;
  std::vector<Verdict> verdicts;

  // The first verdict with this outcome (and, when asked, proved), or null.
  const Verdict* says(Outcome outcome, bool proved = false) const;
};

// The same steps as `rung bound`, but for a contradiction between two theorems, which is returned, not
// fatal. Errors: whatever `rung bound` refuses.
Result<Answered> ask(const WitnessCase& question);

// What a witness is given as the theory: ask(), or a theory that is wrong on purpose.
using Theory = std::function<Result<Answered>(const WitnessCase&)>;

// Two witnesses that contradict each other.
struct Disagreement {
  std::string line, what;
};

// How often two witnesses were compared, and where they disagreed.
struct Tally {
  std::int64_t compared = 0;
  std::vector<Disagreement> found;

  void add(const WitnessCase& question, std::string what) {
    found.push_back({question.line(), std::move(what)});
  }
  // The first few, one a line.
  std::string report() const;
};

// How much is compared: 1 in continuous integration, RUNG_WITNESS_SCALE times as much where that is set.
std::int64_t witness_scale();

}  // namespace rung
