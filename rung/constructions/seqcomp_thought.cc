// L-SeqComp by one full layer and a chain of thought.
//
// Claim: one full layer with two heads solves L-SeqComp in L+1 written tokens: u_0 = z_0, u_t = w_t N_{t-1} +
// i_t for t < L, u_L = i_L. Reference: the number of tokens is ours (L+1 for this prompt order; Chen, Peng,
// Wu 2412.02975 count L steps).
//
// Keys are codes of (function, argument) in place of positions, so that the query is an affine function of
// the written token: the position says which function comes next, the token is the argument. z_0 has the code
// (0, N_{L-1}), which is what `=` (token N_{L-1}) asks for; w_k has (L+1, k); `=` and written tokens have
// codes (L+2, ·) that nobody asks for. Invariant at step t: A holds the bits of i_t (z_0 at t = 0), B those
// of w_t; the MLP writes u_t.
#include "rung/constructions/seqcomp_rows.h"

namespace rung {

Result<Construction> build_seqcomp_thought(const SeqCompRows& rows, const ConstructionRequest& request) {
  const SeqCompLayout& layout = rows.layout();
  const std::int64_t L = rows.levels(), T = rows.positions(), keys = T + L;
  const int level_digits = digits_for(L + 3), argument_digits = rows.token_digits(),
            D = level_digits + argument_digits;
  const int p = request.precision.value_or(retrieval_precision_proved(D, keys));
  const RetrievalGadget gadget = retrieval_gadget(D, keys, p);
  const bool branches = L >= 2;

  ModelWriter model(*rows.task(), p);
  model.context(T + L + 1);
  model.decode({.steps = L + 1});
  const Slot code = model.slot("code", D, "code of (argument, function) of the position, -1 or 1");
  const Slot bits = model.slot("bits", rows.value_digits(), "bits of the token");
  const Slot one = model.slot("one", 1, "1");
  const Slot target_a = model.slot("target A", D, "code of (the token, the function of this step), -1 or 1");
  const Slot a = model.slot("A", rows.value_digits(), "0, then what head A read: i_t");
  const Slot step = model.slot(
      "step", L, "unit vector of the step t = 0 .. L-1 at `=` and written tokens, 0 at t = L and elsewhere");
  const Slot result = model.slot("result", rows.value_digits(), "0, then the bits of u_t");
  Slot target_b, b;
  if (branches) {
    target_b = model.slot("target B", D, "code of (t, the place of w), -1 or 1, where w_t is needed; else 0");
    b = model.slot("B", rows.branch_digits(), "0, then what head B read: w_t");
  }
  Slot argument = target_a;
  argument.size = argument_digits;
  auto& token = model.field_bits("token", argument_digits);
  token.code(bits, 0, 1);
  token.constant(one, {1});
  token.code(argument, -1, 1);
  auto& position = model.position_table();
  const auto write_code = [&](std::int64_t t, const Slot& slot, std::int64_t level, std::int64_t at,
                              bool with_argument) {
    const auto low = signed_code(at, argument_digits), high = signed_code(level, level_digits);
    for (std::int64_t d = 0; with_argument && d < argument_digits; ++d)
      position.set(t, slot.at(d), low[static_cast<std::size_t>(d)]);
    for (std::int64_t d = 0; d < level_digits; ++d)
      position.set(t, slot.at(argument_digits + d), high[static_cast<std::size_t>(d)]);
  };
  for (std::int64_t l = 1; l <= L; ++l)
    for (std::int64_t j = 0; j < layout.domain(l - 1); ++j)
      write_code(layout.table_position(l) + j, code, l, j, true);
  write_code(layout.start_position(), code, 0, layout.equals_token(), true);
  for (std::int64_t l = 1; l < L; ++l) write_code(layout.branch_position(l), code, L + 1, l, true);
  for (std::int64_t t = 0; t <= L + 1; ++t) {  // `=` and the written tokens; the last is never asked
    write_code(T - 1 + t, code, L + 2, t, true);
    if (t > L) break;
    write_code(T - 1 + t, target_a, t, 0, false);
    if (t >= 1 && t < L) write_code(T - 1 + t, target_b, L + 1, t, true);
    if (t < L) position.set(T - 1 + t, step.at(t), 1);
  }

  std::vector<RetrievalHead> heads{{code, target_a, one, coordinates(bits), coordinates(a)}};
  if (branches) {
    RetrievalHead second = read_at(code, one, 0, bits, b);
    second.constant.reset();
    second.target = target_b;
    heads.push_back(second);
  }
  LayerWriter& layer = model.layer(retrieval_mixer(gadget, heads), "one step");
  write_retrieval(layer, gadget, heads);
  ReluCircuit& mlp = layer.mlp();
  Number written = recombined(restored_slot(mlp, a));
  if (branches) {
    const Number w = recombined(restored_slot(mlp, b));
    const Bits steps = slot_inputs(mlp, step);
    for (std::int64_t t = 1; t < L; ++t)
      written = written + gated(mlp, steps[static_cast<std::size_t>(t)], layout.domain(t - 1) * w);
  }
  const Bits digits = decoded(mlp, clamped(mlp, written, (std::int64_t{1} << result.size) - 1),
                              static_cast<int>(result.size));
  for (std::int64_t d = 0; d < result.size; ++d) mlp.add(result.at(d), digits[static_cast<std::size_t>(d)]);
  layer.after("A: at step t, the bits of i_t (z_0 at t = 0); B: those of w_t; result: the bits of u_t");
  model.output_bits(result);
  return rows.finish(model, gadget, keys,
                     "One full layer with two heads and L+1 written tokens solve L-SeqComp.",
                     "chain of thought, L+1 tokens for this prompt order");
}

}  // namespace rung
