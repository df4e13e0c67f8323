// Prompts that agree on what is asked and differ in what is asked about: the raw material of searches that
// compare answer activations. For L-SeqComp the functions z_1 .. z_{L-1}, z_0 and w are fixed and the last
// entries of z_L vary, the entry that the answer reads among them; for other tasks everything before the last
// query varies, where the task allows it.
#pragma once

#include <optional>

#include "rung/tasks/seqcomp_layout.h"
#include "rung/tasks/task.h"

namespace rung {

// The layout of a seqcomp task; nothing for other tasks.
std::optional<SeqCompLayout> seqcomp_layout(const Task& task);

class PromptFamily {
 public:
  // Determinism: (task, seed). The task outlives the family.
  PromptFamily(const Task& task, std::uint64_t seed);

  // Member number `index`; a valid instance. Members repeat where there are few.
  Prompt member(std::uint64_t index) const;
  // All members agree at every position before this one.
  std::int64_t first_varying() const { return first_varying_; }

 private:
  Prompt seqcomp_member(Random& random) const;
  bool answers_differ() const;

  const Task& task_;
  std::uint64_t seed_;
  std::optional<SeqCompLayout> layout_;
  Prompt base_;
  std::int64_t first_varying_ = 0, end_varying_ = 0;
};

}  // namespace rung
