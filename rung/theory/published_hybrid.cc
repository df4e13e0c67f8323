// The hybrid theorem as it is published, beside the counts of pattern.cc.
//
// Claim (paper 2602.01763, main theorem). An (L-1, a_1, .., a_{L-1})-hybrid has L-1 full layers, the k-th
// followed by a_k linear ones. If every a_k <= 2^(3L²) and H d p is sub-polynomial in the number n of
// tokens, it does not solve L-SeqComp.
//
// Size condition. "Sub-polynomial" has no number. The argument is that of Chen, Peng, Wu 2412.02975, whose
// condition is H d p <= n^(2^(-4L)), and this is what is evaluated: left is n^(2^(-4L)), right H d p. One H
// d p has to cover every layer: H d p of a full layer, and ⌈s / (d+1)⌉ of a recurrent one with s state bits
// (linear attention has H d (d+1) p of them), d the largest head dimension of the full layers.
//
// Never impossible here. The published statement leaves open which table sizes m, n_l are meant and from
// which n on, so where its condition holds (H d p = 1 alone, at lengths below 2^256) the verdict is open,
// and everywhere else vacuous. What can be said at actual sizes the counts of pattern.cc say; a test asks
// them about published hybrids with all 2^(3L²) layers a gap, and they say impossible at a tiny part of the published
// length. Not covered as published: recurrence in front of the first full layer (the tuple counts layers
// behind full ones), heads of both kinds in one layer.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "rung/theory/inequality.h"
#include "rung/theory/theorem_groups.h"

namespace rung {
namespace {

// 2^(4L), the root that the condition takes; from 2^60 on 2^60, where the condition is as far out of reach.
Integer published_root(int L) { return Integer(1) << static_cast<unsigned>(std::min(4 * L, 60)); }

struct PublishedHead {
  Integer dim = 0, hdp = 0;
};
void widen(PublishedHead& head, const MixerShape& m, int p) {
  if (m.kind == MixerKind::heads) {
    PublishedHead all{head.dim, 0};
    for (const auto& part : m.parts) {
      PublishedHead own{0, 0};
      widen(own, part, p);
      all.dim = std::max(all.dim, own.dim);
      all.hdp += own.hdp;
    }
    head = {all.dim, std::max(head.hdp, all.hdp)};
    return;
  }
  const Integer dim = std::max(m.key_dim, m.value_dim);
  head.dim = std::max(head.dim, dim);
  head.hdp = std::max(head.hdp, Integer(m.heads * dim * p));
}

std::optional<Verdict> published_hybrid(const Theorem& theorem, const Setting& setting,
                                        const Question& question) {
  const Word& word = setting.word;
  const int L = question.L;
  const std::size_t full = word.full_letters();
  if (L < 2 || full < 1 || full > static_cast<std::size_t>(L - 1) || word.uncovered() || word.selects())
    return std::nullopt;
  Verdict v = verdict_of(theorem, question);
  v.require("#F <= L-1", true, fmt::format("word {}, #F = {}, L = {}", word.folded, full, L));
  v.require("full and recurrent heads in layers of their own", !word.head_wise());
  v.require("no recurrence before the first full layer", word.letters.front().kind == WordLetter::Kind::full);
  std::size_t longest = 0, run = 0;
  for (const auto& letter : word.letters) {
    run = letter.kind == WordLetter::Kind::full ? 0 : run + 1;
    longest = std::max(longest, run);
  }
  const bool few = 3 * L * L >= 60 || longest <= (std::size_t{1} << (3 * L * L));
  v.require(fmt::format("at most 2^{} linear layers behind each full one", 3 * L * L), few,
            fmt::format("{}", longest));
  v.require("exact integer sums (mode X)", setting.exact_sums(), setting.mode_x());
  v.require("causal", setting.causal());
  v.require("no chain of thought", !setting.chain_of_thought);
  if (!v.all_hold()) return v;

  PublishedHead head;
  for (const auto& letter : word.letters)
    if (letter.kind == WordLetter::Kind::full) widen(head, setting.layers[letter.layer].mixer, setting.p());
  for (const auto& letter : word.letters)
    if (letter.kind == WordLetter::Kind::recurrent)
      head.hdp = std::max(head.hdp, ceil_ratio(letter.state.after(question.prompt), head.dim + 1));
  const Integer root = published_root(L);
  const double lg_n = std::log2(static_cast<double>(question.prompt)),
               lg_certified = std::log2(head.hdp.convert_to<double>()) * root.convert_to<double>();
  v.left = std::exp2(lg_n / root.convert_to<double>());
  v.right = head.hdp.convert_to<double>();
  v.parameters["L"] = L;
  v.parameters["layers_per_gap"] = static_cast<std::int64_t>(longest);
  v.parameters["H_d_p"] = json_number(head.hdp);
  v.parameters["tokens"] = question.prompt;
  v.parameters["lg_certified_from"] = lg_certified;
  v.argument = {
      fmt::format("H d p = {} covers every layer; up to {} linear layers stand behind a full one, and up "
                  "to 2^{} may.",
                  head.hdp.str(), longest, 3 * L * L),
      fmt::format("The condition H d p <= n^(2^(-{})) needs lg n >= 2^{} lg {} = {:.6g}; here lg n = {:.4g}.",
                  4 * L, 4 * L, head.hdp.str(), lg_certified, lg_n),
      "The statement names no table sizes, so it decides no prompt by itself; the counts do."};
  if (lg_certified <= lg_n) {
    v.require("n is large enough for L, at the table sizes of the proof", false,
              "neither is published as a number");
    return v;
  }
  if (root * bit_length(head.hdp) <= Integer(1) << 17)
    v.horizon = boost::multiprecision::pow(head.hdp, root.convert_to<unsigned>());
  v.require("H d p <= n^(2^(-4L))", false, fmt::format("{} against {:.6g}", head.hdp.str(), *v.left));
  v.outcome = Outcome::vacuous;
  return v;
}

}  // namespace

std::vector<Theorem> published_theorems() {
  return {
      {.id = "hybrid-published",
       .tasks = {"seqcomp"},
       .options = kHardOrder,
       .variants = kEveryPrompt,
       .evaluate = published_hybrid},
  };
}

}  // namespace rung
