// L-SeqComp by an encoder with ⌈lg(L+1)⌉ + 1 layers.
//
// Claim: where every token sees every other, chains double: ⌈lg(L+1)⌉ + 1 full layers solve L-SeqComp.
// Reference: Chen, Peng, Wu 2412.02975 (statement); the weights are ours.
//
// Layer 1: every token reads z_0 and all w (L heads). Every token stores (cur, next): a token of z_l its
// value and l+1, `=` z_0 and 1, the rest L+1 (nothing to do). A doubling layer reads (cur, next) at the
// address of z_next(w_{next-1}, cur), one head; whoever is done points at itself. Invariant after k
// doublings: (cur, next) of a row that began with next = j is i_{j'-1} of its own chain and j' = min(j + 2^k
// - 1, L+1) at `=`, min(j + 2^k - 1, L+1) elsewhere; `=` has next = min(2^k, L+1).
#include <algorithm>

#include "rung/constructions/seqcomp_rows.h"

namespace rung {

Result<Construction> build_seqcomp_encoder(const SeqCompRows& rows, const ConstructionRequest& request) {
  const SeqCompLayout& layout = rows.layout();
  const std::int64_t L = rows.levels(), T = rows.positions();
  const int D = rows.address_digits(), doublings = digits_for(L + 1);  // ⌈lg(L+1)⌉
  const int p = request.precision.value_or(retrieval_precision_proved(D, T));
  const RetrievalGadget gadget = retrieval_gadget(D, T, p);

  ModelWriter model(*rows.task(), p);
  model.encoder();
  const Slot code = model.slot("code", D, "code of the position, -1 or 1");
  const Slot bits = model.slot("bits", rows.value_digits(), "bits of the token");
  const Slot one = model.slot("one", 1, "1");
  const Slot next = model.slot(
      "next", L + 1, "unit vector: the function that cur is to be put into, 1 .. L; the last: nothing to do");
  const Slot start = model.slot("z_0", rows.value_digits(), "0, from layer 1 on the bits of z_0");
  const std::vector<Slot> w = branch_slots(model, rows, "layer 1");
  const Slot cur = model.slot("cur", rows.value_digits(), "from layer 1 on: the value reached so far");
  const Slot target = model.slot("target", D, "code of the position to read next, -1 or 1; 0 at first");
  const Slot read_cur = model.slot("read cur", rows.value_digits(), "cur of the target, then 0 again");
  const Slot read_next = model.slot("read next", L + 1, "next of the target, then 0 again");
  auto& token = model.field_bits("token", rows.token_digits());
  token.code(bits, 0, 1);
  token.constant(one, {1});
  auto& position = model.position_table();
  for (std::int64_t t = 0; t < T; ++t) {
    const auto digits = signed_code(t, D);
    for (std::int64_t d = 0; d < D; ++d) position.set(t, code.at(d), digits[static_cast<std::size_t>(d)]);
    std::int64_t first = t == layout.equals_position() ? 1 : L + 1;
    for (std::int64_t l = 1; l <= L; ++l)
      if (t >= layout.table_position(l) && t < layout.table_position(l) + layout.domain(l - 1)) first = l + 1;
    position.set(t, next.at(first - 1), 1);
  }

  // target ← the address of z_next(w_{next-1}, cur), or the row's own code when there is nothing to do.
  const auto aim = [&](ReluCircuit& mlp, const Bits& now, const Bits& step,
                       const std::vector<Bits>& branches) {
    Number address;
    for (std::int64_t l = 1; l <= L; ++l) {
      Number place = layout.table_position(l) + recombined(now);
      if (l >= 2)
        place = place + layout.domain(l - 2) * recombined(branches[static_cast<std::size_t>(l - 1)]);
      address = address + gated(mlp, step[static_cast<std::size_t>(l - 1)], place);
    }
    const Bits to = rows.code_of(mlp, clamped(mlp, address, (std::int64_t{1} << D) - 1)),
               own = slot_inputs(mlp, code, -1, 1);
    Bits chosen_code;
    for (std::size_t d = 0; d < to.size(); ++d)
      chosen_code.push_back(chosen(mlp, step.back(), own[d], to[d]));
    overwrite(mlp, target, chosen_code, -1, 1);
  };
  const auto branches_of = [&](ReluCircuit& mlp, bool fresh) {
    std::vector<Bits> branches(1);
    for (std::int64_t l = 1; l < L; ++l) {
      const Slot& slot = w[static_cast<std::size_t>(l)];
      branches.push_back(fresh ? restored_slot(mlp, slot) : slot_inputs(mlp, slot));
      if (fresh) overwrite(mlp, slot, branches.back());
    }
    return branches;
  };

  std::vector<RetrievalHead> collect{read_at(code, one, layout.start_position(), bits, start)};
  for (std::int64_t l = 1; l < L; ++l)
    collect.push_back(read_at(code, one, layout.branch_position(l), bits, w[static_cast<std::size_t>(l)]));
  LayerWriter& first = model.layer(retrieval_mixer(gadget, collect), "everybody reads z_0 and the w");
  write_retrieval(first, gadget, collect);
  {
    ReluCircuit& mlp = first.mlp();
    const Bits step = slot_inputs(mlp, next), begin = restored_slot(mlp, start), own = slot_inputs(mlp, bits);
    Bits now;
    for (std::size_t d = 0; d < own.size(); ++d) now.push_back(chosen(mlp, step.front(), begin[d], own[d]));
    for (std::int64_t d = 0; d < cur.size; ++d) mlp.add(cur.at(d), now[static_cast<std::size_t>(d)]);
    aim(mlp, now, step, branches_of(mlp, true));
    first.after(
        "w_l: the bits of w_l; cur: z_0 at `=`, the own value elsewhere; target: the address of z_next at "
        "(w_{next-1}, cur)");
  }
  for (int k = 1; k <= doublings; ++k) {
    std::vector<std::int64_t> values = coordinates(cur), into = coordinates(read_cur);
    for (const auto c : coordinates(next)) values.push_back(c);
    for (const auto c : coordinates(read_next)) into.push_back(c);
    const std::vector<RetrievalHead> heads{{code, target, one, values, into}};
    LayerWriter& layer = model.layer(retrieval_mixer(gadget, heads),
                                     fmt::format("double: chains of {} functions", std::int64_t{1} << k));
    write_retrieval(layer, gadget, heads);
    if (k == doublings) {
      layer.after(fmt::format("read cur: at `=`, the bits of i_{}", L));
      break;
    }
    ReluCircuit& mlp = layer.mlp();
    const Bits now = restored_slot(mlp, read_cur), step = restored_slot(mlp, read_next);
    overwrite(mlp, cur, now);
    overwrite(mlp, next, step);
    clear(mlp, read_cur);
    clear(mlp, read_next);
    aim(mlp, now, step, branches_of(mlp, false));
    layer.after(fmt::format("cur, next: at `=`, the bits of i_{} and {}",
                            std::min<std::int64_t>((std::int64_t{1} << k) - 1, L),
                            std::min<std::int64_t>(std::int64_t{1} << k, L + 1)));
  }
  model.output_bits(read_cur);
  return rows.finish(model, gadget, T, "An encoder with ⌈lg(L+1)⌉ + 1 full layers solves L-SeqComp.",
                     "Chen, Peng, Wu 2412.02975; weights ours");
}

}  // namespace rung
