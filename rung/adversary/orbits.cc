// Invariant: after t letters every orbit that is left has read the first t letters of its root's powers, all of
// them answered rightly, and its node was not met before at the end of a root (Brent: the node of the last power
// of two is kept).
#include "rung/adversary/orbits.h"

#include <algorithm>

#include "rung/adversary/method_list.h"
#include "rung/adversary/product_proof.h"
#include "rung/adversary/search_clock.h"

namespace rung {
namespace {

constexpr std::size_t kLongestRoot = 3;

struct Orbit {
  std::vector<std::int64_t> root;
  std::vector<std::uint64_t> node, kept;
  std::int64_t copies = 0, until = 1;  // since `kept`, and after how many the next is kept
};

// Words of one letter, then of two and three that are no powers themselves.
std::vector<std::vector<std::int64_t>> short_roots(std::int64_t letters) {
  std::vector<std::vector<std::int64_t>> roots, level{{}};
  for (std::size_t length = 1; length <= kLongestRoot; ++length) {
    std::vector<std::vector<std::int64_t>> longer;
    for (const auto& word : level)
      for (std::int64_t l = 0; l < letters; ++l) {
        if (roots.size() >= kMostRoots) return roots;
        longer.push_back(word);
        longer.back().push_back(l);
        if (length == 1 || std::any_of(word.begin(), word.end(), [&](std::int64_t k) { return k != l; }))
          roots.push_back(longer.back());
      }
    level = std::move(longer);
  }
  return roots;
}

}  // namespace

std::optional<WrongPower> wrong_power(const Target& target, const ProductTask& task) {
  const ProductGraph graph = product_graph(target, task);
  const LetterKernel& kernel = *graph.kernel;
  const std::size_t words = kernel.code().words();
  const std::int64_t letters = kernel.letters();
  std::vector<Orbit> orbits;
  for (auto& root : short_roots(letters)) orbits.push_back({std::move(root), graph.start, graph.start});
  std::vector<std::uint64_t> nodes, after;
  std::vector<std::int64_t> answers;
  std::int64_t edges = 0;
  for (std::size_t t = 0; !orbits.empty() && edges < kMostOrbitEdges; ++t) {
    nodes.clear();
    for (const Orbit& orbit : orbits) nodes.insert(nodes.end(), orbit.node.begin(), orbit.node.end());
    const auto count = static_cast<std::int64_t>(orbits.size());
    after.resize(orbits.size() * static_cast<std::size_t>(letters) * words);
    answers.resize(orbits.size() * static_cast<std::size_t>(letters));
    kernel.read(nodes.data(), count, after.data(), answers.data());
    edges += count * letters;
    for (std::size_t i = 0; i < orbits.size(); ++i) {
      Orbit& orbit = orbits[i];
      const std::int64_t letter = orbit.root[t % orbit.root.size()];
      const std::size_t edge = i * static_cast<std::size_t>(letters) + static_cast<std::size_t>(letter);
      const std::int64_t state =
          task.after(kernel.code().get(kernel.task_place(), orbit.node.data()), letter);
      const std::int64_t expected = task.answers[static_cast<std::size_t>(state)];
      if (answers[edge] != expected) {
        WrongPower found{.answer = answers[edge], .expected = expected};
        for (std::size_t j = 0; j <= t; ++j) found.word.push_back(orbit.root[j % orbit.root.size()]);
        return found;
      }
      orbit.node.assign(after.begin() + static_cast<std::ptrdiff_t>(edge * words),
                        after.begin() + static_cast<std::ptrdiff_t>((edge + 1) * words));
      kernel.code().put(kernel.task_place(), state, orbit.node.data());
    }
    std::erase_if(orbits, [&](Orbit& orbit) {
      if ((t + 1) % orbit.root.size() != 0) return false;
      if (orbit.node == orbit.kept) return true;
      if (++orbit.copies == orbit.until) {
        orbit.kept = orbit.node;
        orbit.copies = 0;
        orbit.until *= 2;
      }
      return false;
    });
  }
  return std::nullopt;
}

namespace {

Fitness orbits_fitness(const Target& target) {
  if (!target.task->automaton())
    return {false, fmt::format("{} is not an automaton task", target.task->name())};
  const auto problem = make_product(target.weights, target.task, {});
  if (!problem) return {false, problem.error().message};
  return {true, "a finite automaton: the powers of a short word repeat"};
}

Result<AttackOutcome> run_orbits(const Target& target, const SearchOptions& options) {
  const SearchClock clock(options);
  RUNG_TRY(ProductProblem problem, make_product(target.weights, target.task, {}));
  problem.target.model_sha256 = target.model_sha256;
  AttackOutcome outcome{.method = "orbits",
                        .reason = "no power of a word of up to three letters is answered wrongly",
                        .nominal_bits = target.nominal_bits};
  if (auto power = wrong_power(problem.target, problem.task)) {
    const ProductOutcome found{.verdict = ProductVerdict::refuted,
                               .word = std::move(power->word),
                               .shortest = false,
                               .answer = power->answer,
                               .expected = power->expected};
    outcome.verdict = Evidence::refuted;
    outcome.reason = "a power of a short word is answered wrongly";
    outcome.evaluations = found.word.size();
    outcome.certificate = product_certificate(problem, found);
  }
  outcome.seconds = clock.seconds();
  return outcome;
}

}  // namespace

AttackMethod orbits_method() {
  return {.name = "orbits",
          .summary = "one short word over and over, of every length: a power that is answered wrongly",
          .fitness = &orbits_fitness,
          .run = &run_orbits,
          .named_only = true};
}

}  // namespace rung
