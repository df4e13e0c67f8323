// What a recurrent stack must remember to follow a state, to repeat a word, and to look up what a mark has come to.
//
// - Automaton tasks: at a cut the state of the model must tell apart what the letters to come tell apart: s >= lg of the
//   largest number of classes over the cuts (automaton_classes.h); for a group s >= lg |G|. Without a length, one model
//   answers words of every length that fits.
// - Copy: after n symbols, all sigma^n words; the blanks ask for every symbol. Selective copy alike, the marked places
//   fixed.
// - Tracked recall: after the pairs, all tables on the places that w letters can lead the mark to, r of them: Eva inside
//   it. Letter 0 leaves the mark where it is, so a place that fewer letters reach counts too: r = min(n, w + 1) for
//   symmetric and cyclic, the numbers of lg n bits with at most w ones for xor.
// Status: proved; any chain of thought; every arithmetic.
#include <algorithm>
#include <bit>

#include "rung/tasks/automaton.h"
#include "rung/tasks/tracked_group.h"
#include "rung/theory/automaton_classes.h"
#include "rung/theory/recurrent_cut.h"
#include "rung/theory/theorem_groups.h"

namespace rung {
namespace {

std::optional<Verdict> automaton_states(const Theorem& theorem, const Setting& setting,
                                        const Question& question) {
  if (!question.followed) return std::nullopt;
  const WordLengths lengths = !question.fixed                        ? WordLengths::up_to
                              : question.options.at("read") == "all" ? WordLengths::everywhere
                                                                     : WordLengths::exactly;
  const Automaton& least = question.followed->least;
  const AutomatonClasses classes(least, lengths);
  auto v =
      cut_verdict(theorem, setting, question,
                  {.prefix = "the letters up to some cut",
                   .symbolic = "lg(classes)",
                   .classes = [&](std::int64_t n) { return std::optional(Count::power(classes.at(n), 1)); },
                   .n = question.size("n")});
  v.parameters["states"] = static_cast<std::int64_t>(least.state_count());
  // Room for all classes of the automaton is room for ever: what is open is another question.
  v.elsewhere = v.elsewhere || (v.outcome == Outcome::vacuous && !v.horizon);
  return v;
}

std::optional<Verdict> recurrent_copy(const Theorem& theorem, const Setting& setting,
                                      const Question& question) {
  const std::int64_t n = question.size("n"), sigma = question.size("sigma");
  const std::int64_t places = question.task == "copy" ? n : question.size("m");
  auto v = cut_verdict(theorem, setting, question,
                       {.prefix = "the word",
                        .symbolic = "n lg sigma",
                        .classes = [=](std::int64_t k) { return std::optional(Count::power(sigma, k)); },
                        .n = n,
                        .tokens_each = (places + n - 1) / n});
  v.parameters["sigma"] = sigma;
  return v;
}

// Places that w letters can lead the mark to.
std::int64_t tracked_places(TrackedGroup group, std::int64_t n, std::int64_t w) {
  if (group != TrackedGroup::bits) return w >= n ? n : std::min(n, w + 1);
  const auto bits = static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(n))) - 1;
  std::int64_t places = 0, choose = 1;
  for (std::int64_t ones = 0; ones <= std::min(bits, w); ++ones) {
    places += choose;
    choose = choose * (bits - ones) / (ones + 1);
  }
  return places;
}

std::optional<Verdict> recurrent_tracked(const Theorem& theorem, const Setting& setting,
                                         const Question& question) {
  const std::int64_t n = question.size("n"), sigma = question.size("sigma"), w = question.size("w");
  const bool follows = sigma == n;  // the default: as many values as pairs
  const TrackedGroup group = tracked_group(question.options.at("group"));
  auto v = cut_verdict(
      theorem, setting, question,
      {.prefix = "the n pairs, keys in order",
       .symbolic = follows ? "r lg n" : "r lg sigma",
       .classes = [=](std::int64_t k) -> std::optional<Count> {
         if (k < 2 || (group == TrackedGroup::bits && !std::has_single_bit(static_cast<std::uint64_t>(k))))
           return std::nullopt;
         return Count::power(follows ? k : sigma, tracked_places(group, k, w));
       },
       .n = n});
  v.parameters["sigma"] = sigma;
  v.parameters["w"] = w;
  return v;
}

}  // namespace

std::vector<Theorem> recurrent_tracking_theorems() {
  return {
      {.id = "automaton-states",
       .tasks = kAutomatonTasks,
       .automata = true,
       .options = kAutomatonForms,
       .variants = kEveryPrompt,
       .evaluate = automaton_states},
      {.id = "recurrent-copy",
       .tasks = {"copy", "selective-copy"},
       .variants = kEveryPrompt,
       .evaluate = recurrent_copy},
      {.id = "recurrent-tracked-recall",
       .tasks = {"tracked-recall"},
       .options = kTrackedForms,
       .variants = kEveryPrompt,
       .evaluate = recurrent_tracked},
  };
}

}  // namespace rung
