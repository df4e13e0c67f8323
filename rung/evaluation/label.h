// What the theory says beforehand about a model on a task at a size: the label beside a measured accuracy.
//
//   C  certified impossible: a proved theorem leaves no weights of this architecture and precision that
//      answer every instance
//   K  constructible: a proved construction fits
//   G  gap: neither; an accuracy here decides nothing
//
// Widths are those of the file: entries of states (exact sums are wider than p), numerators of softmax sums,
// and the widest of the numbers that are stored or handed over. A model that is evaluated in floats is read
// as fp32, 32 bits a stored number, where theorems about exact sums of a softmax do not apply.
#pragma once

#include <optional>
#include <string>

#include "rung/exact/machine.h"
#include "rung/tasks/task.h"
#include "rung/theory/outcome.h"
#include "rung/theory/setting.h"
#include "rung/theory/theorem.h"

namespace rung {

// The model's architecture at the file's true widths, for prompts of so many positions: what theory is asked
// about. REQUIRES the machine loaded from `weights`.
Result<Setting> model_setting(const Weights& weights, const Machine& machine, std::int64_t positions);

// The same from an architecture alone, with what was decided about it on this task and variant.
Label label_of(const Setting& setting, const Task& task, Variant variant, const Verdict& verdict);

// Values of the table that the task writes down, each drawn by itself, and then asks one entry of: Eva, Index, and
// Retrieval, whose keys are all different. Ceilings are about these.
std::optional<std::int64_t> table_alphabet(const Task& task);

// REQUIRES check_fit passed and the machine loaded from `weights`.
Label label_of(const Weights& weights, const Machine& machine, const Task& task, Variant variant);

}  // namespace rung
