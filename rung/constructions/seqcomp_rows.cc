#include "rung/constructions/seqcomp_rows.h"

#include <algorithm>

namespace rung {

Result<SeqCompRows> SeqCompRows::make(const ConstructionRequest& request) {
  RUNG_TRY(auto made, make_task("seqcomp", request.sizes));
  const auto size = made->size();
  std::vector<std::int64_t> branching;
  const auto levels = size["L"].get<std::int64_t>();
  for (std::int64_t l = 1; l < levels; ++l)
    branching.push_back(size[fmt::format("n{}", l)].get<std::int64_t>());
  RUNG_TRY(auto layout, SeqCompLayout::make(size["m"].get<std::int64_t>(), std::move(branching),
                                            SeqCompLayout::Order::hard));
  return SeqCompRows(std::move(layout), std::move(made));
}

int SeqCompRows::branch_digits() const {
  std::int64_t largest = 1;
  for (std::int64_t l = 1; l < levels(); ++l) largest = std::max(largest, layout_.branching(l));
  return digits_for(largest);
}

Number SeqCompRows::address(ReluCircuit& circuit, std::int64_t level, const Bits& w, const Bits& i) const {
  Number argument = recombined(i);
  if (level > 1) argument = argument + layout_.domain(level - 2) * recombined(w);
  return clamped(circuit, layout_.table_position(level) + argument,
                 (std::int64_t{1} << address_digits()) - 1);
}

Bits SeqCompRows::code_of(ReluCircuit& circuit, const Number& address) const {
  Bits code = decoded(circuit, address, address_digits());
  for (Number& digit : code) digit = 2 * digit - 1;
  return code;
}

Result<Construction> SeqCompRows::finish(ModelWriter& model, const RetrievalGadget& gadget, std::int64_t keys,
                                         std::string claim, std::string reference) const {
  RUNG_TRY(Construction made, finish_construction(model, task_, std::move(claim), std::move(reference)));
  made.p_proved = retrieval_precision_proved(gadget.digits, keys);
  made.lemma = fmt::format(
      "retrieval in every full layer: beta = {}, delta = {:.4f} < 1 needed over all codes of {} digits",
      gadget.beta, gadget.delta, gadget.digits);
  made.interval = [gadget, keys] {
    const double leak = retrieval_leak(gadget, keys);
    return IntervalArgument{leak < 1, leak, 1 - leak,
                            fmt::format("in every lookup the {} other tokens weigh at most {:.4f} of the "
                                        "target; recurrences and MLPs are exact",
                                        keys - 1, leak)};
  };
  return made;
}

Bits restored_slot(ReluCircuit& circuit, const Slot& slot) {
  Bits bits = slot_inputs(circuit, slot);
  for (Number& bit : bits) bit = restored(circuit, bit);
  return bits;
}

LayerWriter& write_collection(ModelWriter& model, const Slot& code, const Slot& one,
                              const std::vector<Collected>& numbers, std::string title) {
  std::int64_t widest = 1;
  for (const auto& number : numbers) widest = std::max(widest, number.value.size);
  model.accumulator(Accumulator::wrap, kStoredBit);
  LayerWriter& layer = model.layer(
      fmt::format("linear(heads={},dim=1,vdim={},feature=relu,normalised=no)", numbers.size(), widest),
      std::move(title));
  for (std::size_t h = 0; h < numbers.size(); ++h) {
    const auto& number = numbers[h];
    const auto head = static_cast<std::int64_t>(h);
    const auto there = signed_code(number.position, static_cast<int>(code.size));
    for (std::int64_t d = 0; d < code.size; ++d)
      layer.map("k").set(head, code.at(d), there[static_cast<std::size_t>(d)]);
    layer.map("k").bias(head, 1 - code.size);
    layer.map("q").set(head, one.at(0), 1);
    layer.map("v").select(head * widest, number.value, -1);
    layer.map("o").write(number.into, head * widest, -1);
  }
  return layer;
}

}  // namespace rung
