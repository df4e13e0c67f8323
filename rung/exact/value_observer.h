// Sees the reals of a model as mode Q computes them, by the name of what holds them in an integer file:
// "stream", "layers.0.q", "layers.1.state". Quantising chooses scales from what it saw
// (quantise_calibration.h).
#pragma once

#include <string>

namespace rung {

class ValueObserver {
 public:
  virtual ~ValueObserver() = default;
  // The number by which see() is told the name; asked while a machine is loaded, from one thread.
  virtual int site(const std::string& name) = 0;
  // One value, before it is rounded; from any thread, in any order.
  virtual void see(int site, double value) = 0;
};

}  // namespace rung
