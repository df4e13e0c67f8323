#include "rung/tasks/seqcomp_layout.h"

#include "rung/tasks/task.h"

namespace rung {

Result<SeqCompLayout> SeqCompLayout::make(std::int64_t m, std::vector<std::int64_t> branching, Order order) {
  SeqCompLayout layout;
  const auto levels = static_cast<std::int64_t>(branching.size()) + 1;
  RUNG_REQUIRE(m >= 1 && levels <= kMaxSeqCompLevels, "m={} L={}", m, levels);
  layout.order_ = order;
  layout.branching_ = std::move(branching);
  std::int64_t tokens = levels + 1, domain = m;
  for (std::int64_t l = 0; l < levels; ++l) {
    if (l > 0) {
      RUNG_REQUIRE(layout.branching(l) >= 1, "n_{}={}", l, layout.branching(l));
      if (__builtin_mul_overflow(domain, layout.branching(l), &domain)) domain = kMaxPromptLength;
    }
    if (domain > kMaxPromptLength - tokens)
      return fail(
          ErrorCode::range,
          "[task] sizes of seqcomp that make a prompt of more than {} tokens at z_{}; expected smaller ones",
          kMaxPromptLength, l + 1);
    tokens += domain;
    layout.domains_.push_back(domain);
  }
  layout.length_ = tokens;
  layout.tables_.resize(static_cast<std::size_t>(levels));
  std::int64_t at = 0;
  if (order == Order::hard) {
    for (std::int64_t l = levels; l >= 1; at += layout.domain(l - 1), --l)
      layout.tables_[static_cast<std::size_t>(l - 1)] = at;
    layout.start_ = at;
    layout.branch_ = at + 1;
  } else {
    layout.branch_ = 0;
    layout.start_ = levels - 1;
    at = levels;
    for (std::int64_t l = 1; l <= levels; at += layout.domain(l - 1), ++l)
      layout.tables_[static_cast<std::size_t>(l - 1)] = at;
  }
  return layout;
}

}  // namespace rung
