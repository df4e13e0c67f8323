#include <algorithm>

#include "rung/evaluation/probe.h"
#include "tests/fuzz/targets.h"

namespace rung::fuzz {

void probe_answers(std::string_view bytes) {
  const std::size_t end = std::min(bytes.find('\0'), bytes.size());
  const auto groups = judge_answers(bytes.substr(0, end), bytes.substr(std::min(end + 1, bytes.size())));
  one_line(groups);
  if (!groups) return;
  for (const ProbeGroup& group : *groups)
    promise(group.right <= group.answered, "no more right than answered");
}

}  // namespace rung::fuzz
