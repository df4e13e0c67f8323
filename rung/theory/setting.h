// The two things a theorem is evaluated on: an architecture with all its numbers, and a question about one
// task.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "rung/spec/accounting.h"
#include "rung/spec/architecture.h"
#include "rung/spec/result.h"
#include "rung/tasks/task.h"
#include "rung/theory/seqcomp_proof.h"
#include "rung/theory/word.h"

namespace rung {

inline constexpr std::int64_t kMaxContext = std::int64_t{1} << 31;
inline constexpr std::int64_t kDefaultContext = 4096;

struct SettingOptions {
  std::optional<std::int64_t> context;      // tokens; default: the architecture's own, or kDefaultContext
  std::optional<std::int64_t> accumulator;  // --acc-bits; default 2p + 20
  bool chain_of_thought = false;
  bool assume_exact = false;  // read a float model as exact integers of its p bits (mode X)
  StorageBits storage;
  // How state is counted; by default account(). Released models bring their own dtypes.
  std::function<Account(const StorageBits&)> count = {};
};

struct Setting {
  Architecture architecture;
  std::vector<LayerShape> layers;
  Word word;
  std::int64_t context = kDefaultContext;
  std::int64_t accumulator = 0;
  bool chain_of_thought = false;
  bool assume_exact = false;

  int p() const { return architecture.dimensions.precision.bits; }
  bool causal() const { return architecture.dimensions.causal; }
  bool floating() const { return architecture.dimensions.precision.format != NumberFormat::fixed; }
  // Theorems that split a softmax into partial sums hold for exact integers: fixed point, or on request.
  bool exact_sums() const { return !floating() || assume_exact; }
  std::string mode_x() const;  // "mode X at 16 bits"
};

// ENSURES: resolve's errors, a context outside 2..kMaxContext and an accumulator outside 1..4096 are refused.
Result<Setting> make_setting(const Architecture& architecture, const SettingOptions& options);

// What is asked: a task, with its sizes given, or all sizes whose prompt fits into the context.
struct Question {
  std::string task;
  bool fixed = false;       // sizes given: the verdict is about exactly these
  TaskSizes sizes;          // complete; with !fixed the largest that fit
  std::int64_t prompt = 0;  // tokens, of those sizes
  SeqcompSizes seqcomp;     // task == "seqcomp", fixed
  int L = 0;                // task == "seqcomp"

  std::int64_t size(const std::string& name) const;  // REQUIRES the task to have it
};

// ENSURES: unknown tasks and sizes, and prompts longer than the context, are refused; `given` may hold sizes
// of other tasks when `lenient` (for --task all).
Result<Question> make_question(std::string_view task, const TaskSizes& given, std::int64_t context,
                               bool lenient);

}  // namespace rung
