// 2-Sum-last against one layer of learned token selection (topk; DeepSeek's sparse attention is one).
//
// The paper's bound for sparse attention is about compressed blocks and leaves learned selection out. What
// its argument says of it: a token hands over its index key, b bits, and the query reads k tokens in full,
// which is a block-sparse layer with B = 1 whose blocks hand over the index key alone.
//
// Claim, no positions in the tokens. 2^b < M and n > k: two values a, a' have one index key. Query -a, all
// n tokens a': the answer is 0. Replace a token that is not selected by a: index keys, selection and read
// tokens stay, the answer is 1.
// Claim, index keys that see positions. At a place t at most 2^b - 1 values have an index key of their own
// (all M do not, so one key is shared). On the average over the values, hence for some v, at least n (1 -
// (2^b - 1) / M) places share the key of v with another value. If that is more than k, put the other value
// there, anything but v elsewhere, ask -v, and flip a place that is not selected.
// So lg M bits of index key are needed for a token, where a block of B tokens needs lg C(M,B); no more is
// claimed, and with 2^b >= M nothing is. Holds in every arithmetic with the bits stored. Status: proved.
// One layer, no chain of thought.
#include <fmt/format.h>

#include "rung/theory/horizon.h"
#include "rung/theory/theorem_groups.h"

namespace rung {
namespace {

std::optional<Verdict> selection_two_sum(const Theorem& theorem, const Setting& setting,
                                         const Question& question) {
  const Word& word = setting.word;
  if (word.letters.empty() || setting.layers[word.letters.front().layer].mixer.kind != MixerKind::topk)
    return std::nullopt;
  const MixerShape& m = setting.layers[word.letters.front().layer].mixer;
  Verdict v = verdict_of(theorem, question);
  v.require("one layer that selects tokens, nothing else mixes positions", word.letters.size() == 1,
            "word " + word.folded);
  v.require("no chain of thought", !setting.chain_of_thought);
  if (!v.all_hold()) return v;
  const std::int64_t n = question.size("n"), M = question.size("M");
  const SparseLayer layer{
      .block = 1,
      .selected = m.select,
      .message_bits = Integer(m.index_dim) * setting.p(),
      .position_dependent =
          setting.architecture.dimensions.position != PositionCode::none || m.form.index_rope != Rope::none};
  v.left = Count::binomial(M, 1).lg();
  v.right = layer.message_bits.convert_to<double>();
  v.margin = *v.left / *v.right;
  const bool impossible = sparse_two_sum_impossible(layer, n, M);
  v.require(layer.position_dependent ? "2^b < M and (1 - (2^b - 1)/M) n > k" : "lg M > b and n > k",
            impossible,
            fmt::format("{:.6g} against {} bits of index key; {} of {} tokens are read", *v.left,
                        layer.message_bits.str(), m.select, n));
  v.outcome = impossible ? Outcome::impossible : Outcome::vacuous;
  const Modulus modulus =
      M == 2 * n + 1 ? Modulus{Modulus::Rule::twice_plus_one} : Modulus{Modulus::Rule::fixed, M};
  if (const auto from = sparse_two_sum_certified_from(layer, modulus)) {
    v.horizon = *from - 1;
    v.parameters["certified_from"] = *from;
  }
  v.parameters["n"] = n;
  v.parameters["M"] = M;
  v.parameters["k"] = m.select;
  v.parameters["b_index"] = json_number(layer.message_bits);
  v.argument = {fmt::format("Every token hands over an index key of {} bits; {} tokens are read in full.",
                            layer.message_bits.str(), m.select),
                impossible
                    ? "Two values with one index key; a token that is not selected changes from one to the "
                      "other and the answer flips."
                    : "Every value can have an index key of its own, or too few tokens are left unread: "
                      "vacuous at this size."};
  return v;
}

}  // namespace

std::vector<Theorem> selection_theorems() {
  return {
      {.id = "selection-two-sum",
       .tasks = {"two-sum"},
       .variants = kEveryPrompt,
       .evaluate = selection_two_sum},
  };
}

}  // namespace rung
