#include "check/real_model.h"

namespace rung_check {
RealModel::RealModel(const std::string& bytes, Budget& budget) : budget_(budget) {
  TensorFile file(bytes);
  header_ = read_header(file);
  if (header_.mode != "real") throw Malformed("the model is not in mode real");
  if (header_.output.kind == "vector")
    throw Malformed("vector answers of a model in mode real are not certified");
  const Architecture& a = header_.architecture;
  const RealSource root{{file, "", a.precision, budget_}, header_.functions, a};
  for (const auto& field : header_.fields)
    embeddings_.push_back(read_embedding(root, field.name, field.size, field.length, '?'));
  if (a.position != "none") {
    position_ = read_embedding(root, "position", positions_coded(a), 1, a.position[0]);
  }
  embed_shift_ = root.source.shift("embed");
  root.width("stream");
  for (std::size_t i = 0; i < a.layers.size(); ++i) {
    const RealSource source = root.under(text("layers.", i));
    const Shape& shape = a.layers[i];
    Layer layer;
    layer.mixer = make_real_mixer(shape, source);
    if (layer.mixer) {
      if (a.rms) layer.norm1 = read_norm(source, "norm1");
      layer.out = RealMap(source, "o", a.width, shape.outputs());
    }
    if (a.has_mlp) {
      if (a.rms) layer.norm2 = read_norm(source, "norm2");
      Row widths = a.mlp;
      widths.push_back(a.width);
      for (std::size_t k = 0; k < widths.size(); ++k) {
        layer.mlp.emplace_back(source, text("mlp.", k), widths[k], k == 0 ? a.width : widths[k - 1]);
        if (k + 1 < widths.size())
          layer.activations.push_back(
              a.activation == "relu" ? RealFunction{"relu"} : source.function(text("mlp.", k), a.activation));
      }
    }
    layers_.push_back(std::move(layer));
  }
  if (a.rms) norm_ = read_norm(root, "norm");
  const std::int64_t size = header_.output.size;
  table_ = root.reals("out.table", {size, a.width});
  if (root.source.has("out.bias")) bias_ = root.reals("out.bias", {size});
  if (header_.output.kind != "logits") threshold_ = root.reals("out.threshold", {size});
  file.all_taken();
}

RealModel::Embedding RealModel::read_embedding(const RealSource& source, const std::string& name,
                                               std::int64_t values, std::int64_t length, char only) const {
  const EmbeddingForm form = read_embedding_form(source.source, name, values, length, only);
  return {form.form, source.reals(form.tensor, {form.rows, header_.architecture.width}), form.rows};
}

RealModel::RealNorm RealModel::read_norm(const RealSource& source, const std::string& name) const {
  source.source.fraction(name + ".extra", 24);
  source.width(name);
  const double epsilon = source.real(name + ".epsilon", 0);
  if (epsilon < 0) throw Malformed(text(source.source.prefix, name, ".epsilon is negative"));
  const std::int64_t width = header_.architecture.width;
  return {source.reals(name + ".gain", {width}), source.source.fraction(name + ".fraction", 24), epsilon,
          source.source.has(name + ".bias") ? source.reals(name + ".bias", {width}) : std::vector<double>{}};
}
Reals RealModel::RealNorm::operator()(Reals x) const {
  const auto count = static_cast<double>(x.size());
  if (!bias.empty()) {
    Real mean;
    for (const auto& value : x) mean += value;
    mean = mean / Real(count);
    for (auto& value : x) value = value - mean;
  }
  Reals y = real_normalised(x, gain, count, fraction, epsilon);
  for (std::size_t i = 0; i < bias.size(); ++i) y[i] += Real(bias[i]);
  return y;
}

void RealModel::add_row(Reals& x, const Embedding& e, std::int64_t value) const {
  const auto row = [&](std::int64_t r) {
    for (std::size_t c = 0; c < x.size(); ++c) x[c] += Real(e.rows[at(r) * x.size() + c]);
  };
  if (e.form == 't') return row(value);
  for (std::int64_t d = 0; d + 1 < e.count; ++d)
    if (value >> d & 1) row(d);
  row(e.count - 1);
}

Reals RealModel::embed(const Prompt& prompt, std::int64_t position) const {
  Reals x(at(header_.architecture.width));
  for (std::size_t f = 0; f < header_.fields.size(); ++f) {
    const Field& field = header_.fields[f];
    for (std::int64_t i = 0; i < field.length; ++i) {
      const std::int64_t value = prompt.fields[f][at(position * field.length + i)];
      if (value < field.low || value - field.low >= field.size)
        throw Malformed(text("field ", field.name, ": ", value, " is outside the model's domain"));
      if (embeddings_[f].form != 'l') {
        add_row(x, embeddings_[f], value - field.low);
        continue;
      }
      if (std::abs(value) > std::int64_t{1} << 53)
        throw OutOfResources("a number of the prompt is no double");
      for (std::size_t c = 0; c < x.size(); ++c)
        x[c] += Real(static_cast<double>(value)) * Real(embeddings_[f].rows[at(i) * x.size() + c]);
    }
  }
  if (position_) add_row(x, *position_, position);
  for (auto& value : x) value = scaled(value, -embed_shift_);
  return x;
}

Reals RealModel::outputs(const Prompt& prompt, std::int64_t position) const {
  const Architecture& a = header_.architecture;
  const std::int64_t end = a.causal ? position + 1 : prompt.positions;
  if (a.context > 0 && end > a.context)
    throw Malformed(text("a prompt of ", end, " positions; the model's context is ", a.context));
  if (position_ && position_->form == 'b' && position_->count < 63 &&
      end > std::int64_t{1} << (position_->count - 1))
    throw Malformed(text("a prompt of ", end, " positions, more than the model's code has"));
  const std::uint64_t stored = budget_.stored();
  budget_.store(4 * at(end) * at(a.width));
  Int numbers = position_ ? added(*position_) : 1;
  for (std::size_t f = 0; f < header_.fields.size(); ++f)
    numbers = add(numbers, mul(header_.fields[f].length, added(embeddings_[f])));
  const Int each = mul(kPerInterval, add(mul(numbers, a.width), static_cast<Int>(layers_.size())));
  budget_.work(static_cast<std::uint64_t>(kept(mul(end, each))));
  std::vector<Reals> x;
  for (std::int64_t t = 0; t < end; ++t) x.push_back(embed(prompt, t));
  for (const auto& layer : layers_) {
    if (layer.mixer) {
      std::vector<Reals> u;
      for (const auto& row : x) u.push_back(layer.norm1 ? (*layer.norm1)(row) : row);
      const auto y = layer.mixer->mix(u);
      for (std::size_t t = 0; t < x.size(); ++t) {
        const Reals more = layer.out(y[t], budget_);
        for (std::size_t c = 0; c < more.size(); ++c) x[t][c] += more[c];
      }
    }
    if (layer.mlp.empty()) continue;
    for (auto& row : x) {
      Reals h = layer.norm2 ? (*layer.norm2)(row) : row;
      for (std::size_t k = 0; k < layer.mlp.size(); ++k) {
        h = layer.mlp[k](h, budget_);
        if (k + 1 < layer.mlp.size())
          for (auto& value : h) value = layer.activations[k](value);
      }
      for (std::size_t c = 0; c < row.size(); ++c) row[c] += h[c];
    }
  }
  const Reals last = norm_ ? (*norm_)(x[at(position)]) : x[at(position)];
  budget_.work(kPerInterval * table_.size());
  Reals z;
  for (std::int64_t i = 0; i < header_.output.size; ++i) {
    z.push_back(bias_.empty() ? Real(0) : Real(bias_[at(i)]));
    for (std::size_t c = 0; c < last.size(); ++c) z.back() += Real(table_[at(i) * last.size() + c]) * last[c];
  }
  budget_.release_to(stored);
  return z;
}

std::int64_t RealModel::decided(const Reals& z, double& margin) const {
  const auto apart = [&](double by, const char* what) {
    if (!(by > 0) || !std::isfinite(by))
      throw Rejected(text("too close to call: the error bound exceeds the margin of ", what));
    margin = std::min(margin, by);
  };
  if (header_.output.kind == "logits") {
    const auto best =
        std::max_element(z.begin(), z.end(), [](const Real& a, const Real& b) { return a.low < b.low; }) -
        z.begin();
    for (std::size_t i = 0; i < z.size(); ++i)
      if (static_cast<std::ptrdiff_t>(i) != best) apart(z[at(best)].low - z[i].high, "the largest logit");
    return best;
  }
  std::int64_t number = 0;
  for (std::size_t d = 0; d < z.size(); ++d) {
    const bool above = z[d].low > threshold_[d];
    apart(above ? z[d].low - threshold_[d] : threshold_[d] - z[d].high, "a threshold");
    if (above) number |= std::int64_t{1} << d;
  }
  return number;
}

std::int64_t RealModel::answer(const Prompt& prompt, std::int64_t position, double& margin) const {
  std::int64_t token = decided(outputs(prompt, position), margin);
  if (header_.steps == 0) return token;
  Prompt longer = prompt;
  for (std::int64_t step = 1; step < header_.steps && token != header_.stop; ++step) {
    ++longer.positions;
    for (std::size_t f = 0; f < longer.fields.size(); ++f) {
      longer.fields[f].resize(longer.fields[f].size() + at(header_.fields[f].length), 0);
      if (f == 0) longer.fields[0][longer.fields[0].size() - at(header_.fields[0].length)] = token;
    }
    token = decided(outputs(longer, longer.positions - 1), margin);
  }
  return token;
}

}  // namespace rung_check
