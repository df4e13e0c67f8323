// The mixers of docs/weights.md as functions of the whole sequence, and the reader of tensors that they
// share.
#pragma once

#include <string>

#include "rung/spec/weights.h"
#include "tests/exact/plain_integer.h"

namespace rung::plain {

class TensorReader {
 public:
  explicit TensorReader(const Weights& weights) : weights_(weights) {}

  bool has(const std::string& name) const { return weights_.tensors.count(name) != 0; }
  Big at(const std::string& name, std::int64_t index) const { return tensor(name).integer(index); }
  std::int64_t extent(const std::string& name, std::size_t axis) const { return tensor(name).shape.at(axis); }
  Row row(const std::string& name, std::int64_t index) const;
  std::int64_t scalar(const std::string& name, std::int64_t absent = 0) const {
    return has(name) ? tensor(name).integer(0) : absent;
  }
  std::int64_t bits(const std::string& name) const {
    return scalar(name, weights_.architecture.dimensions.precision.bits);
  }
  std::int64_t state_bits() const;  // a
  Accumulator accumulator() const { return weights_.accumulator; }

  Row sums(const std::string& map, const Row& x) const;  // M.weight x + M.bias
  Row map(const std::string& map, const Row& x) const;   // M(x)
  Big table(const std::string& table, const Big& x) const;
  Big settle(const Big& x) const;

 private:
  const Tensor& tensor(const std::string& name) const {
    const auto found = weights_.tensors.find(name);
    RUNG_REQUIRE(found != weights_.tensors.end(), "no tensor {}", name);
    return found->second;
  }
  const Weights& weights_;
};

// y_t for every t, heads side by side.
Rows mix(const TensorReader& read, const MixerShape& shape, const std::string& prefix, bool causal,
         const Rows& u);

}  // namespace rung::plain
