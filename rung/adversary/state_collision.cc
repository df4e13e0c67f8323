// Claim: recurrent-*, log-linear-* (docs/theorems.md). After `cut` positions everything later depends on the
// beginning through the layers' states alone. Two beginnings with equal states, completed alike so that their
// answers differ, refute the model.
//
// Search: the stack is a black box. Only the last entries before the cut vary, just enough of them to have
// more beginnings than states; what stands before is computed once (resumed_run.h). Where no place of the
// prompt is named as the cut, that of the theorem, the one before the first answer and a few earlier ones are
// tried: of two strings to be compared, say, only the first must be remembered. Invariant: a collision counts
// only when the task tells the two beginnings apart (separate) and both prompts are rerun.
#include "rung/adversary/state_collision.h"

#include <algorithm>
#include <cmath>

#include "rung/adversary/birthday.h"
#include "rung/adversary/counted_beginnings.h"
#include "rung/adversary/method_list.h"
#include "rung/adversary/resumed_run.h"
#include "rung/adversary/state_bits.h"
#include "rung/adversary/varied_prompts.h"
#include "rung/base/plural.h"

namespace rung {
namespace {

constexpr double kStateCollisionSpareBits = 12;  // beginnings beyond the number of states, in bits
constexpr std::int64_t kSeparations = 1 << 12;   // completions tried until one tells two beginnings apart
constexpr int kEquivalent = 64;     // pairs that the task does not tell apart before the cut is given up
constexpr double kAfterOthers = 6;  // bits of cost added, so that methods made for the task come first

// First the place at which a theorem forces a collision, where it does.
std::vector<std::int64_t> cuts(const Target& target) {
  const Task& task = *target.task;
  const std::int64_t asked = task.query_positions().front(), T = task.prompt_length();
  std::vector<std::int64_t> all;
  if (const auto widest = widest_cut(task);
      widest && forcing_alphabet(task, *widest, nominal_state_bits(target.weights, target.layers, *widest)))
    all.push_back(*widest);
  for (const std::int64_t cut : {std::min(asked, T - 1), T / 2, 2 * T / 3, T / 3, 3 * T / 4, T / 4})
    if (cut >= 1 && cut < T && std::find(all.begin(), all.end(), cut) == all.end()) all.push_back(cut);
  return all;
}

Fitness state_collision_fitness(const Target& target) {
  if (const auto reason = unbounded_state(target)) return {false, *reason, 0};
  if (target.length() < 2) return {false, "prompts of one token", 0};
  if (target.nominal_bits < 1) return {false, "no state", 0};
  return {true, fmt::format("states of {}, any task", counted(target.nominal_bits, "bit")),
          static_cast<double>(target.nominal_bits) / 2 + kAfterOthers};
}

Result<AttackOutcome> run_state_collision(const Target& target, const SearchOptions& options) {
  AttackOutcome outcome{.method = "states", .nominal_bits = target.nominal_bits};
  const auto places = cuts(target);
  for (std::size_t i = 0; i < places.size(); ++i) {
    SearchOptions share = options;
    share.seconds = (options.seconds - outcome.seconds) / static_cast<double>(places.size() - i);
    RUNG_CHECK(collide_states(target, places[i], share, outcome));
    if (outcome.certificate || (options.stop && options.stop())) break;
  }
  return outcome;
}

}  // namespace

std::optional<std::string> unbounded_state(const Target& target) {
  if (!target.weights.architecture.dimensions.causal) return "an encoder has no state";
  if (!std::all_of(target.layers.begin(), target.layers.end(),
                   [](const auto& layer) { return has_bounded_state(layer.mixer); }))
    return "a layer keeps a memory that grows with the prompt";
  return std::nullopt;
}

Result<void> collide_states(const Target& target, std::int64_t cut, const SearchOptions& options,
                            AttackOutcome& outcome) {
  const Task& task = *target.task;
  RUNG_REQUIRE(cut >= 1 && cut < target.length(), "cut={} of {}", cut, target.length());
  const std::int64_t bits = nominal_state_bits(target.weights, target.layers, cut);
  outcome.nominal_bits = bits;
  // Preferably an instance whose own question reads what varies; else one is looked for when two beginnings
  // have met.
  auto beginnings = VariedPrompts::find(task, 0, cut, static_cast<double>(bits) + kStateCollisionSpareBits,
                                        true, options.seed);
  if (!beginnings)
    beginnings = VariedPrompts::find(task, 0, cut, static_cast<double>(bits) + kStateCollisionSpareBits,
                                     false, options.seed);
  if (!beginnings) {
    outcome.reason = fmt::format("no entry before position {} can vary", cut);
    return {};
  }
  const auto resumed =
      ResumedRun::make(*target.machine, task.fields(), beginnings->member(0), beginnings->first_varying());
  RUNG_REQUIRE(resumed.has_value(), "layers of bounded state");

  int equivalent = 0;
  Birthday birthday;
  birthday.stage = fmt::format("states after {} positions", cut);
  birthday.expected_evaluations = std::exp2(std::min(static_cast<double>(bits) / 2, 62.0));
  birthday.evaluate = [&](std::uint64_t index) -> Result<std::vector<Ending>> {
    const Prompt prompt = beginnings->member(index);
    Ending ending;
    for (const auto& layer : resumed->states(prompt, cut)) ending.key = hash_numbers(ending.key, layer);
    for (const auto& field : prompt.fields) ending.tag = hash_numbers(ending.tag, field);
    return std::vector<Ending>{ending};
  };
  birthday.meet = [&](std::uint64_t first, std::uint64_t second) -> Result<std::optional<Certificate>> {
    std::optional<std::pair<Prompt, Prompt>> pair(std::in_place, beginnings->member(first),
                                                  beginnings->member(second));
    if (task.answer(pair->first) == task.answer(pair->second))
      pair = separate(task, prefix_of(task, pair->first, cut), prefix_of(task, pair->second, cut),
                      kSeparations, options.seed);
    if (!pair) {
      ++equivalent;
      return std::optional<Certificate>{};
    }
    return certify_collision(target, pair->first, pair->second, cut);
  };
  SearchOptions until = options;
  until.stop = [&] { return equivalent >= kEquivalent || (options.stop && options.stop()); };
  RUNG_CHECK(search_birthday(birthday, until, outcome));
  if (!outcome.certificate && equivalent >= kEquivalent)
    outcome.reason = fmt::format("states after {} meet, but the task does not tell the beginnings apart",
                                 counted(cut, "position"));
  return {};
}

AttackMethod state_collision_method() {
  return {"states",
          "two beginnings with the same state, any task",
          &state_collision_fitness,
          &run_state_collision,
          false,
          /*spreads=*/true};
}

}  // namespace rung
