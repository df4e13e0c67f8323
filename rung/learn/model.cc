#include "rung/learn/model.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "rung/base/ceil_lg.h"
#include "rung/learn/embedding_sum.h"
#include "rung/learn/feed_forward.h"
#include "rung/learn/kernels/embedding_sum.h"
#include "rung/learn/row_norm.h"

namespace rung::learn {
namespace {

using Index = ParameterLayout::Index;

// Embedding rows start small beside the layers' outputs, which a norm brings to size.
constexpr double kEmbeddingDeviation = 0.5;

int code_bits(std::int64_t size) { return std::max(1, ceil_lg(static_cast<std::uint64_t>(size))); }

// Rows of a binary code of so many digits: the embeddings that they add up to are as large as a table's.
Start digit_rows(int digits) {
  return Start::digits(2 * kEmbeddingDeviation / std::sqrt(static_cast<double>(digits)));
}

// [.., D + 1]: the binary digits of each value, lowest first, then 1.
torch::Tensor binary_code(const torch::Tensor& values, int digits, torch::ScalarType type) {
  const torch::Tensor shifts = torch::arange(digits, values.options());
  const torch::Tensor bits = values.unsqueeze(-1).bitwise_right_shift(shifts).bitwise_and(1).to(type);
  return torch::cat({bits, torch::ones_like(bits.narrow(-1, 0, 1))}, -1);
}

// The table [E, size, W] that the rows [E, D + 1, W] of a binary code amount to.
torch::Tensor coded_table(const torch::Tensor& rows, std::int64_t size) {
  const torch::Tensor values = torch::arange(size, rows.options().dtype(torch::kLong).requires_grad(false));
  return torch::matmul(binary_code(values, static_cast<int>(rows.size(1)) - 1, rows.scalar_type()), rows);
}

// Rows of table [E, size, W] by index [E, ...]: one look-up in the tables laid end to end.
torch::Tensor look_up(const torch::Tensor& table, const torch::Tensor& index) {
  const std::int64_t members = table.size(0), size = table.size(1);
  if (members == 1) return torch::embedding(table.select(0, 0), index);
  std::vector<std::int64_t> ones(static_cast<std::size_t>(index.dim()), 1);
  ones[0] = members;
  const torch::Tensor first = (torch::arange(members, index.options()) * size).view(ones);
  return table.reshape({members * size, table.size(2)}).index_select(0, (index + first).flatten()).view([&] {
    auto shape = index.sizes().vec();
    shape.push_back(table.size(2));
    return shape;
  }());
}

// rwkv7(values=first) reads the values of an earlier layer of its size.
Result<void> first_values_are_there(const std::vector<LayerShape>& layers) {
  std::int64_t published = 0;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const MixerShape& mixer = layers[i].mixer;
    if (mixer.kind != MixerKind::rwkv7) continue;
    const std::int64_t values = mixer.output_width();
    if (mixer.form.first_values && values != published)
      return fail(ErrorCode::unsupported,
                  "[train] \"layers.{}.\" mixes in the values of an earlier rwkv7 layer; the stack has {}", i,
                  published == 0 ? "none" : "one of another size");
    if (published == 0) published = values;
  }
  return {};
}

// Whether its state is a plain sum, which rounding leaves alone.
bool keeps_sums(const MixerShape& mixer) {
  return mixer.kind == MixerKind::linear || mixer.kind == MixerKind::loglinear ||
         std::any_of(mixer.parts.begin(), mixer.parts.end(), keeps_sums);
}

double stored(const ParameterSpec& spec, double value) {
  return spec.stored == Stored::minus_exponential ? -std::exp(value) : value;
}

}  // namespace

Result<Model> Model::make(const ModelSpec& spec) {
  Model model;
  model.spec_ = spec;
  const Dimensions& dims = spec.architecture.dimensions;
  RUNG_TRY(model.shapes_, resolve(spec.architecture));
  for (const LayerShape& layer : model.shapes_) RUNG_CHECK(learnable(layer.mixer));
  const bool coded = dims.position == PositionCode::table || dims.position == PositionCode::binary;
  if (coded && dims.context < 1) return fail(ErrorCode::missing, "[train] positions need a context");
  RUNG_CHECK(first_values_are_there(model.shapes_));
  for (const LayerShape& layer : model.shapes_)
    if (layer.mixer.kind == MixerKind::loglinear && layer.mixer.levels < 1)
      return fail(ErrorCode::missing, "[train] log-linear attention needs a context");
  if (spec.output.kind != OutputSpec::Kind::logits && spec.output.kind != OutputSpec::Kind::vector)
    return fail(ErrorCode::unsupported, "[train] outputs are learned as logits or vectors");
  model.layout_ = std::make_unique<ParameterLayout>();
  ParameterLayout& layout = *model.layout_;
  const std::int64_t width = dims.width;
  for (const FieldSpec& field : spec.fields) {
    const std::string name = "embed." + field.name;
    const Start start = Start::normal(kEmbeddingDeviation);
    if (field.length > 1)
      model.embeddings_.push_back(layout.add(name + ".linear", {field.length, width},
                                             Start::normal(fan_in_deviation(field.length)), true));
    else if (model.by_table(field))
      model.embeddings_.push_back(layout.add(name + ".table", {field.size, width}, start, false));
    else
      model.embeddings_.push_back(layout.add(name + ".binary", {code_bits(field.size) + 1, width},
                                             digit_rows(code_bits(field.size)), false));
  }
  if (dims.position == PositionCode::table)
    model.position_ =
        layout.add("embed.position.table", {dims.context, width}, Start::normal(kEmbeddingDeviation), false);
  else if (dims.position == PositionCode::binary)
    model.position_ = layout.add("embed.position.binary", {code_bits(dims.context) + 1, width},
                                 digit_rows(code_bits(dims.context)), false);
  // Residual branches start smaller in deeper models, so that the stream's size does not depend on the depth.
  const double branch =
      1 / std::sqrt(2.0 * static_cast<double>(std::max<std::size_t>(model.shapes_.size(), 1)));
  for (std::size_t i = 0; i < model.shapes_.size(); ++i) {
    const LayerShape& shape = model.shapes_[i];
    const std::string prefix = "layers." + std::to_string(i) + ".";
    Layer layer;
    if (shape.mixer.kind != MixerKind::none) {
      if (model.normed()) layer.norm1 = layout.add(prefix + "norm1.gain", {width}, Start::constant(1), false);
      layer.mixer = make_mixer(shape.mixer, {prefix, width, dims.causal, spec.scalars}, layout);
      const std::int64_t outputs = shape.mixer.output_width();
      layer.output = layout.add(prefix + "o.weight", {width, outputs},
                                Start::normal(branch * fan_in_deviation(outputs)), true);
    }
    if (!shape.mlp.empty()) {
      if (model.normed()) layer.norm2 = layout.add(prefix + "norm2.gain", {width}, Start::constant(1), false);
      std::int64_t inputs = width;
      for (std::size_t m = 0; m <= shape.mlp.size(); ++m) {
        const bool last = m == shape.mlp.size();
        const std::int64_t rows = last ? width : shape.mlp[m];
        const std::string name = prefix + "mlp." + std::to_string(m);
        const Index weight =
            layout.add(name + ".weight", {rows, inputs},
                       Start::normal((last ? branch : std::sqrt(2.0)) * fan_in_deviation(inputs)), true);
        layer.mlp.emplace_back(weight, layout.add(name + ".bias", {rows}, Start::constant(0), false));
        inputs = rows;
      }
    }
    model.layers_.push_back(std::move(layer));
  }
  if (model.normed()) model.norm_ = layout.add("norm.gain", {width}, Start::constant(1), false);
  model.output_ =
      layout.add("out.table", {spec.output.size, width}, Start::normal(fan_in_deviation(width)), true);
  model.output_bias_ = layout.add("out.bias", {spec.output.size}, Start::constant(0), false);
  for (std::size_t k = 0; k < spec.readouts.size(); ++k) {
    const std::string name = "readout." + std::to_string(k);
    const std::int64_t size = spec.readouts[k].size;
    const Index weight =
        layout.add(name + ".weight", {size, width}, Start::normal(fan_in_deviation(width)), true);
    model.readouts_.emplace_back(weight, layout.add(name + ".bias", {size}, Start::constant(0), false));
  }
  return model;
}

std::span<const ParameterSpec> Model::kept() const {
  const std::vector<ParameterSpec>& all = layout_->specs();
  return {all.data(), all.size() - 2 * readouts_.size()};
}

torch::Tensor Model::embed(const Inputs& inputs, const Leaves& leaves, bool plain) const {
  const Dimensions& dims = spec_.architecture.dimensions;
  const std::int64_t length = inputs.fields[0].size(2);
  // Digits become a table once a pass: a row a value costs less than a product a token, and has the tables' kernel.
  torch::Tensor position;
  if (dims.position == PositionCode::table) position = leaves[position_];
  if (dims.position == PositionCode::binary) position = coded_table(leaves[position_], length);
  std::vector<torch::Tensor> tables;
  for (std::size_t f = 0; f < spec_.fields.size(); ++f) {
    const FieldSpec& field = spec_.fields[f];
    const torch::Tensor& rows = leaves[embeddings_[f]];
    if (field.length == 1 && field.size <= kLargestTable)
      tables.push_back(by_table(field) ? rows : coded_table(rows, field.size));
  }
  if (!plain && tables.size() == spec_.fields.size() && tables.size() <= kernels::kMaxEmbeddingFields)
    return embedding_sum(inputs.fields, tables, position);
  torch::Tensor x;
  const auto add = [&](const torch::Tensor& part) { x = x.defined() ? x + part : part; };
  std::size_t next = 0;
  for (std::size_t f = 0; f < spec_.fields.size(); ++f) {
    const FieldSpec& field = spec_.fields[f];
    const torch::Tensor &values = inputs.fields[f], &rows = leaves[embeddings_[f]];
    if (field.length > 1)
      add(apply_map(values.to(rows.dtype()), rows.transpose(1, 2)));
    else if (field.size <= kLargestTable)
      add(look_up(tables[next++], values));
    else
      add(apply_map(binary_code(values, code_bits(field.size), rows.scalar_type()), rows.transpose(1, 2)));
  }
  if (position.defined()) add(position.narrow(1, 0, length).unsqueeze(1));
  return x;
}

torch::Tensor Model::activation(const torch::Tensor& x) const {
  switch (spec_.architecture.dimensions.activation) {
    case MlpActivation::relu:
      return x.relu();
    case MlpActivation::gelu:
      return torch::gelu(x);
    case MlpActivation::silu:
      return torch::silu(x);
  }
  return x;
}

torch::Tensor Model::feed_forward_block(const torch::Tensor& x, std::size_t index, const Leaves& leaves,
                                        const ForwardContext& pass) const {
  const Layer& layer = layers_[index];
  // The fused block has one hidden layer, and no place for what stands between its operations.
  if (!pass.plain && normed() && layer.mlp.size() == 2 && !pass.rounding && !pass.drops()) {
    const FeedForwardLeaves block{leaves[layer.norm2], leaves[layer.mlp[0].first],
                                  leaves[layer.mlp[0].second], leaves[layer.mlp[1].first],
                                  leaves[layer.mlp[1].second]};
    const MlpActivation activation = spec_.architecture.dimensions.activation;
    if (feed_forward_applies(x, block, activation)) return feed_forward(x, block, activation);
  }
  const std::string prefix = "layers." + std::to_string(index) + ".";
  torch::Tensor h = normed() ? pass.round(prefix + "norm2", rms_norm(x, leaves[layer.norm2], pass.plain)) : x;
  for (std::size_t m = 0; m < layer.mlp.size(); ++m) {
    h = pass.round(prefix + "mlp." + std::to_string(m),
                   apply_map(h, leaves[layer.mlp[m].first], leaves[layer.mlp[m].second]));
    if (m + 1 < layer.mlp.size()) h = activation(h);
  }
  return x + pass.drop(h);
}

torch::Tensor Model::forward(const Inputs& inputs, const Leaves& leaves, const ForwardContext& pass,
                             std::vector<torch::Tensor>* read) const {
  if (read) read->assign(readouts_.size(), torch::Tensor());
  pass.first_values = torch::Tensor();
  torch::Tensor x = pass.round("stream", embed(inputs, leaves, pass.plain));  // [E, B, T, W]
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const Layer& layer = layers_[i];
    const std::string prefix = "layers." + std::to_string(i) + ".";
    if (layer.mixer) {
      const torch::Tensor u =
          normed() ? pass.round(prefix + "norm1", rms_norm(x, leaves[layer.norm1], pass.plain)) : x;
      const torch::Tensor y = layer.mixer->forward(u, leaves, pass);
      x = pass.round("stream", x + pass.drop(pass.round(prefix + "o", apply_map(y, leaves[layer.output]))));
    }
    if (!layer.mlp.empty()) x = pass.round("stream", feed_forward_block(x, i, leaves, pass));
    for (std::size_t k = 0; read && k < readouts_.size(); ++k) {
      const DeepReadout& place = spec_.readouts[k].place;
      if (place.layer != static_cast<std::int64_t>(i) + 1) continue;
      const torch::Tensor there = x.index_select(2, inputs.wanted - place.back);
      (*read)[k] = apply_map(there, leaves[readouts_[k].first], leaves[readouts_[k].second]).flatten(1, 2);
    }
  }
  // Only the wanted positions are normed and read.
  if (inputs.wanted.defined())
    x = inputs.wanted.dim() == 1 ? x.index_select(2, inputs.wanted)
                                 : x.gather(2, inputs.wanted.unsqueeze(-1).expand({-1, -1, -1, x.size(3)}));
  if (normed()) x = pass.round("norm", rms_norm(x, leaves[norm_], pass.plain));
  return apply_map(x, leaves[output_], leaves[output_bias_]).flatten(1, 2);
}

Weights Model::weights(const Parameters& parameters, std::int64_t member,
                       const std::map<std::string, std::string>& notes) const {
  Weights out;
  out.architecture = spec_.architecture;
  out.mode = WeightMode::real;
  out.accumulator = Accumulator::exact;
  out.fields = spec_.fields;
  out.output = spec_.output;
  out.decode = spec_.decode;
  out.task = spec_.task;
  out.notes = notes;
  const torch::Tensor row = parameters.master.select(0, member).to(torch::kCPU).contiguous();
  const float* numbers = row.data_ptr<float>();
  for (const ParameterSpec& spec : kept())
    for (const NamedRows& rows : spec.rows) {
      std::vector<std::int64_t> shape = spec.shape;
      const std::int64_t each = spec.size() / spec.shape.front();
      shape.front() = rows.count;
      const float* first = numbers + spec.offset + rows.first * each;
      std::vector<double> values(first, first + rows.count * each);
      for (double& value : values) value = stored(spec, value);
      out.tensors[rows.name] = real_tensor(shape, values, DType::f32);
    }
  for (const Layer& layer : layers_)
    if (layer.mixer) layer.mixer->describe(out);
  if (normed()) {
    const double epsilon = kNormEpsilon;
    const auto add_epsilon = [&](const std::string& name) {
      out.tensors[name + ".epsilon"] = real_tensor({}, std::span(&epsilon, 1), DType::f64);
    };
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      if (layers_[i].mixer) add_epsilon("layers." + std::to_string(i) + ".norm1");
      if (!layers_[i].mlp.empty()) add_epsilon("layers." + std::to_string(i) + ".norm2");
    }
    add_epsilon("norm");
  }
  return out;
}

Result<void> Model::roundable(ActivationRounding::Places places) const {
  const bool carried = places == ActivationRounding::Places::carried;
  if (const MixerShape* released = first_released(shapes_))
    return fail(ErrorCode::unsupported, "[train] {}: {} is trained in reals alone{}",
                carried ? "carry_bits" : "round_bits", form_name(*released), plain_form_hint(*released));
  if (carried && std::any_of(shapes_.begin(), shapes_.end(),
                             [](const LayerShape& layer) { return keeps_sums(layer.mixer); }))
    return fail(ErrorCode::unsupported,
                "[train] carry_bits: the sums of linear and log-linear attention stay exact; another "
                "recurrence expected");
  return {};
}

std::vector<std::string> Model::unfused(bool on_device) const {
  std::vector<std::string> names;
  for (const Layer& layer : layers_)
    if (layer.mixer) layer.mixer->unfused(on_device, names);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

namespace {

// A layer of the file has nothing that a file of this model has not: it would go unread.
Result<void> reads_all_of(const Weights& given, const Weights& own) {
  for (const auto& [name, tensor] : given.tensors) {
    if (!name.starts_with("layers.")) continue;
    const auto found = own.tensors.find(name);
    if (found == own.tensors.end())
      return fail(ErrorCode::unsupported, "[train] the file's tensor {} has no learned form", name);
    if (tensor.shape.empty() && std::abs(tensor.real(0) - found->second.real(0)) > 0)
      return fail(ErrorCode::unsupported, "[train] the file's {} is {}; {} expected", name, tensor.real(0),
                  found->second.real(0));
  }
  return {};
}

}  // namespace

Result<void> Model::load(const Weights& weights, Parameters& parameters, std::int64_t member) const {
  if (weights.mode != WeightMode::real)
    return fail(ErrorCode::unsupported,
                "[train] the file holds integers; a trained model of floats expected");
  if (!(weights.architecture.stack == spec_.architecture.stack))
    return fail(ErrorCode::format, "[train] the file's architecture is {}; {} expected",
                format_stack(weights.architecture.stack), format_stack(spec_.architecture.stack));
  torch::Tensor row = parameters.master.select(0, member).to(torch::kCPU).clone();
  float* numbers = row.data_ptr<float>();
  for (const ParameterSpec& spec : kept())
    for (const NamedRows& rows : spec.rows) {
      std::vector<std::int64_t> shape = spec.shape;
      const std::int64_t each = spec.size() / spec.shape.front();
      shape.front() = rows.count;
      const auto found = weights.tensors.find(rows.name);
      if (found == weights.tensors.end())
        return fail(ErrorCode::format, "[train] the file has no tensor {}", rows.name);
      if (found->second.shape != shape)
        return fail(ErrorCode::format, "[train] tensor {} has shape [{}]; [{}] expected", rows.name,
                    fmt::join(found->second.shape, ", "), fmt::join(shape, ", "));
      for (std::int64_t i = 0; i < rows.count * each; ++i) {
        const double value = found->second.real(i);
        const bool logarithm = spec.stored == Stored::minus_exponential;
        if (logarithm && !(value < 0))
          return fail(ErrorCode::range, "[train] tensor {} holds {}; a negative number expected", rows.name,
                      value);
        numbers[spec.offset + rows.first * each + i] =
            static_cast<float>(logarithm ? std::log(-value) : value);
      }
    }
  RUNG_CHECK(reads_all_of(weights, Model::weights(parameters, member)));
  const torch::NoGradGuard no_grad;
  parameters.master.select(0, member).copy_(row);
  parameters.refresh();
  return {};
}

}  // namespace rung::learn
