#include "tests/exact/plain_model.h"

#include <bit>

#include "tests/exact/plain_mixers.h"

namespace rung::plain {
namespace {

// Rows of a "binary" tensor: the rows of the set bits, and the last row always.
Row binary_code(const TensorReader& read, const std::string& name, std::int64_t value, std::int64_t width) {
  const std::int64_t digits = read.extent(name, 0) - 1;
  Row row(static_cast<std::size_t>(width));
  for (std::int64_t c = 0; c < width; ++c) {
    row[static_cast<std::size_t>(c)] = read.at(name, digits * width + c);
    for (std::int64_t d = 0; d < digits; ++d)
      if ((value >> d) & 1) row[static_cast<std::size_t>(c)] += read.at(name, d * width + c);
  }
  return row;
}

void add_to(Row& sum, const Row& row) {
  for (std::size_t c = 0; c < sum.size(); ++c) sum[c] += row[c];
}

Rows embed(const Weights& weights, const TensorReader& read, const Prompt& prompt) {
  const auto& dimensions = weights.architecture.dimensions;
  const std::int64_t width = dimensions.width;
  Rows x;
  for (std::int64_t t = 0; t < prompt.positions; ++t) {
    Row sum(static_cast<std::size_t>(width), 0);
    for (std::size_t f = 0; f < weights.fields.size(); ++f) {
      const FieldSpec& field = weights.fields[f];
      const std::string name = "embed." + field.name;
      const std::int64_t value = prompt.fields[f][static_cast<std::size_t>(t * field.length)];
      if (read.has(name + ".table")) {
        add_to(sum, read.row(name + ".table", value - field.low));
      } else if (read.has(name + ".binary")) {
        add_to(sum, binary_code(read, name + ".binary", value - field.low, width));
      } else {
        for (std::int64_t i = 0; i < field.length; ++i) {
          Row scaled = read.row(name + ".linear", i);
          for (auto& number : scaled)
            number *= prompt.fields[f][static_cast<std::size_t>(t * field.length + i)];
          add_to(sum, scaled);
        }
      }
    }
    if (dimensions.position == PositionCode::table) add_to(sum, read.row("embed.position.table", t));
    if (dimensions.position == PositionCode::binary)
      add_to(sum, binary_code(read, "embed.position.binary", t, width));
    for (auto& number : sum) number = sat(rsh(number, read.scalar("embed.shift")), read.bits("stream.bits"));
    x.push_back(std::move(sum));
  }
  return x;
}

Row norm(const TensorReader& read, const std::string& name, const Row& x) {
  const std::int64_t extra = read.scalar(name + ".extra"), fraction = read.scalar(name + ".fraction");
  const Big root =
      isqrt(floor_quotient(power_of_two(2 * extra) * dot(x, x), static_cast<std::int64_t>(x.size())));
  Row y(x.size(), 0);
  if (root == 0) return y;
  for (std::size_t i = 0; i < x.size(); ++i)
    y[i] = sat(round_quotient(x[i] * read.at(name + ".gain", static_cast<std::int64_t>(i)) *
                                  power_of_two(fraction + extra),
                              root),
               read.bits(name + ".bits"));
  return y;
}

Row mlp(const TensorReader& read, const std::string& prefix, std::size_t hidden_layers,
        MlpActivation activation, Row h) {
  for (std::size_t k = 0; k <= hidden_layers; ++k) {
    const std::string name = prefix + "mlp." + std::to_string(k);
    h = read.map(name, h);
    if (k == hidden_layers) break;
    for (auto& number : h)
      number = activation == MlpActivation::relu ? relu(number)
                                                 : sat(read.table(name, number), read.bits(name + ".bits"));
  }
  return h;
}

void add_saturated(Row& x, const Row& y, std::int64_t bits) {
  for (std::size_t c = 0; c < x.size(); ++c) x[c] = sat(x[c] + y[c], bits);
}

Row decode(const OutputSpec& output, const TensorReader& read, const Row& z) {
  if (output.kind == OutputSpec::Kind::vector) return z;
  if (output.kind == OutputSpec::Kind::logits) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < z.size(); ++i)
      if (z[i] > z[best]) best = i;
    return {Big(best)};
  }
  Big token = 0;
  for (std::size_t d = 0; d < z.size(); ++d)
    if (z[d] > read.at("out.threshold", static_cast<std::int64_t>(d)))
      token += power_of_two(static_cast<std::int64_t>(d));
  return {token};
}

}  // namespace

std::vector<Reading> evaluate(const Weights& weights, const Prompt& prompt) {
  const auto& dimensions = weights.architecture.dimensions;
  const TensorReader read(weights);
  const auto layers = resolve(weights.architecture);
  RUNG_REQUIRE(layers.ok(), "{}", layers.error().message);
  const bool norms = dimensions.norm == Norm::rms;
  Rows x = embed(weights, read, prompt);
  for (std::size_t i = 0; i < layers->size(); ++i) {
    const LayerShape& layer = (*layers)[i];
    const std::string prefix = "layers." + std::to_string(i) + ".";
    if (layer.mixer.kind != MixerKind::none) {
      Rows u = x;
      if (norms)
        for (auto& row : u) row = norm(read, prefix + "norm1", row);
      const Rows y = mix(read, layer.mixer, prefix, dimensions.causal, u);
      for (std::size_t t = 0; t < x.size(); ++t)
        add_saturated(x[t], read.map(prefix + "o", y[t]), read.bits("stream.bits"));
    }
    if (!layer.mlp.empty())
      for (auto& row : x)
        add_saturated(row,
                      mlp(read, prefix, layer.mlp.size(), dimensions.activation,
                          norms ? norm(read, prefix + "norm2", row) : row),
                      read.bits("stream.bits"));
  }
  std::vector<Reading> readings;
  for (auto& row : x) {
    Reading reading{norms ? norm(read, "norm", row) : row, {}, {}};
    for (std::int64_t r = 0; r < weights.output.size; ++r)
      reading.logits.push_back(dot(read.row("out.table", r), reading.activation) +
                               (read.has("out.bias") ? read.at("out.bias", r) : Big(0)));
    reading.answer = decode(weights.output, read, reading.logits);
    readings.push_back(std::move(reading));
  }
  return readings;
}

std::vector<std::int64_t> think(const Weights& weights, Prompt prompt) {
  std::vector<std::int64_t> tokens;
  while (static_cast<std::int64_t>(tokens.size()) < weights.decode.steps) {
    const auto token = static_cast<std::int64_t>(evaluate(weights, prompt).back().answer[0]);
    tokens.push_back(token);
    if (weights.decode.stop == token) break;
    for (std::size_t f = 0; f < prompt.fields.size(); ++f)
      for (std::int64_t i = 0; i < weights.fields[f].length; ++i)
        prompt.fields[f].push_back(f == 0 ? token : 0);
    ++prompt.positions;
  }
  return tokens;
}

}  // namespace rung::plain
