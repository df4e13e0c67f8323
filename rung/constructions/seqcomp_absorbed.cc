// L-SeqComp by absorption: R^{1+j} F^{L-j}.
//
// Claim: a recurrent state of N_{l-1} ⌈lg N_{l-1}⌉ bits holds the whole function z_l, so j further recurrent
// layers replace j lookups. Reference: size caveat of the pattern theorem (ours): with small m a recurrence
// before the first full layer saves more than one.
//
// Layer 1 (R) hands z_0 and all w to `=` (seqcomp_collected.cc); its MLP writes the unit vector of the
// argument of z_1. Layer 1+l, l = 1..j (R): key of the token of z_l(a) is the unit vector e_a (max(0, code ·
// c(base_l + a) - (D-1))), its value the token's bits, so the state is the table of z_l and the query reads
// i_l. Then L-j lookups as in R F^L.
#include "rung/constructions/seqcomp_rows.h"

namespace rung {

Result<Construction> build_seqcomp_absorbed(const SeqCompRows& rows, const ConstructionRequest& request,
                                            std::int64_t absorbed) {
  const SeqCompLayout& layout = rows.layout();
  const std::int64_t L = rows.levels(), T = rows.positions();
  RUNG_REQUIRE(absorbed >= 1 && absorbed <= L, "absorbed={} L={}", absorbed, L);
  constexpr std::int64_t kLargestTable = 4096;  // entries of a function held in a state
  if (layout.domain(absorbed - 1) > kLargestTable)
    return fail(ErrorCode::resource, "[build] a state that holds z_{} has {} entries; at most {} expected",
                absorbed, layout.domain(absorbed - 1), kLargestTable);
  const int D = rows.address_digits();
  const int p = request.precision.value_or(absorbed == L ? 2 : retrieval_precision_proved(D, T));
  const RetrievalGadget gadget = retrieval_gadget(D, T, p);

  ModelWriter model(*rows.task(), p);
  const Slot code = model.slot("code", D, "code of the position, -1 or 1");
  const Slot bits = model.slot("bits", rows.value_digits(), "bits of the token");
  const Slot one = model.slot("one", 1, "1");
  const Slot value = model.slot("value", rows.value_digits(), "from layer 1 on: the bits of z_0");
  const std::vector<Slot> w = branch_slots(model, rows, "layer 1");
  std::vector<Slot> ask(1);
  for (std::int64_t l = 1; l <= absorbed; ++l)
    ask.push_back(model.slot(fmt::format("ask_{}", l), layout.domain(l - 1),
                             fmt::format("unit vector of the argument of z_{}, at =", l)));
  const Slot fetched = model.slot("fetched", rows.value_digits(), "what a layer read, then 0 again");
  const Slot target =
      model.slot("target", D, "code of the position that a lookup reads, -1 or 1; 0 at first");
  auto& token = model.field_bits("token", rows.token_digits());
  token.code(bits, 0, 1);
  token.constant(one, {1});
  model.position_bits(D).code(code, -1, 1);

  // After i_{level-1} is known (as bits): the question for z_level.
  const auto question = [&](LayerWriter& layer, std::int64_t level, const Bits& i) {
    ReluCircuit& mlp = layer.mlp();
    const Bits branch = level >= 2 ? slot_inputs(mlp, w[static_cast<std::size_t>(level - 1)]) : Bits{};
    if (level > absorbed) {
      overwrite(mlp, target, rows.code_of(mlp, rows.address(mlp, level, branch, i)), -1, 1);
      layer.after(fmt::format("target: at `=`, the code of the position of i_{}", level));
      return;
    }
    const Number argument =
        level >= 2 ? recombined(i) + layout.domain(level - 2) * recombined(branch) : recombined(i);
    const Slot& unit = ask[static_cast<std::size_t>(level)];
    for (std::int64_t j = 0; j < unit.size; ++j) mlp.add(unit.at(j), equals(mlp, argument, j));
    layer.after(fmt::format("ask_{}: at `=`, the unit vector of the argument of z_{}", level, level));
  };

  Collection collected =
      write_collection(model, carrier_form(request), code, one,
                       collected_numbers(layout, bits, value, bits, w), Slot{}, "hand z_0 and w to =");
  LayerWriter& collect = collected.layer;
  collect.after("value: at `=`, the bits of z_0; w_l: those of w_l");
  question(collect, 1, collected.numbers[0]);
  for (std::int64_t l = 1; l <= L; ++l) {
    LayerWriter* layer = nullptr;
    if (l <= absorbed) {
      const std::int64_t entries = layout.domain(l - 1);
      layer = &model.layer(
          fmt::format("linear(heads=1,dim={},vdim={},feature=relu,normalised=no)", entries, bits.size),
          fmt::format("read i_{} from the state that holds z_{}", l, l));
      for (std::int64_t a = 0; a < entries; ++a) {
        const auto there = signed_code(layout.table_position(l) + a, D);
        for (std::int64_t d = 0; d < D; ++d)
          layer->map("k").set(a, code.at(d), there[static_cast<std::size_t>(d)]);
        layer->map("k").bias(a, 1 - D);
      }
      layer->map("q").select(0, ask[static_cast<std::size_t>(l)], 1);
      layer->map("v").select(0, bits, -1);
      layer->map("o").write(fetched, 0, -1);
    } else {
      const std::vector<RetrievalHead> heads{{code, target, one, coordinates(bits), coordinates(fetched)}};
      layer = &model.layer(retrieval_mixer(gadget, heads), fmt::format("read i_{}", l));
      write_retrieval(*layer, gadget, heads);
    }
    if (l == L) {
      layer->after(fmt::format("fetched: at `=`, the bits of i_{}", L));
      break;
    }
    question(*layer, l + 1, restored_slot(layer->mlp(), fetched));
    clear(layer->mlp(), fetched);
  }
  model.output_bits(fetched);
  RUNG_TRY(Construction made,
           rows.finish(model, gadget, T,
                       "R^{1+j} F^{L-j} solves L-SeqComp: states that hold z_1 .. z_j replace j lookups.",
                       "size caveat of the pattern theorem"));
  if (absorbed == L) {  // no softmax at all
    made.p_proved = 2;
    made.lemma = "no softmax: every number is 0, 1 or -1";
    made.interval = [] { return IntervalArgument{true, 0, 1, "states, MLPs and outputs are exact bits"}; };
  }
  return made;
}

}  // namespace rung
