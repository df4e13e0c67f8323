// A finite-state model that reads one letter: from a state, the state after it and the answer. The inner
// loop of `rung verify`.
//
// Two implementations. The lane kernel runs 16 (or 8) states in the lanes of vector registers, for the
// mixers that lane_plan.h knows; the parts kernel asks the exact machine, for every finite mixer. A test
// compares both.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "rung/adversary/lane_plan.h"
#include "rung/adversary/state_code.h"
#include "rung/adversary/target.h"

namespace rung {

// Rows of a prompt, as prompt_row() gives them: what every position may hold.
using LetterRows = std::vector<std::vector<std::int64_t>>;

class LetterKernel {
 public:
  virtual ~LetterKernel() = default;
  virtual std::string_view name() const = 0;

  // Places for the state's numbers, and last one for the state of the task, which kernels leave 0.
  const StateCode& code() const { return code_; }
  std::size_t task_place() const { return code_.places().size() - 1; }
  std::int64_t state_bits() const { return code_.bits() - code_.places().back().width; }
  std::int64_t letters() const { return letters_; }
  // The state before any token: code().words() words.
  virtual std::vector<std::uint64_t> empty() const = 0;

  // For node i and letter l: words of the state after it to after + (i * letters + l) * words, and the
  // answer to answers[i * letters + l]. The task's place of `nodes` is not looked at. Callable from
  // several threads.
  virtual void read(const std::uint64_t* nodes, std::int64_t count, std::uint64_t* after,
                    std::int64_t* answers) const = 0;

  // The state's numbers, mixer after mixer (parts of heads(...) in order), each as its mixer stores them.
  virtual std::vector<std::vector<std::int64_t>> numbers(const std::uint64_t* node) const = 0;

 protected:
  LetterKernel(std::vector<int> widths, int task_bits, std::int64_t letters) : letters_(letters) {
    widths.push_back(task_bits);
    code_ = StateCode(widths);
  }
  StateCode code_;
  std::int64_t letters_;
};

// REQUIRES !why_not_finite(target.weights, target.layers), rows within the model's fields, task_bits in
// 1..32.
std::unique_ptr<LetterKernel> make_parts_kernel(const Target& target, const LetterRows& rows, int task_bits);
// Errors (as a reason): what the lanes do not know. `wide`: int64 lanes where int32 would do (tests).
Result<std::unique_ptr<LetterKernel>> make_letter_lanes(const Target& target, const LetterRows& rows,
                                                        int task_bits, bool wide = false);
// The lanes where they apply, else the parts.
std::unique_ptr<LetterKernel> make_letter_kernel(const Target& target, const LetterRows& rows, int task_bits);

}  // namespace rung
