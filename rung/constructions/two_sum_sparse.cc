// 2-Sum-last by (B, 1)-sparse attention with B slot heads.
//
// Claim (tight): one sparse layer with H = B heads of dimension 2⌈lg M⌉ and p = O(log log n) bits solves
// 2-Sum-last when B divides n (B + 1 heads otherwise): b_cmp = O(B lg M log log n) bits a block. No sparse
// layer with b_cmp < lg C(M', B) does. Reference: ours.
//
// Head h's compression keeps the h-th token of each block: key and value are its code c(x_j) in {±1}^D. The
// last token asks for the code of -x mod M. With weights w_j the output is V Σ w_j c(x_j), and Σ_d (V -
// c_d(target) output_d) = 2V Σ w_j distance_j: at most 2V R max_h h E[-2βh]/E[0] if a block holds the match
// in slot h (R blocks), at least 2V if none does (every distance is at least 1). V lies between, so no blank
// is needed. Rounding the D coordinates moves the sum by at most D/2. Deviation from the usual form:
// distances decide in place of a blank token, which a compression shared by all blocks cannot provide.
//
// Input: c(x) at the first n positions, the target c(-x mod M) at the last; the last token itself has key and
// value 0. Layer 1: head h: near_h = V Σ w_j c(x_j) over slot h of all blocks; the last head (B does not
// divide n): over the unfinished block and the selected one. MLP: yes = [Σ_d (V - target_d near_h,d) <= V for
// some h].
#include <cmath>

#include "rung/base/nearest_word.h"
#include "rung/constructions/eva_forms.h"
#include "rung/constructions/relu_gadgets.h"
#include "rung/constructions/retrieval_head.h"

namespace rung {

Result<Construction> build_two_sum_sparse(const ConstructionRequest& request) {
  RUNG_TRY(const std::shared_ptr<const Task> task, make_task("two-sum", request.sizes));
  const std::int64_t n = task->size()["n"], M = task->size()["M"];
  constexpr std::int64_t kMaxTableRows = std::int64_t{1} << 24, kMaxBlock = std::int64_t{1} << 16;
  if (M > kMaxTableRows)
    return fail(ErrorCode::resource,
                "[build] two-sum by sparse keeps a table of M = {} codes; expected at most {}", M,
                kMaxTableRows);
  const std::string asked = request.option("block", "");
  std::int64_t B =
      std::max<std::int64_t>(1, static_cast<std::int64_t>(std::llround(std::sqrt(static_cast<double>(n)))));
  while (asked.empty() && n % B != 0) --B;  // the largest divisor of n up to √n
  if (!asked.empty()) {
    if (asked.size() > 9 || asked.find_first_not_of("0123456789") != std::string::npos ||
        (B = std::stoll(asked)) < 1 || B > std::min(n, kMaxBlock))
      return fail(ErrorCode::range, "[build] block {}; a number in 1..{} expected", rung::quoted(asked),
                  std::min(n, kMaxBlock));
  }
  const std::int64_t rest = n % B, heads = B + (rest > 0 ? 1 : 0), blocks = n / B;
  const int D =
      std::max(2, digits_for(M));  // two digits at least: a token of value 0 counts as distance D/2 >= 1
  const std::int64_t keys = std::max(blocks, rest + B + 1);
  const int proved = slot_precision_proved(D, keys);
  const int p = request.precision.value_or(proved);
  const SlotGadget gadget = slot_gadget(D, keys, p);

  ModelWriter model(*task, p);
  const Slot code = model.slot("code", D, "code of x_j, -1 or 1; 0 at the last token");
  const Slot number = model.slot("number", D, "bits of the token");
  const Slot negative = model.slot("negative", D, "bits of -x mod M");
  const Slot data = model.slot("data", 1, "1 at the first n tokens, 0 at the last");
  const Slot one = model.slot("one", 1, "1");
  const Slot near =
      model.slot("near", heads * D, "after layer 1, at the last token: V Σ w_j c(x_j) of every head");
  const Slot yes =
      model.slot("yes", 1, "after layer 1, at the last token: 1 iff some head is near its target");
  auto& token = model.field_table("token", M);
  for (std::int64_t x = 0; x < M; ++x)
    for (int d = 0; d < D; ++d) {
      token.set(x, number.at(d), x >> d & 1);
      token.set(x, negative.at(d), (M - x) % M >> d & 1);
    }
  auto& position = model.position_table();
  for (std::int64_t t = 0; t <= n; ++t) {
    position.set(t, one.at(0), 1);
    if (t < n) position.set(t, data.at(0), 1);
  }

  // code = 2 number - 1 at data tokens, 0 at the last: a product, so it takes a layer without a mixer.
  LayerWriter& coded = model.layer("none", "codes of the data");
  for (int d = 0; d < D; ++d)
    coded.mlp().add(code.at(d), gated(coded.mlp(), coded.mlp().input(data.at(0), 0, 1),
                                      2 * coded.mlp().input(number.at(d), 0, 1) - 1));
  coded.after(code.holds);

  const std::int64_t width = model.layout().width();
  LayerWriter& layer =
      model.layer(fmt::format("sparse(B={},k=1,heads={},dim={},vdim={})", B, heads, 2 * D, D), "slot heads");
  for (std::int64_t h = 0; h < heads; ++h)
    for (int d = 0; d < D; ++d) {
      const std::int64_t key = h * 2 * D + d, value = h * D + d;
      layer.map("q").set(key, negative.at(d), 2 * gadget.beta);
      layer.map("q").set(key, one.at(0), -gadget.beta);
      layer.map("q").set(key + D, one.at(0), -gadget.beta);
      layer.map("k").set(key, code.at(d), 1);
      layer.map("k").set(key + D, one.at(0), 1);
      layer.map("v").set(value, code.at(d), 1);
      if (h < B) {
        layer.map("compress_k").set(key, h * width + code.at(d), 1);
        layer.map("compress_k").set(key + D, h * width + one.at(0), 1);
        layer.map("compress_v").set(value, h * width + code.at(d), 1);
      }
      layer.map("o").set(near.at(value), value, 1);
    }
  for (std::int64_t h = 0; h < B; ++h)
    layer.map("mix").bias(h, 1);  // slot heads read compressed blocks, the last head tokens
  layer.scores(gadget.scores);
  layer.scalar("value.scale", gadget.scale);
  ReluCircuit& mlp = layer.mlp();
  Bits hits;
  for (std::int64_t h = 0; h < heads; ++h) {
    Number distance;  // Σ_d (V - target_d near_d) = Σ_d V + near_d - 2 [target_d = 1] near_d
    for (int d = 0; d < D; ++d) {
      const Number y = mlp.input(near.at(h * D + d), -gadget.scale, gadget.scale);
      distance = distance + y + gadget.scale - 2 * gated(mlp, mlp.input(negative.at(d), 0, 1), y);
    }
    hits.push_back(1 - at_least(mlp, distance, gadget.scale + 1));
  }
  mlp.add(yes.at(0), any_of(mlp, hits));
  layer.after(near.holds);
  layer.after(yes.holds);
  model.output_yes(yes, 2, 1);

  RUNG_TRY(
      Construction made,
      finish_construction(
          model, task,
          fmt::format("One sparse layer with blocks of {} and {} slot heads solves 2-Sum-last.", B, heads),
          "tight up to lg lg n: b_cmp >= lg C(M', B) (ours)"));
  made.p_proved = proved;
  made.lemma = fmt::format("slots: beta = {}, leak = {:.4f}, V = {}, {} digits, {} keys per head",
                           gadget.beta, gadget.leak, gadget.scale, D, keys);
  made.interval = [gadget] {
    const double gap = 1 - 2 * gadget.leak - gadget.digits / (2.0 * static_cast<double>(gadget.scale));
    return IntervalArgument{
        gadget.holds(), gadget.leak, gadget.holds() ? gap : 0,
        "a match stays below the threshold and every other slot above it, whatever the tokens are"};
  };
  return made;
}

}  // namespace rung
