#include "rung/constructions/presence_head.h"

namespace rung {

std::string presence_mixer(const PresenceHead& head) {
  return fmt::format("full(heads=1,dim=1,vdim={})", head.values.size());
}

void write_presence(LayerWriter& layer, const PresenceGadget& gadget, const PresenceHead& head) {
  RUNG_REQUIRE(head.values.size() == head.fetched.size(), "{} values into {}", head.values.size(),
               head.fetched.size());
  layer.map("q").set(0, head.one.at(0), -gadget.gap);
  layer.map("k").set(0, head.one.at(0), 1);
  layer.map("k").set(0, head.flag.at(0), -1);
  for (std::size_t i = 0; i < head.values.size(); ++i) {
    layer.map("v").set(static_cast<std::int64_t>(i), head.values[i], 1);
    layer.map("o").set(head.fetched[i], static_cast<std::int64_t>(i), 1);
  }
  layer.scores(gadget.scores);
}

}  // namespace rung
