#include "check/model.h"

namespace rung_check {
namespace {

// Which of the forms an embedding has, and under which name. Marks the tensor as read.
struct EmbeddingForm {
  char form = 't';  // t table, b binary, l linear
  std::int64_t rows = 0;
  std::string tensor;
};

// How many positions a code must tell apart. Malformed: a table without a context.
std::int64_t positions_coded(const Architecture& architecture) {
  if (architecture.context > 0) return architecture.context;
  if (architecture.position == "table") throw Malformed("a position table needs a context");
  return 1;  // a binary code has as many as its rows say
}

EmbeddingForm read_embedding_form(const Source& source, const std::string& name, std::int64_t values,
                                  std::int64_t length, char only) {
  const std::string base = "embed." + name;
  EmbeddingForm e;
  int forms = 0;
  for (const char* form : {"table", "binary", "linear"})
    if (source.has(base + "." + form)) {
      e.form = form[0];
      ++forms;
    }
  if (forms != 1)
    throw Malformed(text(base, " has ", forms, " forms; exactly one of table, binary, linear is expected"));
  if (only != '?' && e.form != only)
    throw Malformed(text(base, " is not of the form that the dimensions say"));
  if (e.form != 'l' && length != 1) throw Malformed(text(base, ": a vector has the form linear only"));
  e.tensor = base + (e.form == 't' ? ".table" : e.form == 'b' ? ".binary" : ".linear");
  e.rows = e.form == 't' ? values : length;
  if (e.form == 'b') {
    const Row& shape = source.file.take(e.tensor).shape;
    if (shape.empty() || shape[0] < 1 || shape[0] > 63)
      throw Malformed(text(e.tensor, " has no 1 to 63 rows"));
    e.rows = shape[0];
    if (shape[0] - 1 < bit_length(static_cast<std::uint64_t>(values - 1)))
      throw Malformed(text(e.tensor, " has too few bits"));
  }
  return e;
}

}  // namespace

template <class N>
Network<N>::Network(const std::string& bytes, Budget& budget, const char* other_mode) : budget_(budget) {
  TensorFile file(bytes);
  header_ = read_header(file);
  if ((header_.mode == "integer") != N::kRounded) throw Malformed(other_mode);
  const Architecture& a = header_.architecture;
  const Part<N> root{{file, "", a.precision, budget_}, header_};
  for (const auto& field : header_.fields)
    embeddings_.push_back(read_embedding(root, field.name, field.size, field.length, '?'));
  if (a.position != "none")
    position_ = read_embedding(root, "position", positions_coded(a), 1, a.position[0]);
  embed_shift_ = root.shift("embed");
  stream_bits_ = root.bits("stream");
  for (std::size_t i = 0; i < a.layers.size(); ++i)
    layers_.push_back(read_layer(a.layers[i], root.under(text("layers.", i))));
  if (a.rms) norm_ = read_norm(root, "norm");
  table_ = root.numbers("out.table", {header_.output.size, a.width});
  if (root.has("out.bias")) bias_ = root.numbers("out.bias", {header_.output.size});
  if (header_.output.kind == "binary" || header_.output.kind == "threshold")
    threshold_ = root.numbers("out.threshold", {header_.output.size});
  file.all_taken();
  loaded_ = budget_.stored();
}

template <class N>
typename Network<N>::Layer Network<N>::read_layer(const Shape& shape, const Part<N>& part) const {
  const Architecture& a = header_.architecture;
  Layer layer;
  layer.mixer = make_mixer(shape, part);
  if (layer.mixer) {
    if (a.rms) layer.norm1 = read_norm(part, "norm1");
    layer.out = Map<N>(part, "o", a.width, shape.outputs());
  }
  if (!a.has_mlp) return layer;
  if (a.rms) layer.norm2 = read_norm(part, "norm2");
  Row widths = a.mlp;
  widths.push_back(a.width);
  for (std::size_t k = 0; k < widths.size(); ++k) {
    layer.mlp.emplace_back(part, text("mlp.", k), widths[k], k == 0 ? a.width : widths[k - 1]);
    if (a.activation != "relu" && k + 1 < widths.size())
      layer.activations.push_back(part.function(text("mlp.", k), a.activation));
  }
  return layer;
}

template <class N>
typename Network<N>::Embedding Network<N>::read_embedding(const Part<N>& part, const std::string& name,
                                                          std::int64_t values, std::int64_t length,
                                                          char only) const {
  const EmbeddingForm form = read_embedding_form(part, name, values, length, only);
  return {form.form, part.numbers(form.tensor, {form.rows, part.width()}), form.rows};
}

template <class N>
typename Network<N>::Norm Network<N>::read_norm(const Part<N>& part, const std::string& name) const {
  Norm norm;
  norm.gain = part.numbers(name + ".gain", {part.width()});
  norm.length.fraction = part.fraction(name + ".fraction", 24);
  norm.length.bits = part.bits(name);
  const std::int64_t extra = part.fraction(name + ".extra", 24);
  if constexpr (N::kRounded) {
    norm.length.extra = extra;
  } else {
    norm.length.epsilon = real_epsilon(part, name);
    if (part.has(name + ".bias")) norm.bias = part.numbers(name + ".bias", {part.width()});
  }
  return norm;
}

template <class N>
void Network<N>::reset() {
  fed_ = 0;
  budget_.release_to(loaded_);
  for (auto& layer : layers_)
    if (layer.mixer) layer.mixer->reset();
}

template <class N>
void Network<N>::add_row(Sums<N>& x, const Embedding& e, std::int64_t value) const {
  const auto row = [&](std::int64_t r) {
    for (std::size_t c = 0; c < x.size(); ++c) x[c] = add(x[c], e.rows[at(r) * x.size() + c]);
  };
  if (e.form == 't') return row(value);
  for (std::int64_t d = 0; d + 1 < e.count; ++d)
    if (value >> d & 1) row(d);
  row(e.count - 1);
}

template <class N>
Numbers<N> Network<N>::embed(const Prompt& prompt, std::int64_t position) const {
  Sums<N> x(at(header_.architecture.width), 0);
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
      for (std::size_t c = 0; c < x.size(); ++c)
        x[c] = add(x[c], product(N::number(value), embeddings_[f].rows[at(i) * x.size() + c]));
    }
  }
  if (position_) add_row(x, *position_, position);
  Numbers<N> out;
  for (const auto& value : x) out.push_back(sat(rsh(value, embed_shift_), stream_bits_));
  return out;
}

template <class N>
void Network<N>::add_mlp(const Layer& layer, Numbers<N>& x) const {
  if (layer.mlp.empty()) return;
  Numbers<N> h = layer.norm2 ? (*layer.norm2)(x) : x;
  for (std::size_t k = 0; k < layer.mlp.size(); ++k) {
    h = layer.mlp[k](h, budget_);
    if (k + 1 == layer.mlp.size()) break;
    for (auto& value : h)
      value = layer.activations.empty() ? positive_part(value)
                                        : sat(layer.activations[k](value), layer.mlp[k].bits);
  }
  add_to_stream(x, h);
}

template <class N>
std::map<std::int64_t, Numbers<N>> Network<N>::feed(const Prompt& prompt, std::int64_t end,
                                                    const Row& wanted) {
  const std::int64_t begin = fed_;
  const Architecture& a = header_.architecture;
  if (a.context > 0 && end > a.context)
    throw Malformed(text("a prompt of ", end, " positions; the model's context is ", a.context));
  if (position_ && position_->form == 'b' && position_->count < 63 &&
      end > std::int64_t{1} << (position_->count - 1))
    throw Malformed(text("a prompt of ", end, " positions, more than the model's code has"));
  if (!a.causal && begin > 0) throw Malformed("an encoder has no steps");
  budget_.store(N::kStored * at(end - begin) * at(a.width));
  // Embedding a position, and visiting every layer, costs something even where nothing is multiplied.
  Int numbers = position_ ? position_->added() : 1;
  for (std::size_t f = 0; f < header_.fields.size(); ++f)
    numbers = add(numbers, mul(header_.fields[f].length, embeddings_[f].added()));
  const Int each = mul(N::kWork, add(mul(numbers, a.width), static_cast<Int>(layers_.size())));
  budget_.work(static_cast<std::uint64_t>(kept(mul(end - begin, each))));
  std::vector<Numbers<N>> x;
  for (std::int64_t t = begin; t < end; ++t) x.push_back(embed(prompt, t));
  fed_ = end;
  std::vector<bool> asked(x.size(), false);
  for (const auto t : wanted)
    if (t >= begin && t < end) asked[at(t - begin)] = true;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const Layer& layer = layers_[i];
    const bool last = i + 1 == layers_.size();  // its other rows are read by nothing
    if (layer.mixer && !a.causal)
      for (const auto& row : x) see(layer, row);
    for (std::size_t t = 0; t < x.size(); ++t) {
      if (layer.mixer && a.causal) see(layer, x[t]);
      if (last && !asked[t]) continue;
      if (layer.mixer)
        add_to_stream(x[t], layer.out(layer.mixer->answer(begin + static_cast<std::int64_t>(t)), budget_));
      add_mlp(layer, x[t]);
    }
  }
  std::map<std::int64_t, Numbers<N>> rows;
  for (std::size_t t = 0; t < x.size(); ++t)
    if (asked[t]) rows[begin + static_cast<std::int64_t>(t)] = norm_ ? (*norm_)(x[t]) : x[t];
  return rows;
}

template <class N>
Sums<N> Network<N>::logits(const Numbers<N>& activation) const {
  budget_.work(N::kWork * table_.size());
  Sums<N> z;
  for (std::size_t i = 0; i < at(header_.output.size); ++i) {
    Sum<N> total = bias_.empty() ? 0 : bias_[i];
    for (std::size_t c = 0; c < activation.size(); ++c)
      total += product(table_[i * activation.size() + c], activation[c]);
    kept(total);
    z.push_back(total);
  }
  return z;
}

template <class N>
Prompt Network<N>::continued(Prompt prompt, std::int64_t token) const {
  ++prompt.positions;
  for (std::size_t f = 0; f < prompt.fields.size(); ++f) {
    prompt.fields[f].resize(prompt.fields[f].size() + at(header_.fields[f].length), 0);
    if (f == 0) prompt.fields[0][prompt.fields[0].size() - at(header_.fields[0].length)] = token;
  }
  return prompt;
}

template class Network<Integers>;
template class Network<Intervals>;

Model::Model(const std::string& bytes, Budget& budget)
    : Network(bytes, budget, "the model is in mode real; only integer models can be rerun bit for bit") {}

Memory Model::memory() const {
  Memory all;
  for (const auto& layer : layers_)
    if (layer.mixer) layer.mixer->remember(all);
  return all;
}

void Model::recall(const Memory& memory) {
  std::size_t next = 0;
  for (auto& layer : layers_)
    if (layer.mixer) layer.mixer->recall(memory, next);
}

Row Model::step(const Row& token) {
  Prompt prompt{1, {}};
  auto number = token.begin();
  for (const auto& field : header_.fields) {
    prompt.fields.emplace_back(number, number + field.length);
    number += field.length;
  }
  budget_.work(token.size() * at(header_.architecture.width) + layers_.size());
  Row x = embed(prompt, 0);
  for (const auto& layer : layers_) {
    if (layer.mixer) {
      see(layer, x);
      add_to_stream(x, layer.out(layer.mixer->last(), budget_));
    }
    add_mlp(layer, x);
  }
  return decode(norm_ ? (*norm_)(x) : x);
}

std::vector<State> Model::states() const {
  std::vector<State> all;
  for (const auto& layer : layers_) {
    all.emplace_back();
    if (layer.mixer) layer.mixer->state(all.back(), fed_);
  }
  return all;
}

Row Model::decode(const Row& activation) const {
  const std::vector<Int> z = logits(activation);
  if (header_.output.kind == "vector") return Row(z.begin(), z.end());
  if (header_.output.kind == "logits") return {std::max_element(z.begin(), z.end()) - z.begin()};
  std::int64_t number = 0;
  for (std::size_t d = 0; d < z.size(); ++d)
    if (z[d] > threshold_[d]) number |= std::int64_t{1} << d;
  return {number};
}

Row Model::answer(const Prompt& prompt, const Row& activation) {
  Row token = decode(activation);
  Prompt longer = prompt;
  for (std::int64_t step = 1; step < header_.steps && token.front() != header_.stop; ++step) {
    longer = continued(std::move(longer), token.front());
    token = decode(feed(longer, longer.positions, {longer.positions - 1}).begin()->second);
  }
  return token;
}

RealModel::RealModel(const std::string& bytes, Budget& budget)
    : Network(bytes, budget, "the model is not in mode real") {
  if (header_.output.kind == "vector")
    throw Malformed("vector answers of a model in mode real are not certified");
}

Reals RealModel::outputs(const Prompt& prompt, std::int64_t position) {
  reset();
  const std::int64_t end = header_.architecture.causal ? position + 1 : prompt.positions;
  return logits(feed(prompt, end, {position}).at(position));
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

std::int64_t RealModel::answer(const Prompt& prompt, std::int64_t position, double& margin) {
  std::int64_t token = decided(outputs(prompt, position), margin);
  Prompt longer = prompt;
  for (std::int64_t step = 1; step < header_.steps && token != header_.stop; ++step) {
    longer = continued(std::move(longer), token);
    const std::int64_t last = longer.positions - 1;
    token = decided(logits(feed(longer, longer.positions, {last}).at(last)), margin);
  }
  return token;
}

}  // namespace rung_check
