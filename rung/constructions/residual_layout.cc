#include "rung/constructions/residual_layout.h"

namespace rung {

Slot ResidualLayout::add(std::string name, std::int64_t size, std::string holds) {
  RUNG_REQUIRE(size >= 1, "slot {} of {} coordinates", name, size);
  for (const Slot& slot : slots_) RUNG_REQUIRE(slot.name != name, "slot {} stands twice", name);
  slots_.push_back({std::move(name), width_, size, std::move(holds)});
  width_ += size;
  return slots_.back();
}

}  // namespace rung
