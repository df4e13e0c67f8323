// Claim: two prompts that differ in the critical entry end in the same activation at the answer position, so
// the model answers both alike and one of them wrongly. Any architecture; on 2-SeqComp against one full layer
// and recurrent ones the pair is forced by one-full-layer-late where its count reaches (forced_proof.h).
//
// Search: a birthday on the answer activation over prompts that share the question (prompt_family.h): about
// 2^(b/2) evaluations where the activation has b effective bits, whatever the layers in between can store.
#include "rung/adversary/method_list.h"

#include <algorithm>
#include <cmath>

#include "rung/adversary/birthday.h"
#include "rung/adversary/forced_proof.h"
#include "rung/adversary/prompt_family.h"
#include "rung/adversary/resumed_run.h"
#include "rung/adversary/state_bits.h"
#include "rung/base/plural.h"

namespace rung {
namespace {

constexpr double kAfterCollisions =
    63;  // cost at which auto tries it on recurrent stacks: equal states say more

double activation_bits(const Target& target) {
  const auto& d = target.weights.architecture.dimensions;
  return static_cast<double>(d.width * stored_number(target.weights,
                                                     d.norm == Norm::rms ? "norm.bits" : "stream.bits",
                                                     d.precision.bits));
}

Fitness flip_fitness(const Target& target) {
  if (target.weights.decode.steps > 0) return {false, "a chain of thought reads more than one activation", 0};
  const double bits = activation_bits(target);
  const bool cached = !std::all_of(target.layers.begin(), target.layers.end(),
                                   [](const auto& layer) { return has_bounded_state(layer.mixer); });
  return {true, fmt::format("answer activations of {}", counted(bits, "bit")),
          cached ? bits / 2 : std::max(bits / 2, kAfterCollisions)};
}

Result<AttackOutcome> run_flip(const Target& target, const SearchOptions& options) {
  AttackOutcome outcome{.method = "flip", .nominal_bits = target.nominal_bits};
  const PromptFamily family(*target.task, options.seed);
  const auto queries = target.task->query_positions();
  // Where the family shares its beginning and is asked once, at the end, only what differs is computed.
  std::optional<ResumedRun> resumed;
  if (family.first_varying() > 0 && queries.size() == 1 && queries[0] + 1 == target.length())
    resumed =
        ResumedRun::make(*target.machine, target.task->fields(), family.member(0), family.first_varying());

  Birthday birthday;
  birthday.stage = "birthday on answer activations";
  birthday.expected_evaluations = std::exp2(std::min(activation_bits(target) / 2, 62.0));
  birthday.evaluate = [&](std::uint64_t index) -> Result<std::vector<Ending>> {
    const Prompt prompt = family.member(index);
    std::vector<Readout> readouts;
    if (resumed) {
      readouts.push_back(resumed->last(prompt));
    } else {
      RUNG_TRY(readouts, target.machine->forward(prompt, queries));
    }
    std::vector<Ending> endings;
    for (std::size_t q = 0; q < queries.size(); ++q)
      endings.push_back({hash_numbers(q + 1, readouts[q].activation),
                         hash_numbers(0, reference_answer(target, prompt, q))});
    return endings;
  };
  birthday.meet = [&](std::uint64_t first, std::uint64_t second) -> Result<std::optional<Certificate>> {
    RUNG_TRY(auto certificate, certify_fooling_pair(target, family.member(first), family.member(second)));
    if (certificate) label_fooling_pair(target, *certificate);
    return certificate;
  };
  RUNG_CHECK(search_birthday(birthday, options, outcome));
  return outcome;
}

}  // namespace

AttackMethod flip_method() {
  return {"flip",        "two prompts that differ in what is asked about end in one activation",
          &flip_fitness, &run_flip,
          false,         /*spreads=*/true};
}

}  // namespace rung
