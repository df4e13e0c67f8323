#include "rung/learn/instance_task.h"

#include "rung/tasks/automaton.h"
#include "rung/tasks/tracked_group.h"

namespace rung::learn {
namespace {

kernels::InstanceTask automaton_instances(const Task& task) {
  const Automaton& automaton = *task.automaton();
  kernels::InstanceTask out{.kind = kernels::InstanceKind::automaton, .n = task.size().at("n")};
  out.automaton = {.letters = automaton.letter_count(),
                   .states = automaton.state_count(),
                   .start = automaton.start,
                   .next = automaton.next.data(),
                   .out = automaton.out.data(),
                   .everywhere = task.options().contains("read")};
  return out;
}

kernels::InstanceTask marked_instances(const Task& task) {
  const SizeList sizes = task.size();
  const TaskOptions options = task.options();
  const auto named = options.find("group");
  const TrackedGroup group = named == options.end() ? TrackedGroup::symmetric : tracked_group(named->second);
  kernels::InstanceTask out{
      .kind = kernels::InstanceKind::tracked_recall, .n = sizes.at("n"), .sigma = sizes.at("sigma")};
  out.mark = {.moves = group == TrackedGroup::symmetric ? kernels::MarkLetters::exchanges
                       : group == TrackedGroup::cyclic  ? kernels::MarkLetters::rotation
                                                        : kernels::MarkLetters::bits,
              .letters = tracked_letters(group, out.n),
              .word = sizes.at("w")};
  return out;
}

}  // namespace

std::optional<kernels::InstanceTask> instance_task(const Task& task) {
  const SizeList sizes = task.size();
  const std::string_view name = task.name();
  kernels::InstanceTask out;
  if (task.automaton()) {
    out = automaton_instances(task);
  } else if (task.built_in() && name == "tracked-recall") {
    out = marked_instances(task);
  } else if (!task.built_in() || !task.options().empty()) {
    return std::nullopt;
  } else if (name == "eva" || name == "index") {
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
  } else if (name == "copy" || name == "selective-copy") {
    out.kind = kernels::InstanceKind::copy;
    out.n = sizes.at("n"), out.sigma = sizes.at("sigma"), out.selective = name == "selective-copy";
    out.places = out.selective ? sizes.at("m") : out.n;
  } else {
    return std::nullopt;
  }
  if (!kernels::instances_fit(out) || kernels::instance_length(out) != task.prompt_length())
    return std::nullopt;
  return out;
}

}  // namespace rung::learn
