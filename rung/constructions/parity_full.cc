// Parity of up to n letters by one full layer without positions, by counting.
//
// Claim: one softmax head with p = ⌈lg N⌉ + 3 bits, N = n, answers parity on all words of up to n letters
// (and on no longer ones: docs/theorems.md, aperiodicity). Reference: ours.
//
// The token ^ has weight N and value 1, the letter 1 weight 1 and value 0, the letter 0 weight 0: after k
// ones the head reads round(c N / (N + k)) with c = 4N. Two neighbours differ by c N / ((N + k)(N + k +
// 1)) ≥ 4N²/(2N(2N + 1)) ≥ 1 before rounding where k < N, so the numbers of 0 … N ones are all different
// after it only where they differ by 1 at least: for k + 1 ≤ N, (N + k)(N + k + 1) ≤ 2N(2N − 1) < 4N².
// MLP: parity = Σ_k ± [y ≥ y_k], y_k the number of k ones, two units each.
#include "rung/constructions/automaton_forms.h"
#include "rung/constructions/relu_gadgets.h"

namespace rung {

Result<Construction> build_parity_full(const ConstructionRequest& request, const SharedTask& task) {
  const Automaton& a = *task->automaton();
  const std::int64_t n = task->size()["n"];
  if (n > kMostCountedLetters)
    return fail(ErrorCode::resource, "[build] n = {}; at most {} letters can be counted here", n,
                kMostCountedLetters);
  const int proved = parity_full_bits(n);
  const int p = request.precision.value_or(proved);
  const std::int64_t scale = 4 * n;
  const auto read = [n, scale,
                     p](std::int64_t ones) {  // quot(N, N + k, c), as the machine rounds it, cut to p bits
    const std::int64_t quotient = (2 * scale * n + n + ones) / (2 * (n + ones));
    return std::min(quotient, (std::int64_t{1} << (p - 1)) - 1);
  };

  ModelWriter model(*task, p);
  const Slot score = model.slot("score", 1, "2 at ^, 1 at a one, 0 at a zero");
  const Slot first = model.slot("first", 1, "1 at ^");
  const Slot share = model.slot("share", 1, "0 at first, then 4N·N/(N + number of ones), rounded");
  const Slot answer = model.slot("answer", 1, "0 at first, then the parity");
  auto& token = model.field_table("token", 3);
  token.set(1, score.at(0), 1);
  token.set(2, score.at(0), 2);
  token.set(2, first.at(0), 1);
  LayerWriter& layer = model.layer("full(heads=1,dim=1,vdim=1)", "one count");
  layer.map("q").bias(0, 1);
  layer.map("k").set(0, score.at(0), 1);
  layer.map("v").set(0, first.at(0), 1);
  layer.table("score", 0, {0, 1, n});
  layer.scalar("value.scale", scale);
  layer.map("o").set(share.at(0), 0, 1);
  layer.after(share.holds);
  const Number y = layer.mlp().input(share.at(0), 0, (std::int64_t{1} << (p - 1)) - 1);
  Number parity(n % 2);
  // From few shares, which are many ones, upwards: where y reaches y_k the count is k or less.
  for (std::int64_t ones = n - 1; ones >= 0; --ones)
    parity = parity + (ones % 2 == 0 ? -1 : 1) * at_least(layer.mlp(), y, read(ones));
  layer.mlp().add(answer.at(0), parity.within(0, 1));
  layer.after(answer.holds);
  output_answer(model, a, answer);

  RUNG_TRY(Construction made,
           finish_construction(model, task, "One full layer answers parity of up to n letters.",
                               "counting by shares"));
  made.p_proved = proved;
  made.lemma = fmt::format("shares of 0 to {} ones differ by 1 at least: scale {}", n, scale);
  made.interval = [p, n, read] {
    bool apart = true;
    for (std::int64_t ones = 0; ones < n; ++ones) apart = apart && read(ones) > read(ones + 1);
    return exact_argument(apart, "the shares of all numbers of ones up to n are different");
  };
  return made;
}

}  // namespace rung
