// Writes a construction down as a weights file: slots of the residual row, embeddings, layers, output.
//
//   ModelWriter model(*task, p);
//   const Slot code = model.slot("code", D, "code of the position, ±1");
//   model.position_bits(D).code(code, -1, 1);                    // coordinate d: -1 or 1 by bit d of the position
//   LayerWriter& layer = model.layer("full(heads=1,dim=8,vdim=3)", "one lookup");
//   layer.map("q").select(0, target, beta);                      // rows 0.. of W_Q read the slot, times beta
//   layer.scores(score_table(...));
//   layer.after("fetched: the bits of f(x) at the last position");
//   model.output_bits(fetched);
//   Weights weights = model.finish();
//
// Every map is a list of (row, column, weight); whatever is not said is 0. The MLPs of all layers are
// compiled from their circuits and padded to one shape, because the language has one MLP shape for all
// layers.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rung/constructions/relu_circuit.h"
#include "rung/constructions/residual_layout.h"
#include "rung/spec/weights.h"
#include "rung/tasks/task.h"
#include "rung/theory/score_table.h"

namespace rung {

// One integer map, entry by entry.
class MapWriter {
 public:
  void set(std::int64_t row, std::int64_t column, std::int64_t weight);
  void bias(std::int64_t row, std::int64_t value);
  // Rows first_row.. read (or, transposed in W_O, write) the slot's coordinates, each times `weight`.
  void select(std::int64_t first_row, const Slot& slot, std::int64_t weight);
  void write(const Slot& slot, std::int64_t first_column, std::int64_t weight);
  void shift(int bits) { shift_ = bits; }
  void bits(int width) { bits_ = width; }
  // For a map that the mixer need not have (compress_hidden); the others take their shape from the
  // architecture.
  void shape(std::int64_t rows, std::int64_t cols) { rows_ = rows, cols_ = cols; }

 private:
  friend class ModelWriter;
  struct Entry {
    std::int64_t row, column, weight;
  };
  std::int64_t rows_ = 0, cols_ = 0;
  std::vector<Entry> entries_;
  std::vector<std::pair<std::int64_t, std::int64_t>> biases_;
  int shift_ = 0;
  std::optional<int> bits_;
};

// How one field, or the position, enters the row: rows of its table, or of its binary code (row `digits`: the
// constant).
class EmbeddingWriter {
 public:
  // Table: row `value`. Binary: row `digit`, or digits() for the constant. Linear: row `component`.
  void set(std::int64_t row, std::int64_t coordinate, std::int64_t weight) {
    entries_.push_back({row, coordinate, weight});
  }
  // Binary only: slot coordinate d becomes `one` or `zero` by bit d of the value, for d < slot.size.
  void code(const Slot& slot, std::int64_t zero, std::int64_t one);
  // Binary only: coordinate i of the slot holds values[i], whatever the value.
  void constant(const Slot& slot, const std::vector<std::int64_t>& values);
  std::int64_t digits() const { return rows_ - 1; }

 private:
  friend class ModelWriter;
  std::string form_;  // "table", "binary", "linear"
  std::int64_t rows_ = 0;
  struct Entry {
    std::int64_t row, column, weight;
  };
  std::vector<Entry> entries_;
};

class LayerWriter {
 public:
  MapWriter& map(const std::string& name) { return maps_[name]; }
  void scalar(const std::string& name, std::int64_t value) { scalars_[name] = value; }
  void table(const std::string& name, std::int64_t low, std::vector<std::int64_t> values) {
    tables_[name] = {low, std::move(values)};
  }
  // The softmax's weights, with tau for mode Q.
  void scores(const ScoreTable& table);
  void tensor(const std::string& name, Tensor tensor) { tensors_[name] = std::move(tensor); }
  ReluCircuit& mlp() { return mlp_; }
  // One line of the invariant after this layer: what a slot holds.
  void after(std::string line) { after_.push_back(std::move(line)); }

 private:
  friend class ModelWriter;
  std::string mixer_, title_;
  std::map<std::string, MapWriter> maps_;
  std::map<std::string, std::int64_t> scalars_;
  std::map<std::string, std::pair<std::int64_t, std::vector<std::int64_t>>> tables_;
  std::map<std::string, Tensor> tensors_;
  ReluCircuit mlp_;
  std::vector<std::string> after_;
};

// What the MLPs cost, beside the paper's "arbitrary position-wise function".
struct MlpCost {
  int depth = 0;           // hidden layers, the same in all layers; 0: no MLP
  std::int64_t width = 0;  // of the widest hidden layer
  std::int64_t units = 0;  // hidden units that do something, over all layers
};

class ModelWriter {
 public:
  // Fields, prompt length and answers are the task's. REQUIRES 2 <= precision <= 48; the task outlives the
  // writer.
  ModelWriter(const Task& task, int precision);

  Slot slot(std::string name, std::int64_t size, std::string holds) {
    return layout_.add(std::move(name), size, std::move(holds));
  }
  const ResidualLayout& layout() const { return layout_; }
  int precision() const { return precision_; }

  EmbeddingWriter& field_bits(const std::string& field, std::int64_t digits) {
    return embedding(field, "binary", digits + 1);
  }
  EmbeddingWriter& field_table(const std::string& field, std::int64_t size) {
    return embedding(field, "table", size);
  }
  EmbeddingWriter& field_linear(const std::string& field, std::int64_t length) {
    return embedding(field, "linear", length);
  }
  EmbeddingWriter& position_bits(std::int64_t digits) { return embedding("position", "binary", digits + 1); }
  EmbeddingWriter& position_table() { return embedding("position", "table", context_); }

  // `mixer` as in an architecture line, sizes written out. References stay valid.
  LayerWriter& layer(const std::string& mixer, std::string title);

  // Answer bit d is [2 · coordinate d of the slot > 1].
  void output_bits(const Slot& slot);
  // Yes iff factor · coordinate > threshold.
  void output_yes(const Slot& slot, std::int64_t factor, std::int64_t threshold);
  void output(OutputSpec spec) { output_ = spec; }
  MapWriter& output_map() { return output_map_; }
  // Logits 2 c_v x - c_v^2 with c_v = v - middle: the largest is that of the v whose c_v is nearest to x, the
  // number at the coordinate.
  void output_nearest(std::int64_t coordinate, std::int64_t values, std::int64_t middle) {
    output({OutputSpec::Kind::logits, values, 0});
    for (std::int64_t v = 0; v < values; ++v) {
      output_map_.set(v, coordinate, 2 * (v - middle));
      output_map_.bias(v, -(v - middle) * (v - middle));
    }
  }

  void context(std::int64_t positions) { context_ = positions; }  // longer than the prompt: chain of thought
  void decode(DecodeSpec decode) { decode_ = decode; }
  void encoder() { causal_ = false; }
  void stream_bits(int bits) { stream_bits_ = bits; }
  void accumulator(Accumulator kind, std::optional<std::int64_t> bits) {
    accumulator_ = kind, accumulator_bits_ = bits;
  }
  void note(const std::string& key, std::string text) { notes_[key] = std::move(text); }

  // ENSURES on success: resolve() accepts the architecture and Machine::load the tensors' shapes.
  Result<Weights> finish();
  MlpCost mlp_cost() const;  // after finish()

 private:
  EmbeddingWriter& embedding(const std::string& name, const std::string& form, std::int64_t rows);

  const Task& task_;
  int precision_;
  std::int64_t context_;
  ResidualLayout layout_;
  std::map<std::string, EmbeddingWriter> embeddings_;
  std::deque<LayerWriter> layers_;
  OutputSpec output_;
  MapWriter output_map_;
  std::vector<std::int64_t> threshold_;
  DecodeSpec decode_;
  bool causal_ = true;
  std::optional<int> stream_bits_;
  Accumulator accumulator_ = Accumulator::exact;
  std::optional<std::int64_t> accumulator_bits_;
  std::map<std::string, std::string> notes_;
  MlpCost cost_;
};

}  // namespace rung
