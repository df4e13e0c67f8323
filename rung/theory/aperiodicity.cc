// The aperiodicity theorem: what layers that come to rest cannot follow, at every length and from which length on.
//
// Claim. Let a causal decoder consist of layers that settle (settling.h: monotone recurrences with decays >= 0 and
// saturating states, windows, convolutions, full softmax and top-k layers and exact sums on exact integers) and
// position-wise maps, at fixed precision, without positions, with at most a chain of thought of bounded length (of any
// length where no layer sums over the whole past). Then for all words u, w, v the answer to u wⁿ v is one for all large n.
// So every automaton task that it follows at every length has an aperiodic monoid. With positions, chunks or blocks of common period P the answers to
// u wⁿ v are periodic in the end with a period that divides P / gcd(P, |w|); if the task has a neutral letter its monoid
// is aperiodic all the same: pad w with it to a multiple of P.
//
// Argument. For every layer the activation at a fixed place of period number n of wⁿ is independent of n from some n on: the
// embedding is; a layer that settles keeps it (settling.h); then v is read from states that do not depend on n, and from
// sums that are affine in n, to which the same applies. If the monoid had an element with a cycle of m >= 2 states, made
// by w, some u and v would make answers to u wⁿ v that are not constant.
//
// Horizon, for all weights of these widths. While one letter repeats, from copy number j on nothing changes
// (rests_from); two neighbours u w^j v and u w^(j+1) v whose answers differ then refute every model that has to answer
// words of both lengths. For words of exactly n letters, read at the last one, a neutral letter e makes the lengths equal:
// u w^(j+1) v e^k against u w^j v e^(k+|w|), k as large as the e themselves take to rest. Parity: n_0 + 1 letters, n_0 =
// 1 + Σ (2^a + c - 3) over recurrences of a-bit entries behind convolutions of width c; exactly n letters: 2 n_0 + 1.
// Status: checked where a statement of proofs/Statements.v is about the stack and the words
// (keep_aperiodicity_checked), else proved. Literature on the reals: Sarrof, Veitsman, Hahn 2405.17394
// (non-negative state spaces: star-free).
#include <fmt/format.h>

#include "rung/spec/mixers.h"
#include "rung/tasks/tracked_group.h"
#include "rung/theory/settling.h"
#include "rung/theory/theorem_groups.h"

namespace rung {
namespace {

// The prompts u wⁿ v behind `lead` tokens; lengths in letters.
struct Powers {
  std::int64_t lead = 1, before = 0, word = 1, after = 0;
  std::int64_t period = 2;
  bool always = true;     // neighbours always differ
  bool neutral = false;   // some letter changes nothing
  bool end_sign = false;  // a token follows the letters
  std::string letters;    // "1", "(a b)"
};

// Letters that no context in use holds.
constexpr std::int64_t kBeyondContextsInUse = 1'000'000'000;

struct Horizon {
  std::optional<Integer> free,
      fixed;  // letters from which no weights answer all words of up to, of exactly so many
};

Horizon horizon_of(const Setting& setting, const Settling& settling, const Powers& powers) {
  Horizon horizon;
  const bool more = powers.after > 0 || powers.end_sign;
  if (settling.blocks || (settling.sums && (more || powers.word > 1))) return horizon;
  const Integer first = Integer(powers.lead) + powers.before;
  const Integer rests = powers.word == 1 ? rests_from(setting, first) - first + 1
                                         : rests_from_period(setting, powers.word, 0) + 1;
  if (bit_length(rests) > kLongestHorizon) return horizon;
  horizon.free = powers.before + (rests + (powers.always ? 1 : powers.period)) * powers.word + powers.after;
  if (!settling.sums && powers.neutral) horizon.fixed = *horizon.free + rests_from(setting, 1);
  return horizon;
}

void require_layers(Verdict& v, const Setting& setting, const Settling& settling) {
  v.require(
      "every layer is a monotone recurrence, a window, a convolution, full, top-k or block-sparse attention, "
      "an exact sum, or position-wise",
      settling.uncovered.empty(), settling.uncovered);
  v.elsewhere = !settling.uncovered.empty();
  if (settling.recurrence) {
    v.require("decays >= 0", setting.forward_decays,
              setting.forward_decays ? "mamba, mamba2, gla: exponentials; linear: 1"
                                     : "a table of the file holds a negative one");
    v.require("states saturate", setting.saturating,
              !setting.saturating  ? "the file's wrap"
              : setting.floating() ? "a float state overflows to infinity, which stays"
                                   : "round, not wrap");
  }
  if (settling.sums || settling.selects)
    v.require("exact integer sums (mode X)", setting.exact_sums(), setting.mode_x());
  v.require("causal", setting.causal());
  const PositionCode position = setting.architecture.dimensions.position;
  // Rotary codes turn queries and keys; state spaces have none.
  bool rotates = false;
  for (const auto& layer : setting.layers) {
    using enum MixerKind;
    const MixerKind kind = layer.mixer.kind;
    rotates = rotates || !(kind == mamba || kind == mamba2 || kind == gla || kind == conv ||
                           kind == identity || kind == none);
  }
  const bool unplaced = position == PositionCode::none || (position == PositionCode::rope && !rotates);
  v.require(
      "no positions, or periodic ones", unplaced,
      setting.position_period ? fmt::format("period {}", *setting.position_period)
      : unplaced && position == PositionCode::rope
          ? "rotary codes turn keys, and no layer has any"
          : std::string(position_name(position)) +
                (unplaced                         ? ""
                 : position == PositionCode::rope ? ": rotations are not covered"
                                                  : ": a code that tells positions apart is not covered"));
  if (setting.chain_of_thought)
    v.require("a chain of thought of bounded length, or no sum over the whole past", !settling.sums,
              settling.sums ? "a chain of any length beside full attention is not covered" : "no such sum");
}

// The checked statements are about one letter repeated, whole numbers and no chain of thought; where a layer
// sums over the whole past, nothing may follow the copies.
void keep_aperiodicity_checked(Verdict& v, const Setting& setting, const Settling& settling,
                               const Powers& powers) {
  const bool follows = powers.after > 0 || powers.end_sign;
  const bool covered = powers.word == 1 && !(settling.sums && follows) && !settling.informal &&
                       !setting.floating() && !setting.chain_of_thought;
  if (v.status == Status::checked && !covered) v.status = Status::proved;
}

void conclude(Verdict& v, const Theorem& theorem, const Setting& setting, const Settling& settling,
              const Powers& powers, std::int64_t letters, bool fixed) {
  keep_aperiodicity_checked(v, setting, settling, powers);
  v.every_length = EveryLength{Outcome::impossible, std::string(theorem.id), v.status};
  v.outcome = Outcome::vacuous;
  v.assumes = setting.widths();
  if (settling.recurrence) {
    v.assumes.push_back("decays >= 0 and saturating states (a file's tables and accumulator may be others)");
    if (setting.floating())
      v.assumes.push_back("the recurrent form: one token after the other, the state rounded after each");
  }
  const Horizon horizon = horizon_of(setting, settling, powers);
  const auto& needed = fixed ? horizon.fixed : horizon.free;
  v.argument = {
      fmt::format("Words: u wⁿ v with w = {}. The task's answers to them have period {} for ever.",
                  powers.letters, powers.period),
      "Every layer rests: from some n on its activations do not depend on n, so neither does the answer.",
      "So no weights are right at every length."};
  if (!needed) {
    v.argument.push_back("From which length on is not counted for this stack and these prompts.");
    return;
  }
  v.left = static_cast<double>(letters);
  v.right = needed->convert_to<double>();
  v.margin = *v.left / *v.right;
  v.horizon = *needed - 1;
  v.parameters["scarcest"] = "letters";
  v.parameters["from"] = json_number(*needed);
  if (Integer(letters) >= *needed) v.outcome = Outcome::impossible;
  if (*needed > kBeyondContextsInUse)
    v.every_length->reason =
        fmt::format("counted from {:.2g} letters on, vacuous at any context in use", *v.right);
  v.argument.push_back(
      fmt::format("Counted for all weights: nothing changes any more after {} letters{}; {} are asked for.",
                  needed->str(), fixed ? ", padded to one length by the neutral letter" : "", letters));
}

std::optional<Verdict> aperiodic_automaton(const Theorem& theorem, const Setting& setting,
                                           const Question& question) {
  if (!question.followed) return std::nullopt;
  const FollowedAutomaton& followed = *question.followed;
  Verdict v = verdict_of(theorem, question);
  const auto& algebra = followed.algebra;
  const bool periodic = algebra && algebra->periodic;
  Powers powers;
  if (periodic) {
    const PeriodicWord& p = *algebra->periodic;
    powers = {.before = static_cast<std::int64_t>(p.to.size()),
              .word = static_cast<std::int64_t>(p.word.size()),
              .after = static_cast<std::int64_t>(p.from.size()),
              .period = p.period,
              .always = p.always,
              .neutral = algebra->neutral_letter};
    for (const auto letter : p.word)
      powers.letters += (powers.letters.empty() ? "" : " ") + followed.least.letters[letter];
    if (p.word.size() > 1) powers.letters = "(" + powers.letters + ")";
  }
  v.require("the task's monoid is not aperiodic", periodic,
            !algebra   ? followed.refused
            : periodic ? fmt::format("the powers of {} have period {}", powers.letters, powers.period)
                       : fmt::format("{} elements, all aperiodic", algebra->monoid));
  const Settling settling = settling_of(setting);
  require_layers(v, setting, settling);
  v.elsewhere = false;  // what it asks for and does not find is why a task stays open at every length
  if (settling.blocks)
    v.require("a neutral letter, to fill the period", powers.neutral,
              fmt::format("of {} tokens, of blocks and positions together", settling.period));
  v.parameters["n"] = question.size("n");
  if (algebra) v.parameters["monoid"] = static_cast<std::int64_t>(algebra->monoid);
  if (!v.all_hold()) return v;
  const bool exactly = question.fixed && question.options.at("read") != "all";
  conclude(v, theorem, setting, settling, powers, question.size("n"), exactly);
  return v;
}

// The letters of tracked recall turn the mark in a cycle, and the values of the table show it.
std::optional<Verdict> aperiodic_tracked(const Theorem& theorem, const Setting& setting,
                                         const Question& question) {
  const std::int64_t n = question.size("n"), sigma = question.size("sigma"), w = question.size("w");
  Verdict v = verdict_of(theorem, question);
  const bool cyclic = tracked_group(question.options.at("group")) == TrackedGroup::cyclic;
  const Powers powers{.lead = n,
                      .period = cyclic ? n : 2,
                      .always = !cyclic || sigma >= 3 || n % 2 == 0,
                      .neutral = true,
                      .end_sign = true,
                      .letters = "g1"};
  v.require("values that differ", sigma >= 2, fmt::format("sigma = {}", sigma));
  const Settling settling = settling_of(setting);
  require_layers(v, setting, settling);
  v.parameters["n"] = n;
  v.parameters["w"] = w;
  if (!v.all_hold()) return v;
  conclude(v, theorem, setting, settling, powers, w, /*fixed=*/true);
  return v;
}

// The word problem of a group that is not solvable is complete for NC1 (Barrington), and the stacks named lie in TC0.
std::optional<Verdict> nonsolvable(const Theorem& theorem, const Setting& setting, const Question& question) {
  if (!question.followed || !question.followed->algebra) return std::nullopt;
  const Algebra& algebra = *question.followed->algebra;
  if (algebra.solvable) return std::nullopt;
  Verdict v = verdict_of(theorem, question);
  std::string other;
  const auto look = [&](const auto& self, const MixerShape& mixer) -> void {
    const MixerDescriptor& descriptor = mixer_descriptor(mixer.kind);
    const Assumptions assumed = assumptions_of(mixer);
    for (const auto& part : mixer.parts) self(self, part);
    const bool stateless = assumed.update == Update::none && descriptor.memory != Memory::past;
    const bool named = mixer.kind == MixerKind::full || assumed.update == Update::entrywise || stateless ||
                       assumed.update == Update::of_parts;
    if (other.empty() && (assumed.turns || !named))
      other = assumed.turns ? form_name(mixer) : descriptor.name;
  };
  for (const auto& layer : setting.layers) look(look, layer.mixer);
  v.require("a group in the task's monoid that is not solvable", true,
            fmt::format("{} elements", algebra.monoid));
  v.require("every layer is softmax attention, a diagonal recurrence or position-wise", other.empty(), other);
  v.elsewhere = !other.empty();
  v.require("no chain of thought", !setting.chain_of_thought);
  if (!v.all_hold()) return v;
  v.outcome = Outcome::vacuous;  // at every length; no constant is known
  v.every_length = EveryLength{Outcome::impossible, std::string(theorem.id), v.status};
  v.assumes = {"TC0 is not NC1", "numbers of O(log n) bits at n tokens",
               "recurrences as unrolled sums, not rounded at every step"};
  if (setting.architecture.dimensions.position == PositionCode::table)
    v.assumes.push_back("a position table that uniform circuits compute");
  v.argument = {
      "The task computes words of a group that is not solvable, which is complete for NC1.",
      "A fixed number of such layers with numbers of O(log n) bits is a family of circuits in uniform TC0.",
      "So weights that are right at every length would put NC1 into TC0. Nothing follows for any one "
      "length."};
  return v;
}

}  // namespace

std::vector<Theorem> aperiodicity_theorems() {
  return {
      {.id = "aperiodicity",
       .tasks = kAutomatonTasks,
       .automata = true,
       .every_length = true,
       .options = kAutomatonForms,
       .variants = kEveryPrompt,
       .evaluate = aperiodic_automaton},
      {.id = "aperiodicity-tracked",
       .tasks = {"tracked-recall"},
       .every_length = true,
       .options = kTrackedForms,
       .variants = kEveryPrompt,
       .evaluate = aperiodic_tracked},
      {.id = "nonsolvable-groups",
       .tasks = {"group"},
       .automata = true,
       .every_length = true,
       .options = kAutomatonForms,
       .variants = kEveryPrompt,
       .evaluate = nonsolvable},
  };
}

}  // namespace rung
