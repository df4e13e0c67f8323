#include "rung/learn/instance_task.h"

#include <algorithm>

#include "rung/tasks/automaton.h"
#include "rung/tasks/gap_law.h"
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

kernels::InstanceTask composed_instances(const Task& task) {
  const SizeList sizes = task.size();
  kernels::InstanceTask out{
      .kind = task.options().empty() ? kernels::InstanceKind::seqcomp : kernels::InstanceKind::seqcomp_easy,
      .levels = sizes.at("L")};
  std::int64_t domain = sizes.at("m");
  for (std::int64_t l = 0; l < std::min<std::int64_t>(out.levels, kernels::kMaxInstanceLevels); ++l) {
    out.domain[l] = domain;
    const std::string factor = "n" + std::to_string(l + 1);
    if (l + 1 < out.levels) domain *= sizes.at(factor);
  }
  return out;
}

// Nothing where the kernels have no such variant.
std::optional<kernels::InstanceVariant> instance_variant(Variant variant) {
  switch (variant) {
    case Variant::uniform:
      return kernels::InstanceVariant::uniform;
    case Variant::permutation:
      return kernels::InstanceVariant::permutation;
    case Variant::zipf:
      return kernels::InstanceVariant::zipf;
    case Variant::adversarial:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

std::optional<kernels::InstanceTask> instance_task(const Task& task, Variant variant) {
  const auto drawn_as = instance_variant(variant);
  if (!drawn_as) return std::nullopt;
  const SizeList sizes = task.size();
  const std::string_view name = task.name();
  kernels::InstanceTask out;
  if (task.automaton()) {
    out = automaton_instances(task);
  } else if (task.built_in() && name == "tracked-recall") {
    out = marked_instances(task);
  } else if (!task.built_in()) {
    return std::nullopt;
  } else if (name == "seqcomp") {
    out = composed_instances(task);
  } else if (name == "khop") {
    out.kind = kernels::InstanceKind::khop;
    out.n = sizes.at("n"), out.hops = sizes.at("k"), out.sigma = sizes.at("sigma");
    out.everywhere = task.options().contains("read");
    out.different = task.options().contains("neighbours");
  } else if (const GapLaw* law = task.gap_law()) {
    out.kind = kernels::InstanceKind::gapped_mqar;
    out.n = sizes.at("n"), out.keys = sizes.at("M"), out.queries = sizes.at("queries"),
    out.sigma = sizes.at("sigma"), out.gap_weights = law->weights().data();
  } else if (!task.options().empty()) {
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
  } else if (name == "copy" || name == "selective-copy") {
    out.kind = kernels::InstanceKind::copy;
    out.n = sizes.at("n"), out.sigma = sizes.at("sigma"), out.selective = name == "selective-copy";
    out.places = out.selective ? sizes.at("m") : out.n;
  } else {
    return std::nullopt;
  }
  out.variant = *drawn_as;
  if (!kernels::instances_fit(out) || kernels::instance_length(out) != task.prompt_length())
    return std::nullopt;
  return out;
}

}  // namespace rung::learn
