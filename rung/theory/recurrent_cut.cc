#include "rung/theory/recurrent_cut.h"

#include <fmt/format.h>

#include "rung/theory/horizon.h"

namespace rung {
namespace {

Integer crossing_bits(const CutBound& bound, const StateBits& state, Crossing crossing, std::int64_t n) {
  const Integer tokens = Integer(bound.tokens_each) * n;
  if (crossing == Crossing::all_states) return state.after(tokens);
  return state.one_level(Integer(1) << (bit_length(tokens) - 1));  // the first 2^⌊lg n⌋ of them
}

bool certifies(const CutBound& bound, const StateBits& state, Crossing crossing, std::int64_t n) {
  const auto classes = bound.classes(n);
  return classes && !bits_suffice(crossing_bits(bound, state, crossing, n), *classes);
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
  v.assumes = setting.widths();
  const StateBits state = word.total();
  const auto first = first_certified([&](std::int64_t n) { return __int128{bound.tokens_each} * n; },
                                     [&](std::int64_t n) { return certifies(bound, state, crossing, n); });
  // Asked about all sizes that fit, a bound that certifies at some of them has answered.
  const bool smaller =
      !question.fixed && first && *first < bound.n && !certifies(bound, state, crossing, bound.n);
  const std::int64_t size = smaller ? *first : bound.n;
  v.parameters[bound.size_name] = size;
  const Integer bits = crossing_bits(bound, state, crossing, size);
  const auto classes = bound.classes(size);
  v.right = bits.convert_to<double>();
  v.left = classes ? classes->lg() : 0.0;
  if (*v.right > 0) v.margin = *v.left / *v.right;
  const bool impossible = classes && !bits_suffice(bits, *classes);
  v.require(fmt::format("{} > s", bound.symbolic), impossible,
            fmt::format("{:.6g} against {} bits at {} = {}", *v.left, bits.str(), bound.size_name, size));
  v.outcome = impossible ? Outcome::impossible : Outcome::vacuous;
  if (first) {
    v.horizon = *first - 1;
    v.parameters["certified_from"] = *first;
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
          : "No pigeonhole: there are at least as many states as classes, so the bound is vacuous at this "
            "size.",
      "Chain of thought changes nothing: what is written later is a function of the state."};
  return v;
}

}  // namespace rung
