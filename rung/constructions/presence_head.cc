#include "rung/constructions/presence_head.h"

namespace rung {

PresenceGadget presence_gadget(std::int64_t keys, int precision) {
  RUNG_REQUIRE(keys >= 1 && precision >= 2 && precision <= 48, "keys={} p={}", keys, precision);
  const std::int64_t widest = std::int64_t{1} << (precision - 1);  // the query holds -g
  const std::int64_t saturation = std::min(widest, useful_saturation(keys, 1));
  PresenceGadget gadget{0, score_table(saturation, 1, weight_fraction(keys, kWeightGuard)), 0};
  do {
    ++gadget.gap;
    gadget.leak = static_cast<double>(keys - 1) * static_cast<double>(gadget.scores.at(-gadget.gap)) /
                  static_cast<double>(gadget.scores.at(0));
  } while (gadget.leak >= 1 && gadget.gap < saturation);
  return gadget;
}

int presence_precision_proved(std::int64_t keys) {
  int p = 2;
  while (p < 48 && presence_gadget(keys, p).leak >= 1) ++p;
  return p;
}

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
