#include "rung/learn/kernels/task_instances.h"

#include <limits>
#include <vector>

#include "rung/base/require.h"

namespace rung::kernels {

bool instances_fit(const InstanceTask& task) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  const auto fits = [](std::int64_t size) { return size >= 1 && size <= most; };
  if (task.questions < 0 || (task.questions > 0 && !asks_again(task.kind))) return false;
  if (task.parts && task.kind != InstanceKind::seqcomp) return false;
  if (task.thoughts && (task.questions > 0 || task.parts ||
                        (task.kind != InstanceKind::evaluation && task.kind != InstanceKind::seqcomp)))
    return false;
  if (task.variant != InstanceVariant::uniform && task.kind != InstanceKind::evaluation) return false;
  switch (task.kind) {
    case InstanceKind::evaluation:
      return fits(task.n) && fits(task.sigma) &&
             (task.variant != InstanceVariant::permutation || task.sigma >= task.n);
    case InstanceKind::gapped_mqar:
      return fits(task.n) && fits(task.sigma) && fits(task.keys) && fits(task.queries) &&
             task.sigma >= task.n && task.keys >= task.n && task.queries >= task.n &&
             task.sigma < most - task.keys && task.gap_weights;
    case InstanceKind::khop:
      return fits(task.n) && fits(task.hops) && task.sigma >= (task.different ? 2 : 1) && task.sigma < most;
    case InstanceKind::mqar:
      return fits(task.n) && fits(task.sigma) && fits(task.keys) && fits(task.queries) &&
             task.sigma <= most - task.keys;
    case InstanceKind::two_sum:
      return fits(task.n) && fits(task.modulus);
    case InstanceKind::seqcomp:
    case InstanceKind::seqcomp_easy:
      if (task.levels < 1 || task.levels > kMaxInstanceLevels || !fits(task.domain[0])) return false;
      for (std::int64_t l = 1; l < task.levels; ++l)
        if (!fits(task.domain[l]) || task.domain[l] % task.domain[l - 1] != 0) return false;
      return true;
    case InstanceKind::automaton:
      return fits(task.n) && fits(task.automaton.letters) && fits(task.automaton.states) &&
             task.automaton.start >= 0 && task.automaton.start < task.automaton.states &&
             task.automaton.next && task.automaton.out;
    case InstanceKind::copy:
      return fits(task.n) && fits(task.places) && task.sigma >= 1 && task.sigma < most - 1 &&
             (task.selective ? task.places >= task.n : task.places == task.n);
    case InstanceKind::tracked_recall:
      return fits(task.n) && fits(task.mark.letters) && fits(task.mark.word) && task.sigma >= 1 &&
             task.sigma < most;
  }
  return false;
}

void task_instances(const InstanceTask& task, const InstanceBatch& batch) {
  RUNG_REQUIRE(instances_fit(task), "kind={} n={}", static_cast<int>(task.kind), task.n);
  const std::int64_t tokens = instance_tokens(task), answers = instance_answers(task);
  std::vector<std::int32_t> scratch(static_cast<std::size_t>(instance_scratch(task)));
  for (std::int64_t row = 0; row < batch.members * batch.batch; ++row)
    draw_instance(task, row_support(task, batch, row), batch.seed[row / batch.batch],
                  static_cast<std::uint64_t>(*batch.step * batch.batch + row % batch.batch),
                  batch.tokens + row * tokens, batch.answers + row * answers, scratch.data(),
                  between_values(task, batch, row), row_places(task, batch, row));
}

}  // namespace rung::kernels
