#include "cli/learn/length_tests.h"

#include <algorithm>

#include "rung/base/size_text.h"
#include "rung/spec/weights.h"
#include "rung/tasks/task_list.h"

namespace rung::cli {
namespace {

constexpr std::uint64_t kWords = 200, kFewestWords = 8, kLetters = 1 << 20;  // of one length

}  // namespace

Result<std::vector<std::int64_t>> lengths_of(const std::string& text, const TrainingPlan& plan) {
  if (plan.tasks.size() != 1)
    return fail(ErrorCode::unsupported, "[train] --lengths needs exactly one task; the plan has {}",
                plan.tasks.size());
  const TaskRecord& record = plan.tasks.front().task;
  RUNG_TRY(const auto task, make_task(record.name, record.sizes, record.options));
  if (!task->automaton())
    return fail(ErrorCode::unsupported, "[train] --lengths needs an automaton task; {} is not one",
                record.name);
  if (plan.dimensions.position != PositionCode::none)
    return fail(ErrorCode::unsupported,
                "[train] --lengths needs a model without positions; this one has position {}",
                position_name(plan.dimensions.position));
  std::vector<std::int64_t> lengths;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    RUNG_TRY(const std::int64_t n, parse_size(text.substr(at, end - at)));
    TaskSizes sizes = record.sizes;
    sizes["n"] = n;
    RUNG_CHECK(make_task(record.name, sizes, record.options));
    lengths.push_back(n);
    at = end + 1;
  }
  return lengths;
}

Result<std::vector<LengthTest>> test_lengths(const std::string& file, const TrainingPlan& plan,
                                             const std::vector<std::int64_t>& lengths) {
  RUNG_TRY(const Weights weights, read_weights(file));
  const TaskRecord& record = plan.tasks.front().task;
  std::vector<LengthTest> out;
  for (const std::int64_t n : lengths) {
    TaskSizes sizes = record.sizes;
    sizes["n"] = n;
    RUNG_TRY(const auto task, make_task(record.name, sizes, record.options));
    RUNG_CHECK(check_fit(weights, *task));
    RUNG_TRY(const auto machine, Machine::load(weights, {.positions = positions_needed(weights, *task)}));
    const std::uint64_t count = std::clamp(kLetters / static_cast<std::uint64_t>(n), kFewestWords, kWords);
    RUNG_TRY(Evaluation found, evaluate(*machine, weights, *task, {.variant = plan.variant, .count = count}));
    out.push_back({n, std::move(found)});
  }
  return out;
}

}  // namespace rung::cli
