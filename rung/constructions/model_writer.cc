#include "rung/constructions/model_writer.h"

#include <algorithm>

#include "rung/spec/parameters.h"
#include "rung/tasks/task_record.h"

namespace rung {
namespace {

// Numbers of a tensor that a construction may hold: beyond this it is refused before memory is asked for.
constexpr std::int64_t kMaxTensorNumbers = std::int64_t{1} << 28;

Result<std::vector<std::int64_t>> zeros(std::int64_t rows, std::int64_t cols, const std::string& name) {
  if (rows > kMaxTensorNumbers / std::max<std::int64_t>(1, cols))
    return fail(ErrorCode::resource,
                "[build] \"{}\" would hold {} x {} numbers; at most {} expected: choose a smaller size", name,
                rows, cols, kMaxTensorNumbers);
  return std::vector<std::int64_t>(static_cast<std::size_t>(rows * cols), 0);
}

}  // namespace

void MapWriter::set(std::int64_t row, std::int64_t column, std::int64_t weight) {
  RUNG_REQUIRE(row >= 0 && column >= 0, "row {} column {}", row, column);
  if (weight != 0) entries_.push_back({row, column, weight});
}
void MapWriter::bias(std::int64_t row, std::int64_t value) { biases_.emplace_back(row, value); }
void MapWriter::select(std::int64_t first_row, const Slot& slot, std::int64_t weight) {
  for (std::int64_t i = 0; i < slot.size; ++i) set(first_row + i, slot.at(i), weight);
}
void MapWriter::write(const Slot& slot, std::int64_t first_column, std::int64_t weight) {
  for (std::int64_t i = 0; i < slot.size; ++i) set(slot.at(i), first_column + i, weight);
}

void EmbeddingWriter::code(const Slot& slot, std::int64_t zero, std::int64_t one) {
  RUNG_REQUIRE(form_ == "binary" && slot.size <= digits(), "{} digits of a {} code into {}", digits(), form_,
               slot.size);
  for (std::int64_t d = 0; d < slot.size; ++d) {
    set(d, slot.at(d), one - zero);
    set(digits(), slot.at(d), zero);
  }
}
void EmbeddingWriter::constant(const Slot& slot, const std::vector<std::int64_t>& values) {
  RUNG_REQUIRE(form_ == "binary" && static_cast<std::int64_t>(values.size()) == slot.size,
               "{} values into {}", values.size(), slot.size);
  for (std::int64_t i = 0; i < slot.size; ++i) set(digits(), slot.at(i), values[static_cast<std::size_t>(i)]);
}

void LayerWriter::scores(const ScoreTable& scores) {
  table("score", scores.low, scores.values);
  const double tau = scores.tau;
  tensor("score.tau", real_tensor({}, std::span(&tau, 1), DType::f64));
}

ModelWriter::ModelWriter(const Task& task, int precision)
    : task_(task), precision_(precision), context_(task.prompt_length()) {
  RUNG_REQUIRE(precision >= 2 && precision <= 48, "precision={}", precision);
}

EmbeddingWriter& ModelWriter::embedding(const std::string& name, const std::string& form, std::int64_t rows) {
  auto& writer = embeddings_[name];
  RUNG_REQUIRE(writer.form_.empty() || (writer.form_ == form && writer.rows_ == rows),
               "{} embedded as {} and as {}", name, writer.form_, form);
  writer.form_ = form;
  writer.rows_ = rows;
  return writer;
}

LayerWriter& ModelWriter::layer(const std::string& mixer, std::string title) {
  layers_.emplace_back();
  layers_.back().mixer_ = mixer;
  layers_.back().title_ = std::move(title);
  return layers_.back();
}

void ModelWriter::output_bits(const Slot& slot) {
  output_ = {OutputSpec::Kind::binary, slot.size, 0};
  output_map_.select(0, slot, 2);
  threshold_.assign(static_cast<std::size_t>(slot.size), 1);
}

void ModelWriter::output_yes(const Slot& slot, std::int64_t factor, std::int64_t threshold) {
  output_ = {OutputSpec::Kind::threshold, 1, 0};
  output_map_.set(0, slot.at(0), factor);
  threshold_ = {threshold};
}

MlpCost ModelWriter::mlp_cost() const { return cost_; }

Result<Weights> ModelWriter::finish() {
  Weights weights;
  const std::int64_t width = layout_.width();
  auto put_map = [&](const std::string& name, const MapWriter& map, std::int64_t rows,
                     std::int64_t cols) -> Result<void> {
    RUNG_TRY(auto numbers, zeros(rows, cols, name));
    for (const auto& [row, column, weight] : map.entries_) {
      RUNG_REQUIRE(row < rows && column < cols, "{}[{}][{}] of {} x {}", name, row, column, rows, cols);
      numbers[static_cast<std::size_t>(row * cols + column)] += weight;
    }
    const bool whole = name == "out";  // the output map is called out.table
    weights.tensors[name + (whole ? ".table" : ".weight")] = integer_tensor({rows, cols}, numbers);
    if (!map.biases_.empty()) {
      std::vector<std::int64_t> bias(static_cast<std::size_t>(rows), 0);
      for (const auto& [row, value] : map.biases_) bias.at(static_cast<std::size_t>(row)) += value;
      weights.tensors[name + ".bias"] = integer_tensor({rows}, bias);
    }
    if (map.shift_ != 0) weights.tensors[name + ".shift"] = integer_scalar(map.shift_);
    if (map.bits_) weights.tensors[name + ".bits"] = integer_scalar(*map.bits_);
    return {};
  };

  // The one MLP shape: the deepest circuit decides the depth, and each hidden layer is as wide as the widest
  // needs.
  int depth = 0;
  for (const LayerWriter& layer : layers_) depth = std::max(depth, layer.mlp_.depth());
  std::vector<std::vector<ReluMap>> circuits;
  std::vector<std::int64_t> hidden(static_cast<std::size_t>(depth), 1);
  cost_ = {depth, 0, 0};
  for (const LayerWriter& layer : layers_) {
    if (depth == 0) break;
    circuits.push_back(layer.mlp_.compile(width, depth));
    for (std::size_t k = 0; k < hidden.size(); ++k) {
      hidden[k] = std::max(hidden[k], circuits.back()[k].rows);
      if (!layer.mlp_.empty()) cost_.units += circuits.back()[k].rows;
    }
  }
  for (const auto units : hidden) cost_.width = std::max(cost_.width, units);

  std::string stack;
  for (const LayerWriter& layer : layers_) stack += (stack.empty() ? "" : "+") + layer.mixer_;
  RUNG_TRY(weights.architecture.stack, parse_stack(stack, UnsaidForm::plain));
  Dimensions& dimensions = weights.architecture.dimensions;
  dimensions.width = width;
  dimensions.mlp = hidden;
  dimensions.mlp_given = true;
  dimensions.precision = Precision{NumberFormat::fixed, precision_, 0};
  dimensions.context = context_;
  dimensions.causal = causal_;
  dimensions.accumulator_bits = accumulator_bits_;
  const auto position = embeddings_.find("position");
  dimensions.position = position == embeddings_.end()       ? PositionCode::none
                        : position->second.form_ == "table" ? PositionCode::table
                                                            : PositionCode::binary;
  weights.fields = task_.fields();
  dimensions.vocabulary = std::min(weights.fields.front().size, kMaxSize);
  weights.output = output_;
  dimensions.outputs = std::min(output_.size, kMaxSize);
  weights.decode = decode_;
  weights.accumulator = accumulator_;
  weights.task = task_record_text(task_);

  for (const auto& [name, embedding] : embeddings_) {
    RUNG_TRY(auto numbers, zeros(embedding.rows_, width, "embed." + name));
    for (const auto& [row, column, weight] : embedding.entries_) {
      RUNG_REQUIRE(row >= 0 && row < embedding.rows_ && column < width, "embed.{}[{}][{}]", name, row,
                   column);
      numbers[static_cast<std::size_t>(row * width + column)] += weight;
    }
    weights.tensors["embed." + name + "." + embedding.form_] =
        integer_tensor({embedding.rows_, width}, numbers);
  }
  for (const auto& field : weights.fields)
    if (!embeddings_.contains(field.name)) {  // a field that the construction does not read
      const bool vector = field.length > 1;
      const std::int64_t rows = vector ? field.length : position_digits(field.size) + 1;
      weights.tensors["embed." + field.name + (vector ? ".linear" : ".binary")] =
          integer_tensor({rows, width}, std::vector<std::int64_t>(static_cast<std::size_t>(rows * width), 0));
    }
  if (stream_bits_) weights.tensors["stream.bits"] = integer_scalar(*stream_bits_);

  RUNG_TRY(const auto shapes, resolve(weights.architecture));
  std::size_t index = 0;
  std::string invariant;
  for (const LayerWriter& layer : layers_) {
    const std::string prefix = "layers." + std::to_string(index) + ".";
    LayerShape bare = shapes[index];
    bare.mlp.clear();
    RUNG_TRY(const auto tensors, layer_tensors(bare, index, Norm::none));
    auto unplaced = layer.maps_;
    for (const auto& tensor : tensors) {  // whatever the mixer needs and nobody wrote is 0
      const std::string name = tensor.name.substr(0, tensor.name.size() - std::string_view(".weight").size());
      const std::string own = name.substr(prefix.size());
      const auto found = unplaced.find(own);
      RUNG_CHECK(put_map(name, found == unplaced.end() ? MapWriter() : found->second, tensor.shape.at(0),
                         tensor.shape.at(1)));
      unplaced.erase(own);
    }
    for (const auto& [name, map] : unplaced) {
      RUNG_REQUIRE(map.rows_ > 0, "{} has no map {}", layer.mixer_, name);
      RUNG_CHECK(put_map(prefix + name, map, map.rows_, map.cols_));
    }
    for (const auto& [name, value] : layer.scalars_) weights.tensors[prefix + name] = integer_scalar(value);
    for (const auto& [name, tensor] : layer.tensors_) weights.tensors[prefix + name] = tensor;
    for (const auto& [name, table] : layer.tables_) {
      weights.tensors[prefix + name + ".table"] =
          integer_tensor({static_cast<std::int64_t>(table.second.size())}, table.second);
      weights.tensors[prefix + name + ".low"] = integer_scalar(table.first);
    }
    for (std::size_t k = 0; depth > 0 && k <= hidden.size(); ++k) {
      const ReluMap& map = circuits[index][k];
      const std::int64_t rows = k < hidden.size() ? hidden[k] : width, cols = k == 0 ? width : hidden[k - 1];
      RUNG_TRY(auto weight, zeros(rows, cols, prefix + "mlp"));
      std::vector<std::int64_t> bias(static_cast<std::size_t>(rows), 0);
      for (std::int64_t r = 0; r < map.rows; ++r) {
        bias[static_cast<std::size_t>(r)] = map.bias[static_cast<std::size_t>(r)];
        std::copy_n(map.weight.begin() + r * map.cols, map.cols, weight.begin() + r * cols);
      }
      const std::string name = prefix + "mlp." + std::to_string(k);
      weights.tensors[name + ".weight"] = integer_tensor({rows, cols}, weight);
      weights.tensors[name + ".bias"] = integer_tensor({rows}, bias);
      weights.tensors[name + ".bits"] = integer_scalar(std::max(map.bits, precision_));
    }
    invariant += fmt::format("after layer {} ({}, {}):\n", index + 1, layer.mixer_, layer.title_);
    for (const auto& line : layer.after_) invariant += "  " + line + "\n";
    ++index;
  }
  RUNG_CHECK(put_map("out", output_map_, output_.size, width));
  if (!threshold_.empty()) weights.tensors["out.threshold"] = integer_tensor({output_.size}, threshold_);

  std::string rows;
  for (const Slot& slot : layout_.slots())
    rows += fmt::format("{}{}: {}\n", slot.name,
                        slot.size == 1 ? fmt::format("[{}]", slot.first)
                                       : fmt::format("[{}..{}]", slot.first, slot.first + slot.size - 1),
                        slot.holds);
  weights.notes = notes_;
  weights.notes["layout"] = rows;
  weights.notes["invariant"] = invariant;
  return weights;
}

}  // namespace rung
