// Questions for a language model that somebody has, and what its answers say.
//
//   prompts.jsonl   a line a question: {"id", "prompt", "target", "task", "size", "options", "variant"}
//   answers.jsonl   a line an answer:  {"id", "answer"}; other fields are not read
//
// An accuracy is about one model on these prompts. What theory says of the architecture is about the task in its own
// tokens, the worst prompt and the best weights: the two stand side by side and neither is derived from the other.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rung/base/result.h"
#include "rung/evaluation/interval.h"
#include "rung/tasks/task.h"
#include "rung/theory/outcome.h"
#include "rung/theory/setting.h"

namespace rung {

extern const std::string_view kProbeScript;  // probe_script.py: asks a model of transformers

struct ProbeOptions {
  Variant variant = Variant::uniform;
  std::uint64_t seed = 1, count = 50;
  std::uint64_t shots = 0;  // solved instances in front of each question
};
// `count` lines, with ids from first_id on. Plain language where the task has it, else its tokens as text.
// ENSURES: refused are variants that the task does not have, and tasks with several numbers to answer.
Result<std::string> probe_prompts(const Task& task, const ProbeOptions& options, std::uint64_t first_id);

// The questions of one task, size and variant.
struct ProbeGroup {
  std::string task;
  TaskSizes sizes;
  std::map<std::string, std::string> options;
  Variant variant = Variant::uniform;
  std::uint64_t right = 0, answered = 0, missing = 0;

  double accuracy() const {
    return static_cast<double>(right) / static_cast<double>(answered);
  }  // REQUIRES answered
  ShareInterval interval() const { return wilson_interval(right, answered); }
};
// An answer is right when it begins with the words of the target, case and punctuation aside.
// ENSURES: groups in the order of the prompts; one-line errors for lines that are no such object, for an id that
// stands twice, and for an answer to a question that was not asked.
Result<std::vector<ProbeGroup>> judge_answers(std::string_view prompts, std::string_view answers);

// The bits about its table that a model of this accuracy must have had at the question (rung/theory/ceiling.h,
// inverted). Nothing for other tasks than Eva, Index and Retrieval, and for other variants than uniform.
// REQUIRES 0 <= accuracy <= 1.
std::optional<double> table_bits(const Task& task, Variant variant, double accuracy);

}  // namespace rung
