// L-SeqComp by L+1 full layers with two heads, or 2L with one.
//
// Claim: L+1 full layers with two heads of dimension 2⌈lg T⌉ solve L-SeqComp at every size. Reference: Chen,
// Peng, Wu 2412.02975 (statement); the weights are ours. Only `=` does work.
//
// Layer 1: head A reads z_0, head B reads w_1. Layer l+1, l = 1..L: head A reads i_l at base_l + w_{l-1}
// N_{l-2} + i_{l-1}, head B reads w_{l+1} (constant positions stand in W_Q). Invariant at `=` after the MLP
// of layer l <= L: target is the address of i_l, held is w_l; after layer L+1: A holds the bits of i_L. (w_l
// comes one layer before it is needed, hence `held`; at L = 2 nothing else comes, and B holds it.)
#include "rung/constructions/seqcomp_rows.h"

namespace rung {

Result<Construction> build_seqcomp_full(const SeqCompRows& rows, const ConstructionRequest& request) {
  const SeqCompLayout& layout = rows.layout();
  const std::int64_t L = rows.levels(), T = rows.positions();
  const int D = rows.address_digits();
  const int p = request.precision.value_or(retrieval_precision_proved(D, T));
  const RetrievalGadget gadget = retrieval_gadget(D, T, p);
  const bool branches = L >= 2;  // L = 1 has no w

  ModelWriter model(*rows.task(), p);
  const Slot code = model.slot("code", D, "code of the position, -1 or 1");
  const Slot bits = model.slot("bits", rows.value_digits(), "bits of the token");
  const Slot one = model.slot("one", 1, "1");
  const Slot target =
      model.slot("target", D, "from layer 1 on: code of the position that head A reads, -1 or 1");
  const Slot a = model.slot("A", rows.value_digits(), "what head A read, then 0 again");
  Slot b, held;
  if (branches) {
    b = model.slot("B", rows.branch_digits(),
                   L == 2 ? "from layer 1 on: the bits of w_1" : "what head B read, then 0 again");
    held = L == 2 ? b : model.slot("held", rows.branch_digits(), "bits of w_l from layer l to layer l+1");
  }
  auto& token = model.field_bits("token", rows.token_digits());
  token.code(bits, 0, 1);
  token.constant(one, {1});
  model.position_bits(D).code(code, -1, 1);

  for (std::int64_t l = 1; l <= L + 1; ++l) {
    std::vector<RetrievalHead> heads{{code, target, one, coordinates(bits), coordinates(a)}};
    if (l == 1) heads[0] = read_at(code, one, layout.start_position(), bits, a);
    if (l < L) heads.push_back(read_at(code, one, layout.branch_position(l), bits, b));
    LayerWriter& layer = model.layer(retrieval_mixer(gadget, heads),
                                     l == 1 ? "read z_0 and w_1" : fmt::format("read i_{}", l - 1));
    write_retrieval(layer, gadget, heads);
    if (l == L + 1) {
      layer.after(fmt::format("A: at `=`, the bits of i_{}", L));
      break;
    }
    ReluCircuit& mlp = layer.mlp();
    const Bits w = l >= 2 ? slot_inputs(mlp, held) : Bits{};
    overwrite(mlp, target, rows.code_of(mlp, rows.address(mlp, l, w, restored_slot(mlp, a))), -1, 1);
    clear(mlp, a);
    layer.after(fmt::format("target: at `=`, the code of the position of i_{}", l));
    if (l < L) {
      overwrite(mlp, held, restored_slot(mlp, b));
      if (L > 2) clear(mlp, b);
      layer.after(fmt::format("{}: at `=`, the bits of w_{}", held.name, l));
    }
  }
  model.output_bits(a);
  return rows.finish(model, gadget, T, "L+1 full layers with two heads of dimension 2⌈lg T⌉ solve L-SeqComp.",
                     "Chen, Peng, Wu 2412.02975; weights ours");
}

// One head: the w come first, a layer each, then z_0 and the chain. Invariant at `=` after layer l < L: w_1 .. w_l are
// held; after layer L + l: target is the address of i_{l+1}.
Result<Construction> build_seqcomp_serial(const SeqCompRows& rows, const ConstructionRequest& request) {
  const SeqCompLayout& layout = rows.layout();
  const std::int64_t L = rows.levels(), T = rows.positions();
  RUNG_REQUIRE(L >= 2, "L={}", L);
  const int D = rows.address_digits();
  const int p = request.precision.value_or(retrieval_precision_proved(D, T));
  const RetrievalGadget gadget = retrieval_gadget(D, T, p);

  ModelWriter model(*rows.task(), p);
  const Slot code = model.slot("code", D, "code of the position, -1 or 1");
  const Slot bits = model.slot("bits", rows.value_digits(), "bits of the token");
  const Slot one = model.slot("one", 1, "1");
  const Slot target =
      model.slot("target", D, "from layer L on: code of the position that is read next, -1 or 1");
  const Slot a = model.slot("A", rows.value_digits(), "what a lookup read, then 0 again");
  const std::vector<Slot> w = branch_slots(model, rows);
  auto& token = model.field_bits("token", rows.token_digits());
  token.code(bits, 0, 1);
  token.constant(one, {1});
  model.position_bits(D).code(code, -1, 1);

  for (std::int64_t l = 1; l < L; ++l) {
    const Slot& into = w[static_cast<std::size_t>(l)];
    const std::vector<RetrievalHead> heads{read_at(code, one, layout.branch_position(l), bits, into)};
    LayerWriter& layer =
        model.layer(fmt::format("full(heads=1,dim={},vdim={})", 2 * D, heads[0].values.size()),
                    fmt::format("read w_{}", l));
    write_retrieval(layer, gadget, heads);
    overwrite(layer.mlp(), into, restored_slot(layer.mlp(), into));
    layer.after(fmt::format("w_{}: at `=`, the bits of w_{}", l, l));
  }
  for (std::int64_t l = 0; l <= L; ++l) {
    const std::vector<RetrievalHead> heads{
        l == 0 ? read_at(code, one, layout.start_position(), bits, a)
               : RetrievalHead{code, target, one, coordinates(bits), coordinates(a)}};
    LayerWriter& layer =
        model.layer(retrieval_mixer(gadget, heads), l == 0 ? "read z_0" : fmt::format("read i_{}", l));
    write_retrieval(layer, gadget, heads);
    if (l == L) {
      layer.after(fmt::format("A: at `=`, the bits of i_{}", L));
      break;
    }
    ReluCircuit& mlp = layer.mlp();
    const Bits branch = l >= 1 ? slot_inputs(mlp, w[static_cast<std::size_t>(l)]) : Bits{};
    overwrite(mlp, target, rows.code_of(mlp, rows.address(mlp, l + 1, branch, restored_slot(mlp, a))), -1, 1);
    clear(mlp, a);
    layer.after(fmt::format("target: at `=`, the code of the position of i_{}", l + 1));
  }
  model.output_bits(a);
  return rows.finish(model, gadget, T, "2L full layers with one head of dimension 2⌈lg T⌉ solve L-SeqComp.",
                     "Chen, Peng, Wu 2412.02975; weights ours");
}

}  // namespace rung
