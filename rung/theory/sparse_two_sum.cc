// 2-Sum-last against one (B,k)-sparse layer.
//
// Claim, common compression (no positions in the tokens). More than k complete blocks and b_cmp < lg C(M, B):
// two B-sets A, A' have one message; v in A but not A', query -v, all blocks A'. Replace a block that is not
// selected by A: messages, selection and read tokens stay, the answer flips.
// Claim, position-dependent compression. Let d* be the largest d with Σ_{j<=B} C(d,j) <= 2^b_cmp. If d* < M -
// B, impossible as soon as (1 - d*/M) n/B > k: some value is undetermined in more than k blocks.
// b_cmp counts what a block hands over: key and value of all heads. A window of w tokens adds ⌈w/B⌉+1 blocks
// to k, groups that select separately multiply it. Overlapping compression windows are not covered; two
// sparse layers are open; so is a layer that scores tokens one by one, where a block hands over no message at
// all. Holds in every arithmetic with the bits stored. Status: proved. No chain of thought.
#include <fmt/format.h>

#include "rung/spec/mixers.h"
#include "rung/theory/horizon.h"
#include "rung/theory/theorem_groups.h"

namespace rung {
namespace {

std::optional<Verdict> sparse_two_sum(const Theorem& theorem, const Setting& setting,
                                      const Question& question, bool positions) {
  const Word& word = setting.word;
  if (word.letters.empty() || setting.layers[word.letters.front().layer].mixer.kind != MixerKind::sparse)
    return std::nullopt;
  const bool own = setting.architecture.dimensions.position != PositionCode::none;
  if (own != positions) return std::nullopt;
  const MixerShape& m = setting.layers[word.letters.front().layer].mixer;
  Verdict v = verdict_of(theorem, question);
  v.require("one sparse layer, nothing else mixes positions", word.letters.size() == 1,
            "word " + word.folded);
  v.require("no chain of thought", !setting.chain_of_thought);
  v.require("a block is ranked and read through its compression", !m.token_scores,
            m.token_scores ? "its tokens are scored one by one" : "");
  if (!m.token_scores && !assumptions_of(m).block_messages)
    v.require("one compression a block, and a selection on top of the own block", false, "form=released");
  if (!v.all_hold()) return v;
  const std::int64_t n = question.size("n"), M = question.size("M");
  SparseLayer layer{.block = m.block,
                    .selected = m.select * std::max<std::int64_t>(1, m.groups) +
                                (m.window ? window_blocks(*m.window, m.block) : 0),
                    .message_bits = Integer(m.kv_heads) * (m.key_dim + m.value_dim) * setting.p(),
                    .position_dependent = positions};
  const Integer sets = positions ? Integer(M) - m.block : Integer(M);
  std::optional<Count> classes;
  if (sets >= m.block)
    classes = positions ? Count::subsets_or_empty(sets, m.block) : Count::binomial(sets, m.block);
  v.left = classes ? classes->lg() : 0.0;
  v.right = layer.message_bits.convert_to<double>();
  v.margin = *v.left / *v.right;
  const bool impossible = sparse_two_sum_impossible(layer, n, M);
  v.require(fmt::format("more than {} complete blocks left undetermined", layer.selected),
            n / m.block > layer.selected, fmt::format("{} blocks of {}", n / m.block, m.block));
  v.require(positions ? "d* < M - B and (1 - d*/M) n/B > k" : "lg C(M,B) > b_cmp", impossible,
            fmt::format("{:.6g} against {} bits per block", *v.left, layer.message_bits.str()));
  v.outcome = impossible ? Outcome::impossible : Outcome::vacuous;
  const bool follows = M == 2 * n + 1;
  const Modulus modulus = follows ? Modulus{Modulus::Rule::twice_plus_one} : Modulus{Modulus::Rule::fixed, M};
  if (const auto from = sparse_two_sum_certified_from(layer, modulus)) {
    v.horizon = *from - 1;
    v.parameters["certified_from"] = *from;
  }
  v.parameters["n"] = n;
  v.parameters["M"] = M;
  v.parameters["B"] = m.block;
  v.parameters["k"] = layer.selected;
  v.parameters["b_cmp"] = json_number(layer.message_bits);
  v.argument = {fmt::format("Every block of {} tokens hands over {} bits; {} blocks are read in full.",
                            m.block, layer.message_bits.str(), layer.selected),
                fmt::format("Sets that a block can hold: {:.6g} bits.", *v.left),
                impossible
                    ? "Two sets with one message; an unselected block changes from one to the other "
                      "and the answer flips."
                    : "The message is long enough, or too few blocks are left unread: vacuous at this size."};
  return v;
}

std::optional<Verdict> common(const Theorem& t, const Setting& s, const Question& q) {
  return sparse_two_sum(t, s, q, false);
}
std::optional<Verdict> positional(const Theorem& t, const Setting& s, const Question& q) {
  return sparse_two_sum(t, s, q, true);
}

}  // namespace

std::vector<Theorem> sparse_theorems() {
  return {
      {.id = "sparse-two-sum", .tasks = {"two-sum"}, .variants = kEveryPrompt, .evaluate = common},
      {.id = "sparse-two-sum-positions",
       .tasks = {"two-sum"},
       .variants = kEveryPrompt,
       .evaluate = positional},
  };
}

}  // namespace rung
