// One layer whose inputs are the channels themselves, for examples worked by hand.
//
//   HandMade layer("full(heads=1,dim=1,vdim=1)", {{"q", 1}, {"k", 1}, {"v", 1}});
//   layer.table("score", 0, {1, 2, 4});
//   layer.outputs({{1, 0, 10}, {1, 1, -7}})      // rows (q, k, v)  ->  rows y
//
// A position carries one vector that is embedded as it is; every named map copies its own coordinates; W_O
// copies the mixer's outputs to the first coordinates, and the residual is taken off again. So y is the
// mixer's output, bit for bit. Every run is made twice, by the machine and by the evaluator written from the
// page.
#pragma once

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "rung/exact/machine.h"
#include "tests/exact/plain_model.h"

namespace rung {

using Numbers = std::vector<std::int64_t>;

class HandMade {
 public:
  static constexpr std::int64_t kLargestInput = std::int64_t{1} << 30;
  Weights weights;

  // `channels`: map names with their rows, in the order of the input's coordinates.
  explicit HandMade(const std::string& line,
                    const std::vector<std::pair<std::string, std::int64_t>>& channels = {},
                    std::int64_t context = 64) {
    auto stack = parse_stack(line);
    RUNG_REQUIRE(stack.ok(), "{}", stack.error().message);
    weights.architecture.stack = *stack;
    auto& d = weights.architecture.dimensions;
    for (const auto& [name, rows] : channels)
      d.width = name == channels.front().first ? rows : d.width + rows;
    d.mlp_given = true;
    d.position = PositionCode::none;
    d.context = context;
    // The mixer's own sizes do not depend on the width when the line gives them; outputs need room in the
    // stream.
    auto shapes = resolve(weights.architecture);
    RUNG_REQUIRE(shapes.ok(), "{}", shapes.error().message);
    const std::int64_t outputs = (*shapes)[0].mixer.output_width();
    d.width = std::max(d.width, outputs);
    const std::int64_t w = d.width;
    set("embed.x.linear", {w, w}, unit_rows(w, w, 0));
    scalar("stream.bits", 48);
    if (outputs > 0) {
      set("layers.0.o.weight", {w, outputs}, unit_rows(w, outputs, 0));
      scalar("layers.0.o.bits", 48);
    }
    std::int64_t first = 0;
    for (const auto& [name, rows] : channels) {
      set("layers.0." + name + ".weight", {rows, w}, unit_rows(rows, w, first));
      first += rows;
    }
    weights.fields = {FieldSpec{"x", 2 * kLargestInput, w, -kLargestInput}};
    weights.output = {OutputSpec::Kind::vector, 1, 0};
    set("out.table", {1, w}, unit_rows(1, w, 0));
  }

  std::int64_t width() const { return weights.architecture.dimensions.width; }
  Dimensions& dimensions() { return weights.architecture.dimensions; }

  // Names without "layers.0." are put under it, unless they start with "/".
  void set(const std::string& name, std::vector<std::int64_t> shape, const Numbers& values) {
    weights.tensors[place(name)] = integer_tensor(std::move(shape), values);
  }
  void scalar(const std::string& name, std::int64_t value) { set(name, {}, {value}); }
  void table(const std::string& name, std::int64_t low, const Numbers& values) {
    set(name + ".table", {static_cast<std::int64_t>(values.size())}, values);
    scalar(name + ".low", low);
  }

  // Rows in, mixer outputs out: the residual rows of the layer less its input.
  std::vector<Numbers> outputs(const std::vector<Numbers>& rows) const {
    const auto shapes = resolve(weights.architecture);
    const auto count = static_cast<std::size_t>((*shapes)[0].mixer.output_width());
    auto out = activations(rows);
    for (std::size_t t = 0; t < out.size(); ++t) {
      for (std::size_t c = 0; c < rows[t].size(); ++c) out[t][c] -= rows[t][c];
      out[t].resize(count);
    }
    return out;
  }
  std::vector<Numbers> activations(const std::vector<Numbers>& rows) const {
    const auto machine = load(static_cast<std::int64_t>(rows.size()));
    const Prompt prompt = prompt_of(rows);
    Numbers all(rows.size());
    std::iota(all.begin(), all.end(), 0);
    const auto readouts = machine->forward(prompt, all);
    RUNG_REQUIRE(readouts.ok(), "{}", readouts.error().message);
    std::vector<Numbers> out;
    for (const auto& readout : *readouts) out.push_back(readout.activation);
    const auto again = plain::evaluate(weights, prompt);
    for (std::size_t t = 0; t < out.size(); ++t)
      EXPECT_EQ(plain::Row(out[t].begin(), out[t].end()), again[t].activation) << "position " << t;
    return out;
  }
  std::unique_ptr<Machine> load(std::int64_t positions) const {
    auto machine = Machine::load(weights, {.positions = positions});
    RUNG_REQUIRE(machine.ok(), "{}", machine.error().message);
    return std::move(*machine);
  }
  Prompt prompt_of(const std::vector<Numbers>& rows) const {
    Prompt prompt{static_cast<std::int64_t>(rows.size()), {{}}};
    for (const auto& row : rows) {
      prompt.fields[0].insert(prompt.fields[0].end(), row.begin(), row.end());
      prompt.fields[0].resize(prompt.fields[0].size() + static_cast<std::size_t>(width()) - row.size(), 0);
    }
    return prompt;
  }

  // Row r is the unit vector first + r.
  static Numbers unit_rows(std::int64_t rows, std::int64_t cols, std::int64_t first) {
    Numbers values(static_cast<std::size_t>(rows * cols), 0);
    for (std::int64_t r = 0; r < rows; ++r)
      if (first + r < cols) values[static_cast<std::size_t>(r * cols + first + r)] = 1;
    return values;
  }

 private:
  static std::string place(const std::string& name) {
    for (const char* outer : {"embed.", "out.", "stream.", "layers.", "norm."})
      if (name.starts_with(outer)) return name;
    return "layers.0." + name;
  }
};

}  // namespace rung
