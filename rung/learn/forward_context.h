// What one forward pass is told beside inputs and parameters, and the two operations that every part of a
// model shares: maps and rounding.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "rung/learn/parameters.h"

namespace rung::learn {

// Quantisation-aware training: activations are rounded to p bits (half to even, saturating) with a
// power-of-two unit a tensor and member; gradients pass straight through where nothing saturates. The unit
// follows the largest values of the last steps, kept beside the parameters: nothing waits for the host.
class ActivationRounding {
 public:
  // Everything, or what one position has of the others alone, values fetched and states: to 2^p values a coordinate,
  // each with a unit of its own that is no power of two.
  enum class Places { all, carried };
  explicit ActivationRounding(int bits, Places places = Places::all) : bits_(bits), places_(places) {}
  // Whether the unit stays, makes room for x, or follows it: grows at once, shrinks slowly. The first x ever
  // seen sets it.
  enum class Unit { stays, makes_room, follows };
  // Only looks at what it would round, and rounds nothing: how large each is, over all that passes.
  bool watching = false;
  // x [E, ...].
  torch::Tensor apply(const std::string& name, const torch::Tensor& x, Unit unit);
  int bits() const { return bits_; }
  bool carried_alone() const { return places_ == Places::carried; }
  // Units of a member as the quantiser takes them: name -> fraction f, the unit being 2^-f.
  std::map<std::string, int> fractions(std::int64_t member) const;
  std::map<std::string, torch::Tensor> largest;  // name -> [E] float32

 private:
  // The width of a tensor, as `rung quantise` gives it: p; p + 4 for norms and unit keys; at least 12 for
  // gates.
  int width(const std::string& name) const;
  torch::Tensor unit(const torch::Tensor& seen, int width) const;
  int bits_;
  Places places_;
};

// What a recurrent state becomes after every token when it is rounded; `last`: the sequence's last token.
// Empty: nothing.
using StateRounding = std::function<torch::Tensor(const torch::Tensor& state, bool last)>;

struct ForwardContext {
  bool plain = false;  // the readable reference instead of the fast path
  bool training = false;
  double dropout = 0;
  // What is dropped depends on the member's seed, the step and the place alone: [E] and [1] int64, on the
  // device.
  torch::Tensor seeds, step;
  mutable std::int64_t places = 0;  // dropped so far in this pass
  ActivationRounding* rounding = nullptr;
  mutable torch::Tensor
      first_values;  // rwkv7: of the stack's first such layer in this pass; undefined before it

  torch::Tensor round(const std::string& name, const torch::Tensor& x) const {
    using Unit = ActivationRounding::Unit;
    return rounding ? rounding->apply(name, x, training ? Unit::follows : Unit::stays) : x;
  }
  // States are as wide as activations. Their unit makes room for every token's state and shrinks once a pass.
  StateRounding state_rounding(const std::string& name) const;
  torch::Tensor drop(const torch::Tensor& x) const;
  bool drops() const { return training && dropout > 0; }
};

// x [E, B, T, C] times weight [E, R, C], plus bias [E, R]: [E, B, T, R].
torch::Tensor apply_map(const torch::Tensor& x, const torch::Tensor& weight, const torch::Tensor& bias = {});

}  // namespace rung::learn
