// L-SeqComp with one recurrent layer: R F^L, and F R F^{L-1}.
//
// Claim: a linear-attention layer in front of, or right behind, the first full layer replaces one full layer:
// it hands z_0 (or i_1) and all w to `=` at once. State: L numbers of ⌈lg N_{L-1}⌉ bits, one bit a stored
// bit. Reference: possible side of the pattern theorem (ours).
//
// R F^L: invariant at `=` after R: w_1 .. w_{L-1} hold the w; target the address of i_1 (from z_0).
// After the l-th F: target the address of i_{l+1}; after the last, fetched holds the bits of i_L.
// F R F^{L-1}: the token of z_0 itself targets base_1 + z_0 (from its embedding) and fetches i_1; R carries
// i_1 in place of z_0. (With columns all numbers lie in the same coordinates: there the MLP of F copies i_1 at z_0, and
// the token's own bits elsewhere.)
#include <algorithm>

#include "rung/constructions/seqcomp_rows.h"

namespace rung {

Result<Construction> build_seqcomp_collected(const SeqCompRows& rows, const ConstructionRequest& request,
                                             bool late) {
  const SeqCompLayout& layout = rows.layout();
  const std::int64_t L = rows.levels(), T = rows.positions();
  const int D = rows.address_digits();
  const CarrierForm form = carrier_form(request);
  const int proved = std::max(retrieval_precision_proved(D, T), form.read_bits(L));
  const int p = request.precision.value_or(proved);
  const RetrievalGadget gadget = retrieval_gadget(D, T, p);

  ModelWriter model(*rows.task(), p);
  const Slot code = model.slot("code", D, "code of the position, -1 or 1");
  const Slot bits = model.slot("bits", rows.value_digits(), "bits of the token");
  const Slot one = model.slot("one", 1, "1");
  const Slot target =
      model.slot("target", D,
                 late ? "code of the position that a lookup reads, -1 or 1; at first base_1 + the token"
                      : "code of the position that a lookup reads, -1 or 1; 0 at first");
  const Slot fetched = model.slot("fetched", rows.value_digits(), "what a lookup read, then 0 again");
  // Behind an early R z_0 is needed in its own MLP alone: it passes through the slot that lookups use.
  Slot value = fetched;
  if (late) value = model.slot("value", rows.value_digits(), "from R on: the bits of i_1");
  const std::vector<Slot> w = branch_slots(model, rows, "R");
  Slot carried = bits;
  if (late && form.columns)
    carried = model.slot("carried", rows.value_digits(),
                         "after F: what was fetched at z_0, the token's bits elsewhere");
  model.position_bits(D).code(code, -1, 1);
  if (late) {  // base_1 + v is no affine function of v's bits: a table
    auto& token = model.field_table("token", layout.equals_token() + 1);
    for (std::int64_t v = 0; v <= layout.equals_token(); ++v) {
      const auto to = signed_code((layout.table_position(1) + v) % (std::int64_t{1} << D), D);
      for (std::int64_t d = 0; d < D; ++d) token.set(v, target.at(d), to[static_cast<std::size_t>(d)]);
      for (std::int64_t d = 0; d < bits.size; ++d) token.set(v, bits.at(d), v >> d & 1);
      token.set(v, one.at(0), 1);
    }
  } else {
    auto& token = model.field_bits("token", rows.token_digits());
    token.code(bits, 0, 1);
    token.constant(one, {1});
  }

  const auto lookup = [&](const std::string& title) -> LayerWriter& {
    const std::vector<RetrievalHead> heads{{code, target, one, coordinates(bits), coordinates(fetched)}};
    LayerWriter& layer = model.layer(retrieval_mixer(gadget, heads), title);
    write_retrieval(layer, gadget, heads);
    return layer;
  };
  const auto aim = [&](LayerWriter& layer, std::int64_t level, const Bits& i, const Bits& branch) {
    ReluCircuit& mlp = layer.mlp();
    overwrite(mlp, target, rows.code_of(mlp, rows.address(mlp, level, branch, i)), -1, 1);
    layer.after(fmt::format("target: at `=`, the code of the position of i_{}", level));
  };

  std::int64_t done = 0;  // i_done is known at `=`
  if (late) {
    LayerWriter& first = lookup("z_0 reads i_1");
    ReluCircuit& mlp = first.mlp();
    const Bits read = restored_slot(mlp, fetched);
    overwrite(mlp, fetched, read);
    first.after("fetched: at z_0, the bits of i_1");
    if (form.columns) {
      const auto there = signed_code(layout.start_position(), D);
      const Bits own_code = slot_inputs(mlp, code, -1, 1), own = slot_inputs(mlp, bits);
      Number agree = 1 - D;
      for (int d = 0; d < D; ++d)
        agree = agree + there[static_cast<std::size_t>(d)] * own_code[static_cast<std::size_t>(d)];
      const Number at_start = mlp.relu(agree).within(0, 1);
      for (std::int64_t d = 0; d < carried.size; ++d)
        mlp.add(carried.at(d),
                chosen(mlp, at_start, read[static_cast<std::size_t>(d)], own[static_cast<std::size_t>(d)]));
      first.after(carried.holds);
    }
    done = 1;
  }
  std::vector<Collected> numbers = collected_numbers(layout, late && !form.columns ? fetched : carried, value,
                                                     late && form.columns ? carried : bits, w);
  Slot packed = fetched;
  if (form.columns && late) packed = packed_slot(model, rows);
  if (form.columns && !late) numbers[0].into.size = 0;
  Collection collected = write_collection(model, form, code, one, numbers, packed,
                                          late ? "hand i_1 and w to =" : "hand z_0 and w to =");
  LayerWriter& collect = collected.layer;
  collect.after(late ? "value: at `=`, the bits of i_1; w_l: those of w_l" : "w_l: at `=`, the bits of w_l");
  if (done < L) {
    aim(collect, done + 1, collected.numbers[0],
        done + 1 >= 2 ? collected.numbers[static_cast<std::size_t>(done)] : Bits{});
    if (late || !form.columns) clear(collect.mlp(), fetched);
  }
  for (std::int64_t l = done + 1; l <= L; ++l) {
    LayerWriter& layer = lookup(fmt::format("read i_{}", l));
    if (l == L) {
      layer.after(fmt::format("fetched: at `=`, the bits of i_{}", L));
      break;
    }
    aim(layer, l + 1, restored_slot(layer.mlp(), fetched),
        slot_inputs(layer.mlp(), w[static_cast<std::size_t>(l)]));
    clear(layer.mlp(), fetched);
  }
  model.output_bits(done == L ? value : fetched);
  RUNG_TRY(
      Construction made,
      rows.finish(model, gadget, T,
                  late ? "F R F^{L-1} solves L-SeqComp: z_0 reads i_1, a recurrence hands it and all w to =."
                       : "R F^L solves L-SeqComp: a recurrence hands z_0 and all w to =, then L lookups.",
                  "possible side of the pattern theorem"));
  made.p_proved = proved;
  return made;
}

}  // namespace rung
