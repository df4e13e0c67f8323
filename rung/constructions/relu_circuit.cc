#include "rung/constructions/relu_circuit.h"

#include <algorithm>
#include <bit>

#include "rung/base/require.h"

namespace rung {

Number Number::within(std::int64_t low, std::int64_t high) const {
  Number x = *this;
  x.low_ = std::max(low, low_);
  x.high_ = std::min(high, high_);
  RUNG_REQUIRE(x.low_ <= x.high_, "[{}, {}] and [{}, {}]", low, high, low_, high_);
  return x;
}

Number operator+(const Number& a, const Number& b) {
  Number sum = a;
  sum.constant_ += b.constant_;
  sum.low_ += b.low_;
  sum.high_ += b.high_;
  for (const auto& [unit, weight] : b.terms_)
    if ((sum.terms_[unit] += weight) == 0) sum.terms_.erase(unit);
  if (sum.terms_.empty()) sum.low_ = sum.high_ = sum.constant_;
  return sum;
}

Number operator*(std::int64_t factor, const Number& a) {
  if (factor == 0) return 0;
  Number product = a;
  product.constant_ *= factor;
  product.low_ = factor * (factor > 0 ? a.low_ : a.high_);
  product.high_ = factor * (factor > 0 ? a.high_ : a.low_);
  for (auto& [unit, weight] : product.terms_) weight *= factor;
  return product;
}

Number ReluCircuit::unit(int index, std::int64_t weight) const {
  const Unit& u = units_[static_cast<std::size_t>(index)];
  Number x;
  x.terms_[index] = 1;
  x.low_ = u.low;
  x.high_ = u.high;
  return weight * x;
}

Number ReluCircuit::input(std::int64_t coordinate, std::int64_t low, std::int64_t high) {
  RUNG_REQUIRE(coordinate >= 0 && low <= high, "coordinate {} in [{}, {}]", coordinate, low, high);
  const auto [place, fresh] = inputs_.try_emplace(coordinate, static_cast<int>(units_.size()));
  if (fresh) units_.push_back({0, coordinate, low, high, {}});
  const Unit& u = units_[static_cast<std::size_t>(place->second)];
  RUNG_REQUIRE(u.low == low && u.high == high, "coordinate {} in [{}, {}] and in [{}, {}]", coordinate, low,
               high, u.low, u.high);
  return unit(place->second);
}

int ReluCircuit::layer_of(const Number& x) const {
  int layer = 0;
  for (const auto& [index, weight] : x.terms_)
    layer = std::max(layer, units_[static_cast<std::size_t>(index)].layer);
  return layer;
}

int ReluCircuit::new_unit(const Number& x, int layer) {
  units_.push_back({layer, 0, std::max<std::int64_t>(0, x.low()), std::max<std::int64_t>(0, x.high()), x});
  return static_cast<int>(units_.size()) - 1;
}

Number ReluCircuit::carried(int index, int layer) {
  const Unit u = units_[static_cast<std::size_t>(index)];
  if (u.layer == layer) return unit(index);
  const auto key = std::pair(index, layer);
  if (const auto found = carried_.find(key); found != carried_.end()) return found->second;
  Number value;
  if (u.layer == 0 &&
      layer == 1) {  // the sign is open: x = max(0, x) - max(0, -x), then each part goes up alone
    if (u.high > 0) value = value + unit(new_unit(unit(index), 1));
    if (u.low < 0) value = value - unit(new_unit(-unit(index), 1));
  } else if (u.layer == 0) {
    const auto parts = carried(index, 1).terms_;
    for (const auto& [part, weight] : parts) value = value + weight * carried(part, layer);
  } else {
    value = unit(new_unit(carried(index, layer - 1), layer));
  }
  value.low_ = u.low;
  value.high_ = u.high;
  carried_.emplace(key, value);
  return value;
}

Number ReluCircuit::lifted(const Number& x, int layer) {
  Number sum = x.constant_;
  const auto terms = x.terms_;
  for (const auto& [index, weight] : terms) sum = sum + weight * carried(index, layer);
  sum.low_ = x.low_;
  sum.high_ = x.high_;
  return sum;
}

Number ReluCircuit::relu(const Number& x) {
  if (x.high() <= 0) return 0;
  if (x.low() >= 0) return x;
  const int layer = layer_of(x);
  return unit(new_unit(lifted(x, layer), layer + 1));
}

void ReluCircuit::add(std::int64_t coordinate, const Number& x) {
  const auto [place, fresh] = outputs_.try_emplace(coordinate, x);
  if (!fresh) place->second = place->second + x;
}

int ReluCircuit::depth() const {
  int depth = outputs_.empty() ? 0 : 1;
  for (const auto& [coordinate, x] : outputs_) depth = std::max(depth, layer_of(x));
  return depth;
}

std::vector<ReluMap> ReluCircuit::compile(std::int64_t width, int depth) const {
  RUNG_REQUIRE(depth >= std::max(1, this->depth()), "depth {} for a circuit of {}", depth, this->depth());
  ReluCircuit whole = *this;
  std::map<std::int64_t, Number> outputs;
  for (const auto& [coordinate, x] : outputs_) outputs.emplace(coordinate, whole.lifted(x, depth));

  // Units that an output needs, and their row inside their layer.
  std::vector<bool> needed(whole.units_.size(), false);
  for (const auto& [coordinate, x] : outputs)
    for (const auto& [index, weight] : x.terms_) needed[static_cast<std::size_t>(index)] = true;
  for (std::size_t i = whole.units_.size(); i-- > 0;)  // a unit reads only earlier ones
    if (needed[i])
      for (const auto& [index, weight] : whole.units_[i].reads.terms_)
        needed[static_cast<std::size_t>(index)] = true;
  std::vector<std::int64_t> row(whole.units_.size(), 0), rows(static_cast<std::size_t>(depth) + 1, 0);
  for (std::size_t i = 0; i < whole.units_.size(); ++i) {
    const Unit& u = whole.units_[i];
    if (u.layer == 0)
      row[i] = u.coordinate;
    else if (needed[i])
      row[i] = rows[static_cast<std::size_t>(u.layer)]++;
  }
  rows[0] = width;

  const auto bits_of = [](std::int64_t low, std::int64_t high) {
    const auto largest = static_cast<std::uint64_t>(std::max(high, -low));
    return std::max(2, static_cast<int>(std::bit_width(largest)) + 1);
  };
  std::vector<ReluMap> maps;
  for (int layer = 1; layer <= depth + 1; ++layer) {
    ReluMap map;
    map.cols = layer == 1 ? width : maps.back().rows;
    map.rows = layer > depth ? width : std::max<std::int64_t>(1, rows[static_cast<std::size_t>(layer)]);
    map.weight.assign(static_cast<std::size_t>(map.rows * map.cols), 0);
    map.bias.assign(static_cast<std::size_t>(map.rows), 0);
    const auto write = [&](std::int64_t r, const Number& x) {
      map.bias[static_cast<std::size_t>(r)] = x.constant_;
      for (const auto& [index, weight] : x.terms_) {
        RUNG_REQUIRE(whole.units_[static_cast<std::size_t>(index)].layer == layer - 1,
                     "a unit of layer {} reads layer {}", layer,
                     whole.units_[static_cast<std::size_t>(index)].layer);
        map.weight[static_cast<std::size_t>(r * map.cols + row[static_cast<std::size_t>(index)])] = weight;
      }
    };
    if (layer > depth) {
      for (const auto& [coordinate, x] : outputs) {
        RUNG_REQUIRE(coordinate < width, "coordinate {} of {}", coordinate, width);
        write(coordinate, x);
        map.bits = std::max(map.bits, bits_of(x.low(), x.high()));
      }
    } else {
      for (std::size_t i = 0; i < whole.units_.size(); ++i)
        if (needed[i] && whole.units_[i].layer == layer) {
          write(row[i], whole.units_[i].reads);
          map.bits = std::max(map.bits, bits_of(0, whole.units_[i].high));
        }
    }
    maps.push_back(std::move(map));
  }
  return maps;
}

}  // namespace rung
