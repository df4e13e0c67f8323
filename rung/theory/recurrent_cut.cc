#include "rung/theory/recurrent_cut.h"

#include <fmt/format.h>

#include "rung/theory/horizon.h"

namespace rung {
namespace {

bool bites(const CutBound& bound, const StateBits& state, Crossing crossing, std::int64_t n) {
  const auto classes = bound.classes(n);
  const Integer bits = crossing == Crossing::all_states ? state.after(n) : state.one_level();
  return classes && !bits_suffice(bits, *classes);
}

// The first n that bites; the classes grow with n.
std::optional<std::int64_t> first_bite(const CutBound& bound, const StateBits& state, Crossing crossing) {
  std::int64_t high = 1;
  while (!bites(bound, state, crossing, high)) {
    if (high >= kHorizonLimit) return std::nullopt;
    high *= 2;
  }
  std::int64_t low = high / 2;
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (bites(bound, state, crossing, middle) ? high : low) = middle;
  }
  return high;
}

}  // namespace

Verdict cut_verdict(const Theorem& theorem, const Setting& setting, const Question& question,
                    const CutBound& bound, Crossing crossing) {
  Verdict v = verdict_of(theorem, question);
  const Word& word = setting.word;
  const bool recurrent = word.full_letters() == 0 && !word.uncovered();
  v.require("every layer is recurrent or position-wise", recurrent,
            fmt::format("word {}", word.folded.empty() ? "(empty)" : word.folded));
  v.elsewhere = !recurrent;
  v.require("causal", setting.causal());
  v.parameters[bound.size_name] = bound.n;
  if (!v.all_hold()) return v;
  const StateBits state = word.total();
  const Integer bits = crossing == Crossing::all_states ? state.after(bound.n) : state.one_level();
  const auto classes = bound.classes(bound.n);
  v.right = bits.convert_to<double>();
  v.left = classes ? classes->lg() : 0.0;
  if (*v.right > 0) v.margin = *v.left / *v.right;
  const bool impossible = classes && !bits_suffice(bits, *classes);
  v.require(fmt::format("{} > s", bound.symbolic), impossible,
            fmt::format("{:.6g} against {} bits at {} = {}", *v.left, bits.str(), bound.size_name, bound.n));
  v.outcome = impossible ? Outcome::impossible : Outcome::vacuous_here;
  if (const auto first = first_bite(bound, state, crossing)) {
    v.horizon = *first - 1;
    v.parameters["bites_at"] = *first;
  }
  const std::string remembers =
      crossing == Crossing::all_states
          ? fmt::format("the states of all layers, {} bits in all", bits.str())
          : fmt::format("the oldest bucket's states of all layers, {} bits in all", bits.str());
  v.argument = {
      fmt::format("Two players: the first holds {}, the second the rest of the prompt.", bound.prefix),
      fmt::format("Message: whatever comes later depends on the first part only through {}.", remembers),
      fmt::format("Classes: {} = {:.6g} bits are needed to tell all first parts apart.", bound.symbolic,
                  *v.left),
      impossible
          ? "Pigeonhole: two first parts leave equal states and some question parts them; both get one "
            "answer."
          : "No pigeonhole: there are at least as many states as classes, so the bound is silent here.",
      "Chain of thought changes nothing: what is written later is a function of the state."};
  return v;
}

}  // namespace rung
