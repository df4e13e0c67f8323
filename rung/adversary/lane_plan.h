// A recurrent stack's weights, laid out for the lane kernel: plain integers, every shift and width beside
// them, and the bits that the largest sum needs. Which mixers: linear (identity, relu, elu1, exp features),
// rnn, gru, mamba, mamba2, delta, gdelta, identity and none, without short convolutions; no norms before maps
// (unit keys of delta are known).
#pragma once

#include <optional>
#include <vector>

#include "rung/adversary/target.h"
#include "rung/exact/vector_norm.h"

namespace rung {

struct LaneMap {
  std::int64_t rows = 0, cols = 0;
  std::vector<std::int64_t> weight, bias;  // bias empty: none
  std::vector<std::int32_t> narrow;        // the weights again, where they all fit: what int32 lanes read
  int shift = 0, bits = 16;
  int sum_bits = 0;  // of the largest sum, sign included
  // Where most weights are 0: the columns of the others, row r from starts[r] to starts[r + 1]; else empty.
  std::vector<std::int32_t> columns;
  std::vector<std::size_t> starts;
  void list_columns();
};
struct LaneTable {
  std::int64_t low = 0;
  std::vector<std::int64_t> values;
  std::vector<std::int32_t> narrow = {};  // the values again, where they all fit
};

struct LaneLayer {
  MixerShape shape;
  Accumulator accumulator = Accumulator::exact;
  int accumulator_bits = 16, output_bits = 16, feature_bits = 16;
  int update_shift = 0, read_shift = 0, decay_shift = 0, predict_shift = 0, write_shift = 0, cell_shift = 0;
  int gate_shift = 0, fraction = 0;       // gru
  int index_shift = 0, skip_shift = 0;    // mamba
  std::vector<std::int64_t> rates, skip;  // mamba: A [inner][state], D [inner]
  std::int64_t scale = 1;
  std::optional<NormRule> unit;  // of keys
  // Maps by role: key k | b, value v | x, query q | c; rnn: value = input map, key = hidden map; gru: the three
  // of each, z, r, n, below one another; mamba: beta = delta, its table, and gate_table = decay; identity: value.
  LaneMap key, value, query, beta, gate;
  LaneTable beta_table, gate_table, feature_table, cell_table;
  LaneMap output;
  std::vector<LaneMap> mlp;
  std::vector<std::optional<LaneTable>> activation;  // between maps; nullopt: ReLU
  std::int64_t numbers = 0;                          // stored
  // What one token brings to the state, and to the read, once maps, features and tables are applied.
  std::int64_t update_channels = 0, read_channels = 0;
};

struct LanePlan {
  std::int64_t width = 0;
  int stream_bits = 16;
  std::vector<LaneLayer> layers;
  int sum_bits = 0;  // the largest, sign included
};

// Errors (as a reason, not a failure of the outside world): what the lane kernel does not know.
Result<LanePlan> plan_lanes(const Target& target);

}  // namespace rung
