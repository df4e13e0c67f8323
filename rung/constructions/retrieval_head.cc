#include "rung/constructions/retrieval_head.h"

#include <algorithm>

namespace rung {

std::string retrieval_mixer(const RetrievalGadget& gadget, const std::vector<RetrievalHead>& heads) {
  std::size_t values = 1;
  for (const auto& head : heads) values = std::max(values, head.values.size());
  return fmt::format("full(heads={},dim={},vdim={})", heads.size(), 2 * gadget.digits, values);
}

void write_retrieval(LayerWriter& layer, const RetrievalGadget& gadget,
                     const std::vector<RetrievalHead>& heads) {
  const std::int64_t D = gadget.digits;
  std::size_t values = 1;
  for (const auto& head : heads) values = std::max(values, head.values.size());
  for (std::size_t h = 0; h < heads.size(); ++h) {
    const RetrievalHead& head = heads[h];
    RUNG_REQUIRE(head.code.size == D && (head.constant || head.target.size == D) &&
                     head.values.size() == head.fetched.size(),
                 "head {} of {} digits", h, D);
    const auto first = static_cast<std::int64_t>(h) * 2 * D;
    const auto output = static_cast<std::int64_t>(h * values);
    layer.map("k").select(first, head.code, 1);
    if (!head.constant) layer.map("q").select(first, head.target, gadget.beta);
    for (std::int64_t d = 0; d < D; ++d) {
      layer.map("k").set(first + D + d, head.one.at(0), 1);
      layer.map("q").set(first + D + d, head.one.at(0), -gadget.beta);
      if (head.constant)
        layer.map("q").set(first + d, head.one.at(0), *head.constant >> d & 1 ? gadget.beta : -gadget.beta);
    }
    for (std::size_t i = 0; i < head.values.size(); ++i) {
      layer.map("v").set(output + static_cast<std::int64_t>(i), head.values[i], 1);
      layer.map("o").set(head.fetched[i], output + static_cast<std::int64_t>(i), 1);
    }
  }
  layer.scores(gadget.scores);
}

RetrievalHead read_at(const Slot& code, const Slot& one, std::int64_t position, const Slot& values,
                      const Slot& fetched) {
  RetrievalHead head{code, {}, one, coordinates(values), coordinates(fetched), position};
  const std::size_t size = std::min(head.values.size(), head.fetched.size());
  head.values.resize(size);
  head.fetched.resize(size);
  return head;
}

std::vector<std::int64_t> coordinates(const Slot& slot) {
  std::vector<std::int64_t> all;
  for (std::int64_t i = 0; i < slot.size; ++i) all.push_back(slot.at(i));
  return all;
}

std::vector<std::int64_t> signed_code(std::int64_t number, int digits) {
  std::vector<std::int64_t> code;
  for (int d = 0; d < digits; ++d) code.push_back(number >> d & 1 ? 1 : -1);
  return code;
}

}  // namespace rung
