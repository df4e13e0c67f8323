// Claim: two prompts that differ in the critical entry end in the same activation at the answer position, so the model
// answers both alike and one of them wrongly. Any architecture; on 2-SeqComp against one full layer and recurrent ones the
// pair is forced by one-full-layer-late where its count reaches (forced_proof.h).
//
// Search: a birthday on the answer activation over prompts that share the question (prompt_family.h): about 2^(b/2)
// evaluations where the activation has b effective bits, whatever the layers in between can store. Every prompt seen
// stays in a table (activation -> answer, number of the prompt).
// Invariant: table entries are hashes; a match is believed only after both prompts are rerun (certify_fooling_pair).
#include "rung/adversary/flip.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <unordered_map>

#include "rung/adversary/forced_proof.h"
#include "rung/adversary/prompt_family.h"
#include "rung/adversary/state_bits.h"
#include "rung/spec/parallel.h"
#include "rung/spec/random.h"

namespace rung {
namespace {

constexpr double kAfterCollisions = 63;       // cost at which auto tries it on recurrent stacks: equal states say more
constexpr std::uint64_t kNothingNew = 4096;   // evaluations without a new activation or answer: the family is exhausted
constexpr std::uint64_t kLargestBatch = 4096;
constexpr std::uint64_t kEntryBytes = 64;     // of the table, with its overhead

std::uint64_t hash_of(std::uint64_t start, const std::vector<std::int64_t>& numbers) {
  std::uint64_t hash = start;
  for (const auto number : numbers) hash = Random(hash, static_cast<std::uint64_t>(number)).next();
  return hash;
}

bool has_cache(const MixerShape& m) {
  using enum MixerKind;
  return m.kind == full || m.kind == topk || m.kind == sparse || m.kind == heads;
}

double activation_bits(const Target& target) {
  const auto& d = target.weights.architecture.dimensions;
  return static_cast<double>(d.width * stored_number(target.weights, d.norm == Norm::rms ? "norm.bits" : "stream.bits", d.precision.bits));
}

Fitness fitness(const Target& target) {
  if (target.weights.decode.steps > 0) return {false, "a chain of thought reads more than one activation", 0};
  const double bits = activation_bits(target);
  const bool cached = std::any_of(target.layers.begin(), target.layers.end(), [](const auto& layer) { return has_cache(layer.mixer); });
  return {true, fmt::format("answer activations of {} bits", bits), cached ? bits / 2 : std::max(bits / 2, kAfterCollisions)};
}

struct Seen {
  std::uint64_t answer = 0, index = 0;  // hash of the reference answer; number of the prompt
};

Result<Outcome> run(const Target& target, const SearchOptions& options) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  Outcome outcome{.method = "flip", .nominal_bits = target.nominal_bits};
  const PromptFamily family(*target.task, options.seed);
  const auto queries = target.task->query_positions();
  const double expected = std::exp2(std::min(activation_bits(target) / 2, 62.0));

  struct Found {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> keys;  // per query position: (activation, answer), hashed
    std::optional<Error> error;
  };
  std::unordered_map<std::uint64_t, Seen> table;
  std::uint64_t next = 0, last_new = 0, batch = 2 * static_cast<std::uint64_t>(worker_count());
  outcome.reason = "the budget ended before two activations met";
  while (elapsed() < options.seconds && !(options.stop && options.stop())) {
    std::vector<Found> found(batch);
    const auto began = elapsed();
    parallel_for(static_cast<std::int64_t>(batch), 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        Found& one = found[static_cast<std::size_t>(i)];
        const Prompt prompt = family.member(next + static_cast<std::uint64_t>(i));
        const auto readouts = target.machine->forward(prompt, queries);
        if (!readouts) {
          one.error = readouts.error();
          continue;
        }
        for (std::size_t q = 0; q < queries.size(); ++q)
          one.keys.emplace_back(hash_of(q + 1, (*readouts)[q].activation), hash_of(0, reference_answer(target, prompt, q)));
      }
    });
    for (std::uint64_t i = 0; i < batch; ++i) {
      if (found[i].error) return *found[i].error;
      const std::uint64_t index = next + i;
      ++outcome.evaluations;
      for (const auto& [activation, answer] : found[i].keys) {
        const auto [entry, fresh] = table.try_emplace(activation, Seen{answer, index});
        if (fresh) last_new = index;
        if (fresh || entry->second.answer == answer) continue;
        RUNG_TRY(outcome.certificate, certify_fooling_pair(target, family.member(entry->second.index), family.member(index)));
        if (!outcome.certificate) continue;
        label_fooling_pair(target, *outcome.certificate);
        outcome.verdict = Verdict::refuted;
        outcome.effective_bits = 2 * std::log2(static_cast<double>(outcome.evaluations));
        outcome.reason = fmt::format("two of {} prompts end in one activation, their answers differ", outcome.evaluations);
        break;
      }
      if (outcome.certificate) break;
    }
    next += batch;
    outcome.memory_bytes = table.size() * kEntryBytes;
    if (options.progress) options.progress({outcome.evaluations, expected, outcome.memory_bytes, "birthday on answer activations"});
    if (outcome.certificate) break;
    if (next - last_new > kNothingNew) {
      outcome.reason = "no further activation appears in this family of prompts";
      break;
    }
    if (outcome.memory_bytes > options.memory_bytes) {
      outcome.reason = "the table of activations reached the memory limit";
      break;
    }
    if (elapsed() - began < 0.25) batch = std::min(2 * batch, kLargestBatch);
  }
  outcome.details["activations"] = std::to_string(table.size());
  outcome.seconds = elapsed();
  return outcome;
}

}  // namespace

AttackMethod flip_method() { return {"flip", "two prompts that differ in what is asked about end in one activation", &fitness, &run}; }

}  // namespace rung
