#include "rung/constructions/certification.h"

#include <algorithm>

namespace rung {
namespace {

constexpr double kCheckedWork = 3e9;         // multiply-adds that a checker is asked for
constexpr double kCheckedNumbers = 1e7;      // numbers of all prompts together
constexpr std::int64_t kLongestTree = 4096;  // positions of a prompt that is written choice by choice
constexpr std::uint64_t kMostWalked = 1000, kMostListed = 32;
constexpr double kListedNumbers = 4e6;  // numbers of the prompts that stand in the certificate itself

// Multiply-adds of one instance: every map at every position, and the scores of every pair.
Result<double> work_of_one(const Construction& construction) {
  const auto& weights = construction.weights;
  RUNG_TRY(const auto shapes, resolve(weights.architecture));
  const double T = static_cast<double>(construction.task->prompt_length() + weights.decode.steps);
  double entries = 0, pairs = 0;
  for (const auto& [name, tensor] : weights.tensors)
    if (name.starts_with("layers.") && tensor.shape.size() == 2)
      entries += static_cast<double>(tensor.size());
  for (const auto& shape : shapes)
    pairs += static_cast<double>(shape.mixer.heads * (shape.mixer.key_dim + shape.mixer.value_dim));
  const bool rerun = weights.decode.steps > 0;  // a plain checker begins anew for every token that is written
  return (T * entries + T * T * pairs) * (rerun ? static_cast<double>(weights.decode.steps) : 1);
}

double numbers_of_one(const Construction& construction) {
  double numbers = 0;
  for (const auto& field : construction.weights.fields) numbers += static_cast<double>(field.length);
  return numbers * static_cast<double>(construction.task->prompt_length());
}

// Instance i of the walk: at each position choice next() mod choices. Nothing where the task has no tree.
std::optional<Instance> walked(const Task& task, std::uint64_t seed, std::uint64_t i) {
  Random random(seed, i);
  Prompt prompt = task.empty_prompt();
  while (prompt.positions < task.prompt_length()) {
    const std::int64_t choices = task.choices(prompt);
    if (choices < 1) return std::nullopt;
    task.extend(prompt, static_cast<std::int64_t>(random.next() % static_cast<std::uint64_t>(choices)));
  }
  auto answer = task.answer(prompt);
  return Instance{std::move(prompt), std::move(answer)};
}

}  // namespace

Result<ConstructionClaim> certified_claim(const Construction& construction, std::uint64_t seed) {
  const Task& task = *construction.task;
  if (!task.built_in())
    return fail(
        ErrorCode::unsupported,
        "[build] {} is a task of your own file, which no construction certificate can name; rung verify "
        "writes one that carries the automaton",
        task.name());
  RUNG_TRY(const double work, work_of_one(construction));
  const double numbers = numbers_of_one(construction);
  const auto allowed =
      static_cast<std::uint64_t>(std::max(1.0, std::min(kCheckedWork / work, kCheckedNumbers / numbers)));
  const bool tree = task.prompt_length() <= kLongestTree && task.choices(task.empty_prompt()) > 0;
  ConstructionClaim claim;
  std::vector<Instance> instances;
  bool whole = tree && count_instances(task, allowed).has_value();
  if (whole) {  // the count is an estimate where choices depend on what was chosen
    enumerate(task, [&](const Instance& instance) {
      instances.push_back(instance);
      return whole = instances.size() <= allowed;
    });
    if (!whole) instances.clear();
  }
  if (whole) {
    claim.checked.emplace_back(ConstructionClaim::All{});
  } else {
    const std::uint64_t steps = std::min(kMostWalked, allowed);
    for (std::uint64_t i = 0; tree && i < steps; ++i) {
      auto instance = walked(task, seed, i);
      if (!instance) break;
      instances.push_back(std::move(*instance));
    }
    if (!instances.empty()) claim.checked.emplace_back(ConstructionClaim::Walk{seed, 0, instances.size()});
    const auto most = static_cast<std::uint64_t>(std::max(
        1.0, std::min(kListedNumbers / numbers, static_cast<double>(std::min(kMostListed, allowed)))));
    std::vector<Instance> listed;
    if (construction.worst) listed = construction.worst(static_cast<std::int64_t>(most));
    const Variant kind = task.supports(Variant::adversarial) ? Variant::adversarial : Variant::uniform;
    for (std::uint64_t i = 0; listed.size() < most; ++i) listed.push_back(task.generate(kind, seed, i));
    std::vector<Prompt> prompts;
    for (const auto& instance : listed) prompts.push_back(instance.prompt);
    claim.checked.emplace_back(std::move(prompts));
    instances.insert(instances.end(), listed.begin(), listed.end());
  }
  RUNG_TRY(const Verification found, verify_on(construction, instances));
  if (found.failure)
    return fail(ErrorCode::format, "[build] no certificate: {}; expected right answers on all {} instances",
                show_failure(task, *found.failure), instances.size());
  InstanceList list;
  for (const auto& instance : instances) list.add(instance.prompt, instance.answer);
  claim.instances = list.count();
  claim.digest = list.digest();
  return claim;
}

Certificate construction_certificate(const Construction& construction, ConstructionClaim claim,
                                     std::string model_sha256) {
  Certificate certificate{.model_sha256 = std::move(model_sha256),
                          .task = certified_task(*construction.task),
                          .claim = std::move(claim),
                          .notes = {}};
  certificate.notes["claim"] = construction.claim;
  certificate.notes["reference"] = construction.reference;
  return certificate;
}

}  // namespace rung
