// The two things a theorem is evaluated on: an architecture with all its numbers, and a question about one
// task.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rung/base/result.h"
#include "rung/spec/accounting.h"
#include "rung/spec/architecture.h"
#include "rung/tasks/automaton.h"
#include "rung/tasks/monoid.h"
#include "rung/tasks/task.h"
#include "rung/theory/seqcomp_proof.h"
#include "rung/theory/word.h"

namespace rung {

inline constexpr std::int64_t kMaxContext = std::int64_t{1} << 31;
inline constexpr std::int64_t kDefaultContext = 4096;
inline constexpr std::int64_t kMaxSumBits = 4096;

struct SettingOptions {
  std::optional<std::int64_t> context;   // tokens; default: the architecture's own, or kDefaultContext
  std::optional<std::int64_t> sum_bits;  // of a partial softmax sum; default: as make_word() says
  bool chain_of_thought = false;
  bool assume_exact = false;  // read a float model as exact integers of its p bits (mode X)
  // The position code repeats after so many tokens, at every length; the architecture's own is none.
  std::optional<std::int64_t> position_period;
  StorageBits storage;
  std::vector<std::string> assumes;  // what is taken for granted about the model, of every verdict on it
  // How state is counted; by default account(). Released models bring their own dtypes.
  std::function<Account(const StorageBits&)> count = {};
};

struct Setting {
  Architecture architecture;
  std::vector<LayerShape> layers;
  Word word;
  std::int64_t context = kDefaultContext;
  std::optional<std::int64_t> sum_bits;
  std::int64_t entry_bits = 0;  // of a state entry (exact sums of linear attention have widths of their own)
  StorageBits storage;          // what else is stored in a width of its own
  bool chain_of_thought = false;
  bool assume_exact = false;
  std::optional<std::int64_t> position_period;
  // Of a file, its own tables and accumulator (model_setting); taken for granted of an architecture.
  bool forward_decays = true;  // no decay of a state space is negative
  bool saturating = true;      // states stop at their ends and do not wrap
  std::vector<std::string> assumes;

  int p() const { return architecture.dimensions.precision.bits; }
  bool causal() const { return architecture.dimensions.causal; }
  bool floating() const { return architecture.dimensions.precision.format != NumberFormat::fixed; }
  // No verdict rests on a number format that nobody stated: neither on exact sums nor on a construction.
  bool unknown_format() const { return architecture.dimensions.precision.format == NumberFormat::unknown; }
  // Theorems that split a softmax into partial sums hold for exact integers: fixed point, or on request.
  bool exact_sums() const { return !floating() || assume_exact; }
  std::string mode_x() const;  // "mode X at 16 bits"; without exact sums, why
  // What a count takes for granted: "partial sums of 28 bits", "state entries of 16 bits", how exact sums grow;
  // those of them that the stack has. REQUIRES nothing.
  std::vector<std::string> widths() const;
};

// ENSURES: resolve's errors, a context outside 2..kMaxContext and sums outside 1..kMaxSumBits are refused.
Result<Setting> make_setting(const Architecture& architecture, const SettingOptions& options);

// The automaton of an automaton task.
struct FollowedAutomaton {
  Automaton least;
  std::optional<Algebra> algebra;
  std::string refused;  // why there is none: its monoid is too large
  bool file = false;    // a user's; theorems about automata speak about it, whatever it is called
  std::string path;     // of that file; empty: not known
};

FollowedAutomaton followed_automaton(const Automaton& automaton);

// What is asked: a task, with its sizes given, or all sizes whose prompt fits into the context. Asked with a
// variant, a model has to be right on the prompts that this variant draws, and not on others.
struct Question {
  std::string task;
  std::map<std::string, std::string> options;  // every option of the task, those left out by their default
  std::optional<Variant> variant;              // absent: every prompt of the task
  bool fixed = false;                          // sizes given: the verdict is about exactly these
  TaskSizes sizes;                             // complete; with !fixed the largest that fit
  std::int64_t prompt = 0;                     // tokens, of those sizes
  SeqcompSizes seqcomp;                        // task == "seqcomp", fixed
  int L = 0;                                   // task == "seqcomp"
  std::shared_ptr<const FollowedAutomaton> followed;  // an automaton task; null elsewhere

  std::int64_t size(const std::string& name) const;  // REQUIRES the task to have it
};

// Which form of the task: its options by name, and the variant.
struct QuestionForm {
  std::map<std::string, std::string> options;
  std::optional<Variant> variant;
};

// ENSURES: unknown tasks, sizes and options, variants that the task does not have, and prompts longer than the context, are refused; `given` may hold sizes
// and options of other tasks when `lenient` (for --task all). `task` may be the path of an automaton file.
Result<Question> make_question(std::string_view task, const TaskSizes& given, std::int64_t context,
                               bool lenient, const QuestionForm& form = {});

}  // namespace rung
