// A recurrent layer's weights, laid out for lanes: plain integers, every shift and width beside them. Row says
// who owns them: std::vector on the host (lane_plan.h), View in a program that was copied to a device.
#pragma once

#include <cstddef>
#include <cstdint>

#include "rung/adversary/lanes/host_device.h"
#include "rung/spec/mixer_kind.h"

namespace rung::lanes {

// Items that somebody else owns, as std::vector shows them.
template <class T>
struct View {
  const T* items = nullptr;
  std::size_t count = 0;
  RUNG_INLINE const T& operator[](std::size_t i) const { return items[i]; }
  RUNG_INLINE const T* data() const { return items; }
  RUNG_INLINE std::size_t size() const { return count; }
  RUNG_INLINE bool empty() const { return count == 0; }
};

template <template <class> class Row>
struct Map {
  std::int64_t rows = 0, cols = 0;
  Row<std::int64_t> weight, bias;  // bias empty: none
  Row<std::int32_t> narrow;        // the weights again, where they all fit: what int32 lanes read
  int shift = 0, bits = 16;
  int sum_bits = 0;  // of the largest sum, sign included
  // Where most weights are 0: the columns of the others, row r from starts[r] to starts[r + 1]; else empty.
  Row<std::int32_t> columns;
  Row<std::size_t> starts;
};
template <template <class> class Row>
struct Table {
  std::int64_t low = 0;
  Row<std::int64_t> values;
  Row<std::int32_t> narrow = {};  // the values again, where they all fit
};

// Keys of unit length: y_i = round(x_i 2^(fraction + extra) / isqrt(4^extra Σ x²)), ties to even.
struct UnitRule {
  int fraction = 0, extra = 0;
  int bits = 0;  // of y; 0: keys stay as they are
};

// Of MixerShape, what a step reads.
struct Shape {
  MixerKind kind = MixerKind::none;
  std::int64_t heads = 0, kv_heads = 0, key_dim = 0, value_dim = 0, state = 0, inner = 0, steps = 1;
  std::int64_t output = 0;  // numbers handed to W_O
  FeatureMap feature = FeatureMap::identity;
  bool normalised = true, relu_cell = false;
};

// What a step reads of a layer beside its weights.
struct LayerRules {
  Shape shape;
  Accumulator accumulator = Accumulator::exact;
  int accumulator_bits = 16, output_bits = 16, feature_bits = 16;
  int update_shift = 0, read_shift = 0, decay_shift = 0, predict_shift = 0, write_shift = 0, cell_shift = 0;
  int gate_shift = 0, fraction = 0;     // gru
  int index_shift = 0, skip_shift = 0;  // mamba
  std::int64_t scale = 1;
  UnitRule unit = {};        // of keys
  std::int64_t numbers = 0;  // stored
  // What one token brings to the state, and to the read, once maps, features and tables are applied.
  std::int64_t update_channels = 0, read_channels = 0;
};

template <template <class> class Row>
struct Layer : LayerRules {
  Row<std::int64_t> rates, skip;  // mamba: A [inner][state], D [inner]
  // Maps by role: key k | b, value v | x, query q | c; rnn: value = input map, key = hidden map; gru: the three
  // of each, z, r, n, below one another; mamba: beta = delta, its table, and gate_table = decay; identity: value.
  Map<Row> key, value, query, beta, gate;
  Table<Row> beta_table, gate_table, feature_table, cell_table;
  Map<Row> output;
  Row<Map<Row>> mlp;
  Row<Table<Row>> activation;  // between maps; a table of nothing: ReLU
};

}  // namespace rung::lanes
