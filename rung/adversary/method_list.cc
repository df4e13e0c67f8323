// The explicit list of attacks, and the choice among them.
#include <algorithm>
#include <array>
#include <chrono>

#include "rung/adversary/method_list.h"
#include "rung/adversary/shared_search.h"
#include "rung/base/nearest_word.h"

namespace rung {

std::span<const AttackMethod> attack_methods() {
  static const std::array kMethods = {
      big_bucket_method(),
      sparse_blocks_method(),
      class_refinement_method(),
      reachable_states_method(),
      distinguished_points_method(),
      hierarchical_method(),
      generalised_birthday_method(),
      lattice_method(),
      state_collision_method(),
      partial_sums_method(),
      flip_method(),
      additive_sums_method(),
      wrong_answer_method(),
      orbits_method(),
  };
  return kMethods;
}

Result<const AttackMethod*> find_attack_method(std::string_view name) {
  std::vector<std::string_view> names{"auto"};
  for (const auto& method : attack_methods()) {
    if (method.name == name) return &method;
    names.push_back(method.name);
  }
  return fail(ErrorCode::parse, "[break] unknown method {}; {}", quoted(name), suggest(name, names));
}

std::vector<std::string> checkpoint_paths(const std::string& checkpoint) {
  std::vector<std::string> paths{checkpoint};
  for (const auto& method : attack_methods()) paths.push_back(fmt::format("{}.{}", checkpoint, method.name));
  return paths;
}

Result<AttackOutcome> attack(const Target& target, std::string_view name, const SearchOptions& options) {
  if (name != "auto") {
    RUNG_TRY(const AttackMethod* method, find_attack_method(name));
    if (!target.exact() && method->name != "wrong-answer")
      return fail(ErrorCode::unsupported,
                  "[break] {} needs integer weights: `rung quantise` makes them; a float model is only "
                  "searched for wrong answers",
                  name);
    if (options.device == SearchDevice::cuda && !method->on_device)
      return fail(ErrorCode::unsupported, "[break] {} does not run on cuda; on a processor it does", name);
    const Fitness fitness = method->fitness(target);
    if (!fitness.applies)
      return fail(ErrorCode::unsupported, "[break] {} does not apply: {}", name, fitness.reason);
    SharedSearches searches(options);
    RUNG_TRY(auto outcome, searches.run(target, *method, options));
    outcome.reason = fmt::format("{}: {}; {}", method->name, fitness.reason, outcome.reason);
    return outcome;
  }
  struct Candidate {
    const AttackMethod* method;
    Fitness fitness;
  };
  std::vector<Candidate> candidates;
  for (const auto& method : attack_methods()) {
    if (method.named_only || (!target.exact() && method.name != "wrong-answer")) continue;
    if (Fitness fitness = method.fitness(target); fitness.applies)
      candidates.push_back({&method, std::move(fitness)});
  }
  if (options.device == SearchDevice::cuda &&
      std::none_of(candidates.begin(), candidates.end(), [](const auto& c) { return c.method->on_device; }))
    return fail(ErrorCode::unsupported,
                "[break] no method that applies runs on cuda; on a processor they do");
  std::stable_sort(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) {
    return a.fitness.lg_evaluations < b.fitness.lg_evaluations;
  });

  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  AttackOutcome total{.method = "auto", .reason = "", .nominal_bits = target.nominal_bits};
  bool no_collision = false;
  SharedSearches searches(options);
  for (const auto& candidate : candidates) {
    if (no_collision && candidate.method->seeks_collision) continue;
    SearchOptions rest = options;
    rest.seconds = options.seconds - elapsed();
    if (&candidate != &candidates.back()) rest.seconds /= 2;
    if (!options.checkpoint.empty())
      rest.checkpoint = fmt::format("{}.{}", options.checkpoint, candidate.method->name);
    if (rest.seconds <= 0 || (options.stop && options.stop())) break;
    RUNG_TRY(auto outcome, searches.run(target, *candidate.method, rest));
    const std::string line =
        fmt::format("{}: {}; {}", candidate.method->name, candidate.fitness.reason, outcome.reason);
    total.reason += (total.reason.empty() ? "" : ". ") + line;
    total.evaluations += outcome.evaluations;
    total.memory_bytes = std::max(total.memory_bytes, outcome.memory_bytes);
    total.details.merge(outcome.details);
    total.method = outcome.method;
    no_collision = no_collision || outcome.no_collision;
    if (outcome.effective_bits) total.effective_bits = outcome.effective_bits;
    if (outcome.verdict != Evidence::unverified) {
      total.verdict = outcome.verdict;
      total.certificate = std::move(outcome.certificate);
      break;
    }
  }
  total.seconds = elapsed();
  return total;
}

}  // namespace rung
