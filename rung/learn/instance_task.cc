#include "rung/learn/instance_task.h"

namespace rung::learn {

std::optional<kernels::InstanceTask> instance_task(const Task& task) {
  if (!task.built_in() || !task.options().empty()) return std::nullopt;
  const SizeList sizes = task.size();
  const std::string_view name = task.name();
  kernels::InstanceTask out;
  if (name == "eva" || name == "index") {
    out.kind = kernels::InstanceKind::evaluation;
    out.n = sizes.at("n");
    out.sigma = task.answer_spec().size;
  } else if (name == "two-sum") {
    out.kind = kernels::InstanceKind::two_sum;
    out.n = sizes.at("n"), out.modulus = sizes.at("M");
  } else if (name == "mqar") {
    out.kind = kernels::InstanceKind::mqar;
    out.n = sizes.at("n"), out.keys = sizes.at("M"), out.queries = sizes.at("queries"),
    out.sigma = task.answer_spec().size;
  } else if (name == "seqcomp") {
    out.kind = kernels::InstanceKind::seqcomp;
    out.levels = sizes.at("L");
    if (out.levels > kernels::kMaxInstanceLevels) return std::nullopt;
    std::int64_t domain = sizes.at("m");
    for (std::int64_t l = 0; l < out.levels; ++l) {
      out.domain[l] = domain;
      const std::string factor = "n" + std::to_string(l + 1);
      if (l + 1 < out.levels) domain *= sizes.at(factor);
    }
  } else {
    return std::nullopt;
  }
  if (!kernels::instances_fit(out) || kernels::instance_length(out) != task.prompt_length())
    return std::nullopt;
  return out;
}

}  // namespace rung::learn
