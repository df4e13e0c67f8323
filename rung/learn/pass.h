// What one forward pass is told beside inputs and parameters, and the two operations that every part of a model shares:
// maps and rounding.
#pragma once

#include <map>
#include <string>

#include "rung/learn/parameters.h"

namespace rung::learn {

// Quantisation-aware training: activations are rounded to p bits (half to even, saturating) with a power-of-two unit a
// tensor; gradients pass straight through where nothing saturates. The units follow the largest value seen while
// observing(); between observations they stay, so that a captured CUDA graph keeps its meaning.
class ActivationRounding {
 public:
  explicit ActivationRounding(int bits) : bits_(bits) {}
  torch::Tensor apply(const std::string& name, const torch::Tensor& x);
  void observe(bool on) { observing_ = on; }
  int bits() const { return bits_; }
  // Units as the quantiser takes them: name -> fraction f, the unit being 2^-f.
  const std::map<std::string, int>& fractions() const { return fractions_; }
  void set_fractions(std::map<std::string, int> fractions) { fractions_ = std::move(fractions); }

 private:
  int bits_;
  bool observing_ = true;
  std::map<std::string, int> fractions_;
};

struct Pass {
  bool plain = false;  // the readable reference instead of the fast path
  bool training = false;
  double dropout = 0;
  at::Generator generator;  // of dropout; undefined: the device's own
  ActivationRounding* rounding = nullptr;

  torch::Tensor round(const std::string& name, const torch::Tensor& x) const { return rounding ? rounding->apply(name, x) : x; }
  torch::Tensor drop(const torch::Tensor& x) const;
};

// x [E, B, T, C] times weight [E, R, C], plus bias [E, R]: [E, B, T, R].
torch::Tensor apply_map(const torch::Tensor& x, const torch::Tensor& weight, const torch::Tensor& bias = {});

}  // namespace rung::learn
