// 2-Sum-exists by two full layers.
//
// Claim: two full layers with two heads of dimension 3 decide whether x_i + x_j ≡ 0 (mod M) for some i ≠ j.
// Reference: Sanford, Hsu, Telgarsky 2306.02896 (one query token); the second layer and the blank are ours.
//
// Layer 1, head A: every token matches the earlier ones by cosines with the counting blank
// (trigonometric_match.h); the blank is the first position, whose key is 0 (cosine_head.h). y_A = 16
// cnt/(cnt+1). A token with 2x ≡ 0 matches itself, so it asks for y > 7/12, the others for y > 1/4. Head B:
// every token reads the bits of x_1, which the blank hides from head A, and the MLP compares them with its
// own partner. Invariant after layer 1: flag is 1 at token j iff x_j pairs with an earlier token. Layer 2:
// the last token weighs flagged tokens by e^g, g = ⌈log 4n⌉: y >= 4/5 if there is one, 0 if not.
#include <algorithm>

#include "rung/constructions/construction.h"
#include "rung/constructions/cosine_head.h"
#include "rung/constructions/relu_gadgets.h"
#include "rung/constructions/retrieval_head.h"

namespace rung {
namespace {

Result<Construction> build_exists(const ConstructionRequest& request) {
  RUNG_TRY(const std::shared_ptr<const Task> task, make_task("two-sum-exists", request.sizes));
  const std::int64_t n = task->size()["n"], M = task->size()["M"];
  const int digits = digits_for(M);
  const std::int64_t gain = presence_gain(n);
  const std::optional<int> proved = exists_precision_proved(n, M);
  if (!proved && !request.precision)
    return fail(
        ErrorCode::resource,
        "[build] two-sum-exists at n = {}, M = {} needs more than {} bits; expected a smaller modulus", n, M,
        kMaxTrigonometricFraction + kSignAndOne);
  const int p = request.precision.value_or(proved.value_or(2)), f = p - kSignAndOne;
  if (f > kMaxTrigonometricFraction)
    return fail(ErrorCode::range, "[build] two-sum-exists at {} bits; at most {} expected", p,
                kMaxTrigonometricFraction + kSignAndOne);
  const TrigonometricMatch match = trigonometric_match(n, M, Blank::counting, f);
  const std::int64_t one = match.one();

  ModelWriter model(*task, p);
  const CosineHead head(model, match, 0, "first", "head A's query", "0: the counting blank");
  const Slot other = model.slot("other", 1, "-2^f; at the first position 0: head B's key");
  const Slot real = model.slot("value", 1, "1; at the first position 0");
  const Slot unit = model.slot("one", 1, "1");
  const Slot bits = model.slot("bits", digits, "bits of x");
  const Slot partner = model.slot("partner", digits, "bits of (M - x) mod M");
  const Slot self = model.slot("self", 1, "1 iff 2x ≡ 0 (mod M)");
  const Slot y = model.slot("y", 1, "0, then 16 cnt/(cnt+1)");
  const Slot first = model.slot("first", digits, "0, then 16 times the bits of x_1");
  const Slot flag = model.slot("flag", 1, "0, then 1 iff an earlier token pairs with this one");
  const Slot found = model.slot("found", 1, "0, then whether some token is flagged");
  auto& token = model.field_table("token", M);
  for (std::int64_t x = 0; x < M; ++x) {
    token.set(x, other.at(0), -one);
    token.set(x, real.at(0), 1);
    token.set(x, unit.at(0), 1);
    token.set(x, self.at(0), (2 * x) % M == 0);
    for (std::int64_t d = 0; d < digits; ++d) {
      token.set(x, bits.at(d), x >> d & 1);
      token.set(x, partner.at(d), (M - x) % M >> d & 1);
    }
  }
  auto& position = model.position_table();
  position.set(0, other.at(0), one);
  position.set(0, real.at(0), -1);

  LayerWriter& layer =
      model.layer(fmt::format("full(heads=2,dim=3,vdim={})", digits), "match earlier numbers; read x_1");
  head.write(layer, match);
  layer.map("v").set(0, real.at(0), 1);
  layer.map("o").set(y.at(0), 0, 1);
  layer.map("q").set(3, head.base.at(0), 1);
  layer.map("k").set(3, other.at(0), 1);
  layer.map("v").select(digits, bits, 1);
  layer.map("o").write(first, digits, 1);
  layer.scalar("value.scale", kCountingSteps);
  ReluCircuit& mlp = layer.mlp();
  const Number share = mlp.input(y.at(0), 0, kCountingSteps), itself = mlp.input(self.at(0), 0, 1),
               later = mlp.input(real.at(0), 0, 1);
  // [y >= bar] with bar raised for tokens that match themselves: y + (raise)(1 - self) >= kMoreThanItself.
  const Number matched = at_least(mlp, share + (kMoreThanItself - kAnyMatch) * (1 - itself), kMoreThanItself);
  Bits read;
  for (std::int64_t d = 0; d < digits; ++d)
    read.push_back(at_least(mlp, mlp.input(first.at(d), 0, kCountingSteps), kCountingSteps / 2));
  const Number with_first = same_bits(mlp, read, slot_inputs(mlp, partner));
  mlp.add(flag.at(0), all_of(mlp, {later, any_of(mlp, {matched, with_first})}));
  layer.after(
      "y: 16 cnt/(cnt+1), cnt the matches after x_1 (itself too if 2x ≡ 0); first: 16 times the bits of x_1; "
      "flag: 1 iff an earlier token pairs with this one");

  LayerWriter& last = model.layer("full(heads=1,dim=1,vdim=1)", "is any token flagged");
  last.map("q").set(0, unit.at(0), gain);
  last.map("k").set(0, flag.at(0), 1);
  last.map("k").set(0, unit.at(0), -1);
  last.map("v").set(0, flag.at(0), 1);
  last.map("o").set(found.at(0), 0, 1);
  last.scores(score_table(gain, 1, weight_fraction(n, kWeightGuard)));
  last.after("found: at the last position, 1 iff some token is flagged");
  model.output_yes(found, 2, 1);
  RUNG_TRY(
      Construction made,
      finish_construction(model, task, "Two full layers with two heads of dimension 3 solve 2-Sum-exists.",
                          "Sanford, Hsu, Telgarsky 2306.02896; second layer and blank ours"));
  made.p_proved = proved;
  made.lemma = fmt::format("cosines with f = {} fraction bits (closed rule: {}), c = {:.1f}, p = f + 2", f,
                           trigonometric_fraction(n, M), match.scale);
  made.interval = [match] { return any_pair_argument(match); };
  return made;
}

}  // namespace

ConstructionWord two_sum_exists_construction() {
  return {.name = "two-sum-exists",
          .summary = "two numbers that sum to 0 mod M: two layers, heads of dimension 3",
          .task = "two-sum-exists",
          .build = build_exists};
}

}  // namespace rung
