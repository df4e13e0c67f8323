#include "rung/adversary/product_proof.h"

#include <algorithm>

#include "rung/adversary/finite_state.h"
#include "rung/adversary/forced_word.h"
#include "rung/adversary/orbits.h"
#include "rung/evaluation/evaluation.h"
#include "rung/tasks/automaton.h"

namespace rung {
namespace {

// Positions that a window or a chunk needs at once; a finite model is never asked for more.
std::int64_t longest_window(const MixerShape& mixer) {
  std::int64_t longest = std::max(mixer.window.value_or(0), mixer.chunk.value_or(0));
  for (const auto& part : mixer.parts) longest = std::max(longest, longest_window(part));
  return longest;
}

// Why the model has no answer letter by letter, at any depth; nothing where it has.
std::optional<std::string> why_no_words(const Weights& weights, bool floats) {
  if (weights.mode == WeightMode::real && !floats)
    return "its weights are floats (rung quantise gives it integers)";
  if (!weights.architecture.dimensions.causal) return "it is an encoder";
  if (weights.decode.steps > 0) return "it answers by a chain of thought";
  if (weights.output.kind == OutputSpec::Kind::vector) return "it answers with vectors";
  return std::nullopt;
}

}  // namespace

ProductTask product_task(const Task& task) {
  const Automaton& a = *task.automaton();
  ProductTask product{.states = a.state_count(), .start = a.start};
  product.next.assign(a.next.begin(), a.next.end());
  product.answers = a.out;
  for (std::int64_t l = 0; l < a.letter_count(); ++l) product.letters.push_back({l});
  product.begin = {static_cast<std::int64_t>(a.letter_count())};
  return product;
}

Result<ProductProblem> make_product(Weights weights, std::shared_ptr<const Task> task,
                                    std::optional<std::int64_t> depth,
                                    const std::optional<Precision>& quantised) {
  if (!task->automaton())
    return fail(
        ErrorCode::unsupported,
        "[verify] {} is not an automaton task; parity, modulo, group, flipflop or an automaton file expected",
        task->name());
  ProductProblem problem;
  problem.floats = quantised.has_value();
  Target& target = problem.target;
  RUNG_TRY(target.layers, resolve(weights.architecture));
  if (const auto reason = why_no_words(weights, problem.floats))
    return fail(ErrorCode::unsupported, "[verify] the model has no answers letter by letter: {}", *reason);
  RUNG_CHECK(check_fit(weights, *task));
  const auto reason = why_not_finite(weights, target.layers, problem.floats);
  problem.finite = !reason;
  if (reason && !depth)
    return fail(ErrorCode::unsupported,
                "[verify] the model is not a finite automaton: {}; a depth is needed, up to which every word "
                "is tried",
                *reason);
  std::int64_t positions = 2;
  for (const auto& layer : target.layers) positions = std::max(positions, longest_window(layer.mixer) + 2);
  if (problem.floats && !problem.finite)
    return fail(ErrorCode::unsupported, "[verify] the model is not a finite automaton in floats: {}",
                *reason);
  if (problem.floats) positions = depth.value_or(kMostFloatLetters) + 1;
  if (!problem.finite) {
    positions = *depth + 1;
    if (const std::int64_t context = weights.architecture.dimensions.context;
        context > 0 && positions > context)
      return fail(ErrorCode::range,
                  "[verify] words of {} letters need {} positions; the model's context is {}", *depth,
                  positions, context);
  }
  RUNG_TRY(target.machine, Machine::load(weights, {.positions = positions, .quantised = quantised}));
  target.weights = std::move(weights);
  problem.task = product_task(*task);
  target.task = std::move(task);
  return problem;
}

Result<ProductProblem> open_product(const std::string& model_path, std::shared_ptr<const Task> task,
                                    std::optional<std::int64_t> depth,
                                    const std::optional<Precision>& quantised) {
  RUNG_TRY(auto weights, read_weights(model_path));
  RUNG_TRY(auto problem, make_product(std::move(weights), std::move(task), depth, quantised));
  RUNG_TRY(problem.target.model_sha256, file_sha256(model_path));
  return problem;
}

Result<ProductOutcome> search(const ProductProblem& problem, const SearchOptions& options,
                              std::optional<std::int64_t> depth) {
  if (problem.floats) return search_float_product(problem.target, problem.task, options, depth);
  if (!problem.finite) return search_words(problem.target, problem.task, options, *depth);
  RUNG_TRY(auto outcome, search_product(problem.target, problem.task, options, depth));
  const bool stopped = options.stop && options.stop();
  if (outcome.verdict == ProductVerdict::bounded && !depth && !stopped)
    if (auto power = wrong_power(problem.target, problem.task)) {
      outcome.verdict = ProductVerdict::refuted;
      outcome.reason = fmt::format("{}; a power of a short word is answered wrongly", outcome.reason);
      outcome.word = std::move(power->word);
      outcome.shortest = false;
      outcome.answer = power->answer;
      outcome.expected = power->expected;
    }
  if (outcome.verdict != ProductVerdict::refuted) return outcome;
  // What the kernel found, the machine must find, too.
  RUNG_TRY(const auto machine,
           Machine::load(problem.target.weights,
                         {.positions = static_cast<std::int64_t>(outcome.word.size()) + 1}));
  RUNG_TRY(auto session, machine->start());
  std::optional<Readout> readout;
  std::vector<std::vector<std::int64_t>> rows;
  if (problem.task.begin) rows.push_back(*problem.task.begin);
  for (const auto letter : outcome.word)
    rows.push_back(problem.task.letters[static_cast<std::size_t>(letter)]);
  for (std::size_t t = 0; t < rows.size(); ++t) {
    RUNG_TRY(readout, session->append(rows[t], t + 1 == rows.size()));
  }
  RUNG_REQUIRE(readout->answer.front() == outcome.answer, "the kernel answers {}, the machine {}",
               outcome.answer, readout->answer.front());
  return outcome;
}

std::optional<Certificate> product_certificate(const ProductProblem& problem, const ProductOutcome& outcome) {
  if (outcome.verdict == ProductVerdict::bounded || problem.floats) return std::nullopt;
  CertifiedAutomaton automaton;
  automaton.letters = problem.task.letters;
  automaton.begin = problem.task.begin;
  automaton.start = problem.task.start;
  automaton.answers = problem.task.answers;
  for (std::int64_t q = 0; q < problem.task.states; ++q) {
    automaton.next.emplace_back();
    for (std::size_t l = 0; l < problem.task.letters.size(); ++l)
      automaton.next.back().push_back(problem.task.after(q, static_cast<std::int64_t>(l)));
  }
  Certificate certificate{.model_sha256 = problem.target.model_sha256,
                          .task = certified_automaton_task(*problem.target.task)};
  if (outcome.verdict == ProductVerdict::proved) {
    certificate.claim =
        EveryLengthClaim{std::move(automaton), outcome.states, outcome.edges, outcome.depth, outcome.digest};
  } else {
    const auto forced = forced_word(problem.target);
    certificate.claim = WrongWordClaim{std::move(automaton), outcome.word, outcome.answer, outcome.expected,
                                       forced ? forced->powers : std::nullopt};
  }
  certificate.notes["method"] = "verify";
  certificate.notes["task"] = std::string(problem.target.task->name());
  certificate.notes["architecture"] = format_spelled_stack(problem.target.weights.architecture.stack);
  return certificate;
}

}  // namespace rung
