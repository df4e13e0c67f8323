// L-SeqComp by pre-composition: F^L (L >= 2), and R F^{L-1} (L >= 3).
//
// Claim: with n_{L-1} heads one full layer is saved: the tokens of z_{L-1} stand behind z_L, so in the first
// full layer each of them, with value v, fetches z_L(w' N_{L-2} + v) for every w' in [n_{L-1}], one head
// each; the lookup that brings i_{L-1} then brings the answers for all w', and the MLP picks the right one.
// Reference: size caveat of the pattern theorem (ours).
//
// Invariant after the first full layer: composed_h of a z_{L-1} token holds the bits of z_L(h N_{L-2} + its
// value); at `=` composed_0 and composed_1 hold what `=` asked for meanwhile (z_0 and w_1, or i_1 behind a
// recurrence). Between: target A at `=` is the next address, held the next w. After the last layer: result
// holds the bits of i_L.
#include <algorithm>

#include "rung/constructions/seqcomp_rows.h"

namespace rung {

Result<Construction> build_seqcomp_precomposed(const SeqCompRows& rows, const ConstructionRequest& request,
                                               bool early) {
  const SeqCompLayout& layout = rows.layout();
  const std::int64_t L = rows.levels(), T = rows.positions();
  RUNG_REQUIRE(L >= (early ? 3 : 2), "L={}", L);
  const std::int64_t choices = layout.branching(L - 1);  // n_{L-1}
  constexpr std::int64_t kMostHeads = 256;
  if (choices > kMostHeads)
    return fail(ErrorCode::resource, "[build] pre-composition needs n{} = {} heads; at most {} expected",
                L - 1, choices, kMostHeads);
  const int D = rows.address_digits();
  const CarrierForm form = carrier_form(request);
  const int proved = std::max(retrieval_precision_proved(D, T), early ? form.read_bits(L) : 2);
  const int p = request.precision.value_or(proved);
  const RetrievalGadget gadget = retrieval_gadget(D, T, p);
  const std::int64_t heads_first = std::max<std::int64_t>(choices, early ? 1 : 2);

  ModelWriter model(*rows.task(), p);
  const Slot code = model.slot("code", D, "code of the position, -1 or 1");
  const Slot bits = model.slot("bits", rows.value_digits(), "bits of the token");
  const Slot one = model.slot("one", 1, "1");
  const Slot at_equals = model.slot("at =", 1, "1 at `=`, else 0");
  std::vector<Slot> target, composed, answer;
  for (std::int64_t h = 0; h < heads_first; ++h)
    target.push_back(model.slot(
        fmt::format("target {}", h), D,
        fmt::format("code that head {} looks for in the first full layer: base_L + {} N_{{L-2}} + the token",
                    h, h)));
  for (std::int64_t h = 0; h < heads_first; ++h)
    composed.push_back(model.slot(fmt::format("composed {}", h), rows.value_digits(),
                                  fmt::format("what head {} read in the first full layer", h)));
  for (std::int64_t h = 0; h < choices; ++h)
    answer.push_back(model.slot(fmt::format("answer {}", h), rows.value_digits(),
                                fmt::format("composed {} of the z_{{L-1}} token, at =", h)));
  const Slot a = model.slot("A", rows.value_digits(), "what a lookup of the chain read, then 0 again");
  const Slot b = model.slot("B", rows.branch_digits(), "w_l as it is read, then 0 again");
  const Slot held = model.slot("held", rows.branch_digits(), "bits of w_l until they are used");
  const Slot result = model.slot("result", rows.value_digits(), "0, after the last layer the bits of i_L");
  std::vector<Slot> w;
  Slot value;
  if (early) {
    value = model.slot("value", rows.value_digits(), "from R on: the bits of z_0");
    w = branch_slots(model, rows, "R");
  }
  model.position_bits(D).code(code, -1, 1);
  auto& token = model.field_table("token", layout.equals_token() + 1);
  for (std::int64_t v = 0; v <= layout.equals_token(); ++v) {
    const bool equals_token = v == layout.equals_token();
    for (std::int64_t d = 0; d < bits.size; ++d) token.set(v, bits.at(d), v >> d & 1);
    token.set(v, one.at(0), 1);
    token.set(v, at_equals.at(0), equals_token);
    for (std::int64_t h = 0; h < heads_first; ++h) {
      std::int64_t to = (layout.table_position(L) + h * layout.domain(L - 2) + v) % (std::int64_t{1} << D);
      if (equals_token && !early) to = h == 0 ? layout.start_position() : layout.branch_position(1);
      const auto digits = signed_code(to, D);
      for (std::int64_t d = 0; d < D; ++d)
        token.set(v, target[static_cast<std::size_t>(h)].at(d), digits[static_cast<std::size_t>(d)]);
    }
  }

  const auto branch_of = [&](ReluCircuit& mlp, std::int64_t l) {
    return early ? slot_inputs(mlp, w[static_cast<std::size_t>(l)]) : slot_inputs(mlp, held);
  };
  if (early) {
    Collection collected =
        write_collection(model, form, code, one, collected_numbers(layout, bits, value, bits, w),
                         form.columns ? packed_slot(model, rows) : Slot{}, "hand z_0 and w to =");
    LayerWriter& collect = collected.layer;
    ReluCircuit& mlp = collect.mlp();
    const Number flag = slot_inputs(mlp, at_equals)[0];
    const Bits old = slot_inputs(mlp, target[0], -1, 1),
               aim = rows.code_of(mlp, rows.address(mlp, 1, {}, collected.numbers[0]));
    for (std::int64_t d = 0; d < D; ++d)
      mlp.add(target[0].at(d),
              gated(mlp, flag, aim[static_cast<std::size_t>(d)] - old[static_cast<std::size_t>(d)]));
    collect.after(
        "value: at `=`, the bits of z_0; w_l: those of w_l; target 0: at `=`, the code of the position of "
        "i_1");
  }

  // The chain at `=`: after the f-th full layer i_{f-1} is known (i_f behind a recurrence).
  const std::int64_t full_layers = early ? L - 1 : L;
  for (std::int64_t f = 1; f <= full_layers; ++f) {
    const std::int64_t known = early ? f : f - 1;
    const bool last = f == full_layers;
    std::vector<RetrievalHead> heads;
    if (f == 1) {
      for (std::int64_t h = 0; h < heads_first; ++h)
        heads.push_back({code, target[static_cast<std::size_t>(h)], one, coordinates(bits),
                         coordinates(composed[static_cast<std::size_t>(h)])});
    } else if (last) {
      for (std::int64_t h = 0; h < choices; ++h)
        heads.push_back({code, target[0], one, coordinates(composed[static_cast<std::size_t>(h)]),
                         coordinates(answer[static_cast<std::size_t>(h)])});
    } else {
      heads.push_back({code, target[0], one, coordinates(bits), coordinates(a)});
      if (!early) heads.push_back(read_at(code, one, layout.branch_position(f), bits, b));
    }
    LayerWriter& layer =
        model.layer(retrieval_mixer(gadget, heads), f == 1 ? "z_{L-1} tokens read z_L, = collects"
                                                    : last ? "read the composed values"
                                                           : fmt::format("read i_{}", known));
    write_retrieval(layer, gadget, heads);
    ReluCircuit& mlp = layer.mlp();
    if (last) {
      const Number branch = recombined(branch_of(mlp, L - 1));
      for (std::int64_t h = 0; h < choices; ++h) {
        const Number picked = equals(mlp, branch, h);
        const Bits read = restored_slot(mlp, answer[static_cast<std::size_t>(h)]);
        for (std::int64_t d = 0; d < result.size; ++d)
          mlp.add(result.at(d), gated(mlp, picked, read[static_cast<std::size_t>(d)]));
      }
      layer.after(fmt::format("answer h: at `=`, the bits of i_{} if w_{} = h; result: the bits of i_{}", L,
                              L - 1, L));
      break;
    }
    Bits read, branch_read;
    if (f == 1) {
      for (std::int64_t h = 0; h < heads_first; ++h) {
        const Bits exact = restored_slot(mlp, composed[static_cast<std::size_t>(h)]);
        overwrite(mlp, composed[static_cast<std::size_t>(h)], exact);
        if (h == 0) read = exact;
        if (h == 1) branch_read = exact;
      }
      layer.after("composed h: at a token of z_{L-1}, the bits of z_L(h N_{L-2} + its value)");
    } else {
      read = restored_slot(mlp, a);
      clear(mlp, a);
      if (!early) {
        branch_read = restored_slot(mlp, b);
        clear(mlp, b);
      }
    }
    overwrite(
        mlp, target[0],
        rows.code_of(mlp, rows.address(mlp, known + 1, known >= 1 ? branch_of(mlp, known) : Bits{}, read)),
        -1, 1);
    layer.after(fmt::format("target 0: at `=`, the code of the position of i_{}", known + 1));
    if (!early) {
      branch_read.resize(static_cast<std::size_t>(held.size));
      overwrite(mlp, held, branch_read);
      layer.after(fmt::format("held: at `=`, the bits of w_{}", f));
    }
  }
  model.output_bits(result);
  RUNG_TRY(
      Construction made,
      rows.finish(
          model, gadget, T,
          early
              ? "R F^{L-1} with n_{L-1} heads solves L-SeqComp: the tokens of z_{L-1} compose with z_L first."
              : "F^L with max(2, n_{L-1}) heads solves L-SeqComp: the tokens of z_{L-1} compose with z_L "
                "first.",
          "size caveat of the pattern theorem"));
  made.p_proved = proved;
  return made;
}

}  // namespace rung
