#include "tests/exact/plain_mixers.h"

namespace rung::plain {

Row TensorReader::row(const std::string& name, std::int64_t index) const {
  const std::int64_t width = extent(name, 1);
  Row out;
  for (std::int64_t c = 0; c < width; ++c) out.push_back(at(name, index * width + c));
  return out;
}

std::int64_t TensorReader::state_bits() const {
  const auto& dimensions = weights_.architecture.dimensions;
  return dimensions.accumulator_bits.value_or(dimensions.precision.bits);
}

Row TensorReader::sums(const std::string& map, const Row& x) const {
  const Tensor& weight = tensor(map + ".weight");
  const auto cols = static_cast<std::int64_t>(x.size());
  RUNG_REQUIRE(weight.shape.at(1) == cols, "{}: {} columns for {} numbers", map, weight.shape[1], cols);
  Row out;
  for (std::int64_t r = 0; r < weight.shape[0]; ++r) {
    Big sum = has(map + ".bias") ? at(map + ".bias", r) : Big(0);
    for (std::int64_t c = 0; c < cols; ++c)
      sum += x[static_cast<std::size_t>(c)] * weight.integer(r * cols + c);
    out.push_back(std::move(sum));
  }
  return out;
}

Row TensorReader::map(const std::string& map, const Row& x) const {
  Row out = sums(map, x);
  for (auto& number : out) number = sat(rsh(number, scalar(map + ".shift")), bits(map + ".bits"));
  return out;
}

Big TensorReader::table(const std::string& table, const Big& x) const {
  const std::int64_t low = scalar(table + ".low"), length = extent(table + ".table", 0);
  return at(table + ".table", static_cast<std::int64_t>(clip(x, low, low + length - 1) - low));
}

Big TensorReader::settle(const Big& x) const {
  return accumulator() == Accumulator::wrap ? wrap(x, state_bits()) : sat(x, state_bits());
}

}  // namespace rung::plain
