#include "rung/adversary/lane_plan.h"

#include <algorithm>
#include <cmath>

#include "rung/exact/tensor_source.h"
#include "rung/spec/mixers.h"

namespace rung {
namespace {

// Where most weights are 0: lists the others.
void list_columns(LaneMap& map) {
  // A listed weight costs about as much as three that are not.
  const std::int64_t all = map.rows * map.cols;
  if (3 * (all - std::count(map.weight.begin(), map.weight.end(), 0)) >= all) return;
  map.starts.push_back(0);
  for (std::int64_t r = 0; r < map.rows; ++r) {
    for (std::int64_t c = 0; c < map.cols; ++c)
      if (map.weight[static_cast<std::size_t>(r * map.cols + c)] != 0)
        map.columns.push_back(static_cast<std::int32_t>(c));
    map.starts.push_back(map.columns.size());
  }
}

// Reads through the exact machine's own source, so defaults and ranges are decided at one place.
class Planner {
 public:
  Planner(const Target& target) : target_(target), source_(target.weights) {}

  Result<LanePlan> plan() {
    const auto& dimensions = target_.weights.architecture.dimensions;
    if (!target_.exact()) return fail(ErrorCode::unsupported, "real weights");
    if (!dimensions.causal) return fail(ErrorCode::unsupported, "an encoder");
    if (dimensions.norm != Norm::none) return fail(ErrorCode::unsupported, "norms");
    LanePlan plan;
    plan.width = dimensions.width;
    plan.stream_bits = source_.width("stream").bits;
    note(plan.stream_bits + 2);
    for (std::size_t i = 0; i < target_.layers.size(); ++i) {
      RUNG_TRY(auto layer, read_layer(i, plan));
      plan.layers.push_back(std::move(layer));
    }
    plan.sum_bits = sum_bits_;
    RUNG_REQUIRE(!source_.error(), "{}", source_.error()->message);  // the machine has loaded these weights
    return plan;
  }

 private:
  Result<LaneLayer> read_layer(std::size_t index, const LanePlan& plan) {
    using enum MixerKind;
    const LayerShape& shape = target_.layers[index];
    const MixerShape& m = shape.mixer;
    auto source = source_.under(fmt::format("layers.{}", index));
    LaneLayer layer;
    layer.shape = {.kind = m.kind,
                   .heads = m.heads,
                   .kv_heads = m.kv_heads,
                   .key_dim = m.key_dim,
                   .value_dim = m.value_dim,
                   .state = m.state,
                   .inner = m.inner,
                   .steps = m.steps,
                   .output = m.output_width(),
                   .feature = m.feature,
                   .normalised = m.normalised,
                   .relu_cell = m.relu_cell};
    layer.accumulator = target_.weights.accumulator;
    const auto& dimensions = target_.weights.architecture.dimensions;
    layer.accumulator_bits =
        static_cast<int>(dimensions.accumulator_bits.value_or(dimensions.precision.bits));
    if (m.conv > 0) return fail(ErrorCode::unsupported, "layer {}: a short convolution", index);
    if (!m.form.plain()) return fail(ErrorCode::unsupported, "layer {}: {}", index, form_name(m));
    layer.output_bits = source.width("y").bits;
    const auto map = [&](const char* name, std::int64_t rows) {
      return read_map(source, name, rows, plan.width, plan.stream_bits);
    };
    int state = layer.accumulator_bits;
    switch (m.kind) {
      case linear: {
        if (m.feature == FeatureMap::taylor2)
          return fail(ErrorCode::unsupported, "layer {}: taylor2 features", index);
        layer.query = map("q", m.heads * m.key_dim);
        layer.key = map("k", m.heads * m.key_dim);
        layer.value = map("v", m.heads * m.value_dim);
        layer.feature_bits = source.width("feature").bits;
        const bool table = m.feature == FeatureMap::elu1 || m.feature == FeatureMap::exp;
        if (table) layer.feature_table = read_table(source, "feature");
        const int feature = table ? layer.feature_bits : std::max(layer.key.bits, layer.query.bits);
        layer.update_shift = source.shift("update.shift");
        layer.read_shift = source.shift("read.shift");
        layer.scale = source.scalar("value.scale", 1, 1, std::int64_t{1} << 32);
        if (layer.accumulator == Accumulator::exact)
          state = feature + layer.value.bits + ceil_lg(static_cast<std::uint64_t>(target_.length()) + 1);
        note(feature + layer.value.bits + 1 + shift_growth(layer.update_shift));
        note(state + 2);
        note(state + feature + ceil_lg(static_cast<std::uint64_t>(m.key_dim)) + 1 +
             shift_growth(layer.read_shift));
        break;
      }
      case mamba2:
        layer.value = map("x", m.heads * m.value_dim);
        layer.key = map("b", m.kv_heads * m.key_dim);
        layer.query = map("c", m.kv_heads * m.key_dim);
        layer.gate = map("gate", m.heads);
        layer.gate_table = read_table(source, "gate");
        layer.decay_shift = source.shift("decay.shift");
        layer.read_shift = source.shift("read.shift");
        note(state + table_bits(layer.gate_table) + shift_growth(layer.decay_shift) + 1);
        note(layer.value.bits + layer.key.bits + 1);
        note(std::max(state, layer.value.bits + layer.key.bits) + 2);
        note(state + layer.query.bits + ceil_lg(static_cast<std::uint64_t>(m.key_dim)) + 1 +
             shift_growth(layer.read_shift));
        break;
      case mamba: {
        const std::int64_t entries = m.state;
        layer.value = map("x", m.inner);
        layer.key = map("b", entries);
        layer.query = map("c", entries);
        layer.beta = map("delta", m.inner);
        layer.beta_table = read_table(source, "delta");
        layer.gate_table = read_table(source, "decay");
        layer.rates = source.numbers<std::int64_t>("a.weight", {m.inner, entries});
        layer.skip = source.numbers<std::int64_t>("skip.weight", {m.inner});
        layer.index_shift = source.shift("decay.index_shift");
        layer.decay_shift = source.shift("decay.shift");
        layer.update_shift = source.shift("update.shift");
        layer.read_shift = source.shift("read.shift");
        layer.skip_shift = source.shift("skip.shift");
        const int step = table_bits(layer.beta_table), channels = layer.value.bits + layer.key.bits;
        note(step + number_bits(layer.rates) + shift_growth(layer.index_shift));
        note(std::max(state + table_bits(layer.gate_table) + shift_growth(layer.decay_shift),
                      step + channels + shift_growth(layer.update_shift)) +
             1);
        note(std::max(state + layer.query.bits + ceil_lg(static_cast<std::uint64_t>(entries)) + 1 +
                          shift_growth(layer.read_shift),
                      number_bits(layer.skip) + layer.value.bits + shift_growth(layer.skip_shift)) +
             1);
        break;
      }
      case delta:
      case gdelta: {
        layer.query = map("q", m.kv_heads * m.key_dim);
        layer.key = map("k", m.steps * m.kv_heads * m.key_dim);
        layer.value = map("v", m.steps * m.heads * m.value_dim);
        layer.beta = map("beta", m.steps * m.heads);
        layer.beta_table = read_table(source, "beta");
        if (m.kind == gdelta) {
          layer.gate = map("gate", m.heads);
          layer.gate_table = read_table(source, "gate");
          layer.decay_shift = source.shift("decay.shift");
          note(state + table_bits(layer.gate_table) + shift_growth(layer.decay_shift) + 1);
        }
        int channel = std::max(layer.query.bits, layer.key.bits);
        if (source.has("key.fraction")) {
          layer.unit = {static_cast<int>(source.scalar("key.fraction", 0, 0, 24)),
                        static_cast<int>(source.scalar("key.extra", 8, 0, 24)), source.width("key").bits};
          channel = layer.unit.bits;
        }
        layer.predict_shift = source.shift("predict.shift");
        layer.write_shift = source.shift("write.shift");
        layer.read_shift = source.shift("read.shift");
        const int dot = state + channel + ceil_lg(static_cast<std::uint64_t>(m.key_dim)) + 2;
        note(dot + std::max(shift_growth(layer.read_shift), shift_growth(layer.predict_shift)));
        note(state + channel + table_bits(layer.beta_table) + 1 + shift_growth(layer.write_shift));
        note(layer.value.bits + 2);
        break;
      }
      case rnn:
        layer.value = map("x", m.inner);
        layer.key = read_map(source, "h", m.inner, m.inner, state);
        layer.cell_shift = source.shift("cell.shift");
        if (!m.relu_cell) layer.cell_table = read_table(source, "cell");
        note(sum_bits_ + 1 + shift_growth(layer.cell_shift));
        break;
      case gru: {
        for (const char* gate : {"z", "r", "n"}) {
          put_below(layer.value, map(fmt::format("x{}", gate).c_str(), m.inner));
          put_below(layer.key, read_map(source, fmt::format("h{}", gate), m.inner, m.inner, state));
        }
        layer.gate_table = read_table(source, "gate");
        layer.cell_table = read_table(source, "cell");
        layer.gate_shift = source.shift("gate.shift");
        layer.cell_shift = source.shift("cell.shift");
        layer.fraction = static_cast<int>(source.scalar("gate.fraction", 0, 0, 30));
        const int gate = std::max(table_bits(layer.gate_table), layer.fraction + 2) + 1;  // z, r, 2^f - z
        note(std::max(layer.value.sum_bits, layer.key.sum_bits) + 1 + shift_growth(layer.gate_shift));
        note(std::max(layer.value.sum_bits, layer.key.sum_bits + gate) + 1 + shift_growth(layer.cell_shift));
        note(gate + std::max(state, table_bits(layer.cell_table)) + 1);
        break;
      }
      case identity:
        layer.value = map("v", m.inner > 0 ? m.inner : m.output_width());
        break;
      case none:
        break;
      case full:
      case loglinear:
      case sparse:
      case topk:
      case heads:
      case conv:
      case gla:
      case kda:
      case rwkv7:
      case recurrent:
      case compressed:
        return fail(ErrorCode::unsupported, "layer {}: {}", index, mixer_descriptor(m.kind).name);
    }
    layer.numbers = state_numbers(m);
    if (m.kind == rnn || m.kind == gru)
      layer.update_channels = layer.value.rows;
    else if (m.kind == mamba)  // decay and term of every entry, and the channels that they are made of
      layer.update_channels = 2 * m.inner * m.state + m.state + 2 * m.inner,
      layer.read_channels = m.state + m.inner;
    else if (m.kind == identity)
      layer.read_channels = layer.value.rows;
    else
      layer.update_channels = layer.key.rows + layer.value.rows + layer.beta.rows + layer.gate.rows,
      layer.read_channels = layer.query.rows;
    if (m.kind != none) {
      layer.output = read_map(source, "o", plan.width, m.output_width(), layer.output_bits);
      list_columns(layer.output);
    }
    std::int64_t from = plan.width;
    int from_bits = plan.stream_bits;
    for (std::size_t k = 0; k <= shape.mlp.size() && !shape.mlp.empty(); ++k) {
      const std::int64_t to = k < shape.mlp.size() ? shape.mlp[k] : plan.width;
      layer.mlp.push_back(read_map(source, fmt::format("mlp.{}", k), to, from, from_bits));
      list_columns(layer.mlp.back());
      if (k < shape.mlp.size()) {
        layer.activation.emplace_back();
        if (dimensions.activation != MlpActivation::relu)
          layer.activation.back() = read_table(source, fmt::format("mlp.{}", k));
      }
      from = to;
      from_bits = layer.mlp.back().bits;
    }
    return layer;
  }

  LaneMap read_map(TensorSource& source, const std::string& name, std::int64_t rows, std::int64_t cols,
                   int input_bits) {
    LaneMap map{rows,
                cols,
                source.numbers<std::int64_t>(name + ".weight", {rows, cols}),
                {},
                {},
                source.shift(name + ".shift"),
                source.width(name).bits};
    if (std::all_of(map.weight.begin(), map.weight.end(),
                    [](std::int64_t w) { return std::abs(w) < (std::int64_t{1} << 31); }))
      map.narrow.assign(map.weight.begin(), map.weight.end());
    if (source.has(name + ".bias")) map.bias = source.numbers<std::int64_t>(name + ".bias", {rows});
    double largest = 0;
    for (std::int64_t r = 0; r < rows; ++r) {
      double sum =
          map.bias.empty() ? 0 : std::abs(static_cast<double>(map.bias[static_cast<std::size_t>(r)]));
      for (std::int64_t c = 0; c < cols; ++c)
        sum += std::ldexp(std::abs(static_cast<double>(map.weight[static_cast<std::size_t>(r * cols + c)])),
                          input_bits - 1);
      largest = std::max(largest, sum);
    }
    map.sum_bits = static_cast<int>(std::ceil(std::log2(largest + 1))) + 2;
    note(map.sum_bits + shift_growth(map.shift));
    note(map.bits + 1);
    return map;
  }
  // One map of all rows; shifts and widths, which gru's sums have none of, are the first one's.
  static void put_below(LaneMap& above, LaneMap map) {
    if (above.rows == 0) {
      above = std::move(map);
      return;
    }
    const auto append = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
    if (!above.bias.empty() || !map.bias.empty()) {
      above.bias.resize(static_cast<std::size_t>(above.rows));
      map.bias.resize(static_cast<std::size_t>(map.rows));
      append(above.bias, map.bias);
    }
    const bool fits = !above.narrow.empty() && !map.narrow.empty();
    append(above.weight, map.weight);
    append(above.narrow, map.narrow);
    if (!fits) above.narrow.clear();
    above.rows += map.rows;
    above.sum_bits = std::max(above.sum_bits, map.sum_bits);
  }
  LaneTable read_table(TensorSource& source, const std::string& name) {
    const Table table = source.table(name, "identity");
    note(table.bits() + 1);
    LaneTable lanes{table.low, table.values};
    if (table.bits() <= 31) lanes.narrow.assign(table.values.begin(), table.values.end());
    return lanes;
  }
  static int number_bits(const std::vector<std::int64_t>& values) { return Table{0, values, {}}.bits(); }
  static int table_bits(const LaneTable& table) { return number_bits(table.values); }
  void note(int bits) { sum_bits_ = std::max(sum_bits_, bits); }

  const Target& target_;
  TensorSource source_;
  int sum_bits_ = 0;
};

}  // namespace

Result<LanePlan> plan_lanes(const Target& target) { return Planner(target).plan(); }

}  // namespace rung
