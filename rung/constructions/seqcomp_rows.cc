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
  RUNG_TRY(auto layout, SeqCompLayout::make(size["m"], std::move(branching), SeqCompLayout::Order::hard));
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
      "retrieval in every full layer: beta = {}, delta = {:.4f}; below 1 is needed over all codes of {} "
      "digits",
      gadget.beta, gadget.delta, gadget.digits);
  made.interval = [gadget, keys] {
    const double leak = retrieval_leak(gadget, keys);
    return leak_argument(leak, fmt::format("in every lookup the {} other tokens weigh at most {:.4f} of the "
                                           "target; recurrences and MLPs are exact",
                                           keys - 1, leak));
  };
  return made;
}

Bits restored_slot(ReluCircuit& circuit, const Slot& slot) {
  Bits bits = slot_inputs(circuit, slot);
  for (Number& bit : bits) bit = restored(circuit, bit);
  return bits;
}

std::vector<Slot> branch_slots(ModelWriter& model, const SeqCompRows& rows,
                               std::optional<std::string> since) {
  std::vector<Slot> w(1);
  for (std::int64_t l = 1; l < rows.levels(); ++l)
    w.push_back(model.slot(
        fmt::format("w_{}", l), digits_for(rows.layout().branching(l)),
        fmt::format("from {} on: the bits of w_{}", since ? *since : fmt::format("layer {}", l), l)));
  return w;
}

std::vector<Collected> collected_numbers(const SeqCompLayout& layout, const Slot& start, const Slot& value,
                                         const Slot& bits, const std::vector<Slot>& w) {
  std::vector<Collected> numbers{{start, layout.start_position(), value}};
  for (std::int64_t l = 1; l < layout.levels(); ++l) {
    const Slot& into = w[static_cast<std::size_t>(l)];
    numbers.push_back({bits, layout.branch_position(l), into});
    numbers.back().value.size = into.size;
  }
  return numbers;
}

CarrierForm carrier_form(const ConstructionRequest& request) {
  const std::string feature = request.option("feature", "relu");
  return {request.option("carry", "heads") == "columns", request.option("normalised", "no") == "yes",
          feature == "relu"   ? FeatureMap::relu
          : feature == "elu1" ? FeatureMap::elu1
                              : FeatureMap::exp};
}

Slot packed_slot(ModelWriter& model, const SeqCompRows& rows) {
  return model.slot("packed", rows.value_digits(),
                    "in R: bit d of all numbers, 2^k times that of number k, then 0 again");
}

Collection write_collection(ModelWriter& model, const CarrierForm& form, const Slot& code, const Slot& one,
                            const std::vector<Collected>& numbers, const Slot& packed, std::string title) {
  std::int64_t widest = 1;
  for (const auto& number : numbers) widest = std::max(widest, number.value.size);
  const auto count = static_cast<std::int64_t>(numbers.size()), D = code.size;
  const bool relu = form.feature == FeatureMap::relu;
  const char* feature = relu ? "relu" : form.feature == FeatureMap::elu1 ? "elu1" : "exp";
  model.accumulator(form.normalised ? Accumulator::round : Accumulator::wrap, form.stored_bits());
  LayerWriter& layer = model.layer(
      fmt::format("linear(heads={},dim={},vdim={},feature={},normalised={})", form.columns ? 1 : count,
                  form.columns ? count : 1, widest, feature, form.normalised ? "yes" : "no"),
      std::move(title));
  // The features of whole numbers: 0 below 0 (1/e and less), then x + 1, or e^x where nothing asks for more than 1.
  if (form.feature == FeatureMap::elu1) {
    std::vector<std::int64_t> table{0};
    for (std::int64_t x = 0; x < std::int64_t{1} << (form.columns ? count - 1 : 0); ++x)
      table.push_back(x + 1);
    layer.table("feature", -1, std::move(table));
  } else if (form.feature == FeatureMap::exp) {
    layer.table("feature", -1, {0, 1});
  }
  const std::int64_t sign = form.normalised ? 1 : -1;
  const auto weight = [&](std::int64_t k) { return form.columns ? std::int64_t{1} << k : 1; };
  for (std::int64_t k = 0; k < count; ++k) {
    const auto& number = numbers[static_cast<std::size_t>(k)];
    const auto there = signed_code(number.position, static_cast<int>(D));
    for (std::int64_t d = 0; d < D; ++d)
      layer.map("k").set(k, code.at(d), there[static_cast<std::size_t>(d)]);
    layer.map("k").bias(k, relu ? 1 - D : -D);
    layer.map("q").set(k, one.at(0), relu ? weight(k) : weight(k) - 1);
    if (!form.columns) {
      layer.map("v").select(k * widest, number.value, sign);
      layer.map("o").write(number.into, k * widest, sign);
    }
  }
  Collection collection{layer, {}};
  ReluCircuit& mlp = layer.mlp();
  if (!form.columns) {
    for (const auto& number : numbers) collection.numbers.push_back(slot_inputs(mlp, number.into));
    return collection;
  }
  Slot all = numbers.front().value;
  for (const auto& number : numbers) {
    RUNG_REQUIRE(number.value.first == all.first, "{} and {}", number.value.name, all.name);
    if (number.value.size > all.size) all = number.value;
  }
  layer.map("v").select(0, all, sign);
  layer.map("o").write(packed, 0, sign);
  const std::int64_t top = (std::int64_t{1} << count) - 1;
  if (form.normalised) layer.scalar("value.scale", top);
  std::vector<Bits> digits;  // of every coordinate
  for (std::int64_t d = 0; d < widest; ++d)
    digits.push_back(decoded(mlp, mlp.input(packed.at(d), 0, top), static_cast<int>(count)));
  for (std::int64_t k = 0; k < count; ++k) {
    const Slot& into = numbers[static_cast<std::size_t>(k)].into;
    const std::int64_t size = numbers[static_cast<std::size_t>(k)].value.size;
    Bits bits;
    for (std::int64_t d = 0; d < size; ++d)
      bits.push_back(digits[static_cast<std::size_t>(d)][static_cast<std::size_t>(k)]);
    for (std::int64_t d = 0; d < into.size; ++d) mlp.add(into.at(d), bits[static_cast<std::size_t>(d)]);
    collection.numbers.push_back(std::move(bits));
  }
  clear(mlp, packed, 0, top);
  return collection;
}

}  // namespace rung
