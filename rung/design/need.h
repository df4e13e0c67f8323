// What a layout has to do: a task with its sizes and options, as one word of a command line.
#pragma once

#include <string>
#include <string_view>

#include "rung/theory/setting.h"

namespace rung {

struct Need {
  std::string text;  // "seqcomp:L=4"
  std::string task;
  TaskSizes sizes;
  QuestionForm form;

  // ENSURES: the question at this context; one-line errors for sizes that do not fit it.
  Result<Question> question(std::int64_t context) const;
};

// "parity", "seqcomp:L=4", "mqar:n=4k,sigma=16", "seqcomp:L=2,order=easy".
Result<Need> parse_need(std::string_view text);

}  // namespace rung
