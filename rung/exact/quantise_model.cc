#include "rung/exact/quantise_model.h"

#include <algorithm>
#include <cmath>

namespace rung {
namespace {

constexpr int kLowestShift = -40, kHighestShift = 100;  // docs/weights.md
constexpr int kQuantiseModelMostWeightBits = 46;

std::int64_t nearest(double x) { return static_cast<std::int64_t>(std::nearbyint(x)); }

// The largest e with |x| 2^e <= limit. REQUIRES x != 0.
int fitting_exponent(double x, double limit) {
  int exponent = static_cast<int>(std::floor(std::log2(limit / std::fabs(x))));
  while (std::ldexp(std::fabs(x), exponent) > limit) --exponent;
  return exponent;
}

}  // namespace

IntegerModel::IntegerModel(const Weights& real, const Calibration& seen, const QuantiseOptions& options,
                           const ScaleChoice& choice)
    : real_(real),
      seen_(seen),
      bits_(options.precision),
      state_bits_(options.accumulator_bits.value_or(options.precision)),
      weight_bits_(options.weight_bits.value_or(default_weight_bits(options.precision))),
      choice_(choice) {
  out.architecture = real.architecture;
  auto& dimensions = out.architecture.dimensions;
  dimensions.precision = Precision{NumberFormat::fixed, bits_, 0};
  dimensions.accumulator_bits.reset();
  if (options.accumulator_bits) dimensions.accumulator_bits = state_bits_;
  out.mode = WeightMode::integer;
  out.accumulator = options.accumulator.value_or(
      options.accumulator_bits && real.accumulator == Accumulator::exact ? Accumulator::round
                                                                         : real.accumulator);
  out.fields = real.fields;
  out.output = real.output;
  out.decode = real.decode;
  out.task = real.task;
  for (const auto& [name, text] : real.notes)
    if (!name.starts_with(kFractionNote)) out.notes[name] = text;
}

int IntegerModel::gate_bits(const std::string& name) const {
  constexpr int kLeast = 12;
  if (noted(name)) return std::min(bits_, kTableBits);  // trained at p bits
  return std::clamp(bits_, kLeast, kTableBits);
}

int IntegerModel::fraction(const std::string& name, int bits, bool positive_only) const {
  if (const auto note = choice_.noted.find(name); note != choice_.noted.end()) return note->second;
  return seen_fraction(name, bits, positive_only);
}

int IntegerModel::seen_fraction(const std::string& name, int bits, bool positive_only) const {
  chosen.insert(name);
  const auto moved = choice_.moved.find(name);
  const int best = best_fraction(seen_.of(name), bits, choice_.clip_penalty, positive_only);
  return std::clamp(best + (moved == choice_.moved.end() ? 0 : moved->second), kLowestFraction,
                    kHighestFraction);
}

void IntegerModel::record(const std::string& name, int bits, int fraction) {
  const auto& seen = seen_.of(name);
  const double square = seen.mean_square();
  StoredScale scale{name, bits, fraction, seen.largest_size(), std::sqrt(square), 0, noted(name)};
  if (square > 0)
    scale.error =
        std::sqrt(seen.squared_error(bits, fraction, 1, false) / static_cast<double>(seen.count()) / square);
  scales.push_back(std::move(scale));
}

std::vector<double> IntegerModel::numbers(const std::string& name, std::size_t size) {
  std::vector<double> values(size, 0.0);
  const auto found = real_.tensors.find(name);
  // The calibration run has checked names and shapes.
  RUNG_REQUIRE(found != real_.tensors.end() && static_cast<std::size_t>(found->second.size()) == size,
               "{} of {} numbers", name, size);
  for (std::size_t i = 0; i < size; ++i) values[i] = found->second.real(static_cast<std::int64_t>(i));
  return values;
}

double IntegerModel::number(const std::string& name, double fallback) const {
  const auto found = real_.tensors.find(name);
  return found == real_.tensors.end() ? fallback : found->second.real(0);
}

void IntegerModel::put(const std::string& name, std::vector<std::int64_t> shape,
                       const std::vector<std::int64_t>& values) {
  out.tensors[name] = integer_tensor(std::move(shape), values);
}
void IntegerModel::put_scalar(const std::string& name, std::int64_t value) {
  out.tensors[name] = integer_scalar(value);
}
void IntegerModel::put_width(const std::string& name, int bits) {
  if (bits != bits_) put_scalar(name + ".bits", bits);
}
void IntegerModel::put_shift(const std::string& name, int shift) {
  if (shift < kLowestShift || shift > kHighestShift)
    refuse(fail(ErrorCode::range, "[quantise] \"{}\" would be {}; {} to {} expected", name, shift,
                kLowestShift, kHighestShift));
  if (shift != 0) put_scalar(name, shift);
}

// Weights of a map with the inputs' factors and the file's own shift in them.
std::vector<double> IntegerModel::columns(const Summand& map, std::int64_t rows) {
  const auto cols = static_cast<std::int64_t>(map.in.fraction.size());
  auto weight = numbers(map.name + ".weight", static_cast<std::size_t>(rows * cols));
  const int own = shift(map.name + ".shift");
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < cols; ++c) {
      auto& w = weight[static_cast<std::size_t>(r * cols + c)];
      w = std::ldexp(w * map.in.factor[static_cast<std::size_t>(c)], -own);
    }
  return weight;
}

int IntegerModel::product_fraction(const std::vector<Summand>& maps, std::int64_t rows) {
  const double limit = std::ldexp(1.0, weight_bits_ - 1) - 1,
               bias_limit = std::ldexp(1.0, kQuantiseModelMostWeightBits);
  int product = kHighestFraction + weight_bits_;
  for (const auto& map : maps) {
    const auto weight = columns(map, rows);
    const std::size_t cols = map.in.fraction.size();
    for (std::size_t i = 0; i < weight.size(); ++i)
      if (weight[i] != 0)
        product = std::min(product, fitting_exponent(weight[i], limit) + map.in.fraction[i % cols]);
    if (!has(map.name + ".bias")) continue;
    for (const double b : numbers(map.name + ".bias", static_cast<std::size_t>(rows)))
      if (b != 0)
        product = std::min(product, fitting_exponent(std::ldexp(b, -shift(map.name + ".shift")), bias_limit));
  }
  return product;
}

int IntegerModel::summed_maps(const std::vector<Summand>& maps, std::int64_t rows) {
  const int product = product_fraction(maps, rows);
  for (const auto& map : maps) {
    const auto weight = columns(map, rows);
    const std::size_t cols = map.in.fraction.size();
    std::vector<std::int64_t> integers(weight.size());
    for (std::size_t i = 0; i < weight.size(); ++i)
      integers[i] = nearest(std::ldexp(weight[i], product - map.in.fraction[i % cols]));
    put(map.name + ".weight", {rows, static_cast<std::int64_t>(cols)}, integers);
    if (!has(map.name + ".bias")) continue;
    std::vector<std::int64_t> bias;
    for (const double b : numbers(map.name + ".bias", static_cast<std::size_t>(rows)))
      bias.push_back(nearest(std::ldexp(b, product - shift(map.name + ".shift"))));
    put(map.name + ".bias", {rows}, bias);
  }
  return product;
}

void IntegerModel::map(const std::string& name, std::int64_t rows, const InputScale& in, int fraction,
                       int bits) {
  const int product = summed_maps({{name, in}}, rows);
  put_shift(name + ".shift", product - fraction);
  put_width(name, bits);
}

int IntegerModel::row_weights(const std::string& name, std::int64_t columns, const std::vector<int>& in,
                              std::vector<std::int64_t> shape) {
  return row_weights(name, columns, in, std::move(shape), "", {});
}

int IntegerModel::row_weights(const std::string& name, std::int64_t columns, const std::vector<int>& in,
                              std::vector<std::int64_t> shape, const std::string& bias,
                              const std::vector<int>& more) {
  const auto weight = numbers(name, in.size() * static_cast<std::size_t>(columns));
  const double limit = std::ldexp(1.0, weight_bits_ - 1) - 1;
  int product = kHighestFraction + weight_bits_;
  for (std::size_t i = 0; i < weight.size(); ++i)
    if (weight[i] != 0)
      product =
          std::min(product, fitting_exponent(weight[i], limit) + in[i / static_cast<std::size_t>(columns)]);
  const auto offsets = bias.empty() ? std::vector<double>{} : numbers(bias, in.size());
  for (std::size_t i = 0; i < offsets.size(); ++i)
    if (offsets[i] != 0)
      product = std::min(
          product, fitting_exponent(offsets[i], std::ldexp(1.0, kQuantiseModelMostWeightBits)) - more[i]);
  std::vector<std::int64_t> integers(weight.size());
  for (std::size_t i = 0; i < weight.size(); ++i)
    integers[i] = nearest(std::ldexp(weight[i], product - in[i / static_cast<std::size_t>(columns)]));
  put(name, std::move(shape), integers);
  if (bias.empty()) return product;
  std::vector<std::int64_t> constants(offsets.size());
  for (std::size_t i = 0; i < offsets.size(); ++i)
    constants[i] = nearest(std::ldexp(offsets[i], product + more[i]));
  put(bias, {static_cast<std::int64_t>(offsets.size())}, constants);
  return product;
}

void IntegerModel::function_table(const std::string& name, const char* fallback, std::int64_t low,
                                  std::int64_t high, int in, int out_fraction, int clip) {
  TableFunction function{fallback, 0, 0};
  if (const auto own = real_.tables.find(name); own != real_.tables.end()) function = own->second;
  function.in_fraction += in;
  function.out_fraction += out_fraction;
  const double most = std::ldexp(1.0, clip - 1) - 1;
  std::vector<std::int64_t> values;
  values.reserve(static_cast<std::size_t>(high - low) + 1);
  for (std::int64_t x = low; x <= high; ++x) {
    const double value =
        apply_function(function.function, std::ldexp(static_cast<double>(x), -function.in_fraction));
    values.push_back(nearest(std::clamp(std::ldexp(value, function.out_fraction), -most - 1, most)));
  }
  put(name + ".table", {high - low + 1}, values);
  put_scalar(name + ".low", low);
  out.tables[name] = function;
}

void IntegerModel::limit_table(const std::string& name, int out_fraction, double low, double high) {
  const Tensor& table = out.tensors.at(name + ".table");
  std::vector<std::int64_t> values;
  bool clipped = false;
  for (std::int64_t i = 0; i < table.size(); ++i) {
    const auto value = static_cast<double>(table.integer(i));
    values.push_back(
        nearest(std::min(std::max(value, std::ldexp(low, out_fraction)), std::ldexp(high, out_fraction))));
    clipped = clipped || values.back() != table.integer(i);
  }
  if (!clipped) return;
  put(name + ".table", {static_cast<std::int64_t>(values.size())}, values);
  out.tables.erase(name);
}

void IntegerModel::channel_table(const std::string& name, const char* fallback, int bits, int in,
                                 int out_fraction, int clip) {
  RUNG_REQUIRE(bits <= kTableBits, "a table over {} bits", bits);
  const std::int64_t half = std::int64_t{1} << (bits - 1);
  function_table(name, fallback, -half, half - 1, in, out_fraction, clip);
}

}  // namespace rung
