// The parameters of an ensemble: E members of one architecture, all numbers of a member in one row of one
// buffer.
//
// What is computed with one map of several names (q, k and v of one input) is declared as one parameter whose
// rows carry the names, so that it is one matrix product; the weights file sees the names. One buffer makes
// the optimiser one kernel, a checkpoint one write, and clipping one norm a row.
//
// Letters in rung/learn: E members, B prompts a member, T positions, W width, H heads, K key heads, dk, dv.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rung/base/result.h"
#include "rung/learn/torch.h"

namespace rung::learn {

// How a parameter starts. Determinism: a function of the member's seed and the parameter's first name alone.
struct Start {
  enum class Kind { constant, normal, uniform, log_spaced, logarithms, digits } kind = Kind::constant;
  // The constant; the standard deviation; the half-width. log_spaced: -1, -2, ... -size along the last dimension, times
  // value; logarithms: ln 1, ln 2, ... likewise. digits: rows of a binary code, normal with this deviation, and a last
  // row that makes the digits 0 and 1 count as -1 and 1.
  double value = 0;
  double shift = 0;  // added: the middle of a normal or uniform draw
  static Start constant(double value) { return {Kind::constant, value}; }
  static Start normal(double deviation) { return {Kind::normal, deviation}; }
  static Start digits(double deviation) { return {Kind::digits, deviation}; }
  static Start uniform(double half_width, double middle) { return {Kind::uniform, half_width, middle}; }
};

// What the weights file holds of a parameter x: x, or -e^x, which is negative whatever is learned.
enum class Stored { itself, minus_exponential };

// Rows [first, first + count) of a parameter under a name of docs/weights.md; count is along the first
// dimension.
struct NamedRows {
  std::string name;
  std::int64_t first = 0, count = 0;
};

struct ParameterSpec {
  std::vector<std::int64_t> shape;  // of one member
  std::vector<NamedRows> rows;
  Start start;
  bool decays = true;       // weight decay: matrices yes; gains, biases, embeddings of positions no
  std::int64_t offset = 0;  // in the member's row, numbers
  Stored stored = Stored::itself;
  std::int64_t size() const;
};

class ParameterLayout {
 public:
  using Index = std::size_t;
  Index add(std::string name, std::vector<std::int64_t> shape, Start start, bool decays,
            Stored stored = Stored::itself);
  // Several names stacked along the first dimension.
  struct Part {
    std::string name;
    std::int64_t rows;
  };
  Index add_stacked(const std::vector<Part>& parts, std::vector<std::int64_t> rest, Start start, bool decays);

  const std::vector<ParameterSpec>& specs() const { return specs_; }
  std::int64_t size() const { return size_; }  // numbers of one member

 private:
  std::vector<ParameterSpec> specs_;
  std::int64_t size_ = 0;
};

// Leaves of autograd, one a ParameterSpec: [E, shape...], views of one buffer; their gradients are views of
// another.
struct Leaves {
  std::vector<torch::Tensor> tensors;
  const torch::Tensor& operator[](ParameterLayout::Index index) const { return tensors[index]; }
};

class Parameters {
 public:
  // One member a seed; `scales` multiplies each member's random draws (initial scale). The compute type is
  // float32 or bfloat16; the master copy is float32 always.
  Parameters(const ParameterLayout& layout, const std::vector<std::uint64_t>& seeds,
             const std::vector<double>& scales, torch::Device device, torch::ScalarType compute);

  torch::Tensor master;    // [E, P] float32
  torch::Tensor compute;   // the same storage, or a bfloat16 copy that refresh() renews
  torch::Tensor gradient;  // [E, P] of the compute type
  Leaves leaves;

  // The master copy as leaves without gradients: what the weights file will hold.
  Leaves float_leaves(const ParameterLayout& layout) const;

  void refresh();  // after the master changed
  std::int64_t members() const { return master.size(0); }
};

}  // namespace rung::learn
