#include "check/model.h"

#include <nlohmann/json.hpp>

#include "check/document.h"

namespace rung_check {
namespace {

constexpr std::int64_t kMostFields = 64, kLongestField = 1 << 20, kMostDecodingSteps = 1'000'000,
                       kMostDigits = 62;

std::string metadata(const TensorFile& file, const std::string& key) {
  const auto found = file.metadata().find(key);
  if (found == file.metadata().end()) throw Malformed(text("the model's metadata has no \"", key, "\""));
  return found->second;
}

std::vector<Field> read_fields(const std::string& content) {
  const Json json = parse_json(content, "the model's fields");
  if (!json.is_array() || json.empty() || json.size() > kMostFields)
    throw Malformed("the model has no 1 to 64 fields");
  std::vector<Field> fields;
  for (const auto& entry : json) {
    Members m(entry, "a field of the model");
    Field field{m.word("name"), m.number("size", 1)};
    if (m.has("length")) field.length = m.number("length", 1, kLongestField);
    if (m.has("low")) field.low = m.number("low");
    m.done();
    const auto letter = [](unsigned char c) { return std::isalnum(c) || c == '-' || c == '_'; };
    if (field.name.empty() || field.name.size() > 64 || field.name == "position" ||
        !std::all_of(field.name.begin(), field.name.end(), letter))
      throw Malformed("a field of the model has a name that is not allowed");
    if (field.low > kLargestNumber - field.size) throw Malformed("a field of the model goes beyond 2^62");
    for (const auto& other : fields)
      if (other.name == field.name) throw Malformed(text("the model's field ", field.name, " comes twice"));
    fields.push_back(field);
  }
  return fields;
}

}  // namespace

ModelHeader read_header(const TensorFile& file) {
  const bool says_forms = metadata(file, "format") == "rung.weights/2";
  if (!says_forms && metadata(file, "format") != "rung.weights/1")
    throw Malformed("the model's format is neither rung.weights/1 nor rung.weights/2");
  ModelHeader header;
  header.mode = metadata(file, "mode");
  if (header.mode != "integer" && header.mode != "real")
    throw Malformed("the model's mode is neither integer nor real");
  header.architecture = read_architecture(metadata(file, "architecture"), metadata(file, "dimensions"),
                                          header.mode == "real", says_forms);
  if (file.metadata().contains("accumulator")) header.accumulator = metadata(file, "accumulator");
  if (header.accumulator != "exact" && header.accumulator != "wrap" && header.accumulator != "round")
    throw Malformed("the model's accumulator is neither exact nor wrap nor round");
  header.fields = read_fields(metadata(file, "fields"));
  {
    const Json json = parse_json(metadata(file, "output"), "the model's output");
    Members m(json, "the model's output");
    Output& output = header.output;
    output.kind = m.word("kind");
    const bool threshold = output.kind == "threshold", binary = output.kind == "binary";
    if (!threshold && !binary && output.kind != "logits" && output.kind != "vector")
      throw Malformed("the model's output is of an unknown kind");
    if (!threshold || m.has("size"))
      output.size = m.number("size", 1, threshold ? 1 : binary ? kMostDigits : std::int64_t{1} << 31);
    if (m.has("fraction")) output.fraction = m.number("fraction", 0, 62);
    m.done();
  }
  if (file.metadata().contains("decode")) {
    const Json json = parse_json(metadata(file, "decode"), "the model's decode");
    Members m(json, "the model's decode");
    if (m.has("steps")) header.steps = m.number("steps", 0, kMostDecodingSteps);
    if (m.has("stop")) header.stop = m.number("stop", 0, std::int64_t{1} << 31);
    m.done();
    if (header.steps > 0 && header.output.kind == "vector")
      throw Malformed("a vector output has no chain of thought");
    if (header.steps > 0 && !header.architecture.causal)
      throw Malformed("an encoder has no chain of thought");
  }
  if (header.mode == "real" && file.metadata().contains("tables")) {
    const Json json = parse_json(metadata(file, "tables"), "the model's tables");
    if (!json.is_object()) throw Malformed("the model's tables are no object");
    for (const auto& [name, entry] : json.items()) {
      Members m(entry, "a table of the model");
      RealFunction& function = header.functions[name];
      function.word = m.word("function");
      if (m.has("in")) function.in = m.number("in", -40, 40);
      if (m.has("out")) function.out = m.number("out", -40, 40);
      m.done();
    }
  }
  return header;
}

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

Model::Model(const std::string& bytes, Budget& budget) : budget_(budget) {
  TensorFile file(bytes);
  header_ = read_header(file);
  if (header_.mode == "real")
    throw Malformed("the model is in mode real; only integer models can be rerun bit for bit");
  const Context context{header_.architecture, header_.accumulator, header_.architecture.width};

  const Source root{file, "", header_.architecture.precision, budget_};
  const std::int64_t width = header_.architecture.width;
  for (const auto& field : header_.fields)
    embeddings_.push_back(read_embedding(root, field.name, field.size, field.length, '?'));
  if (header_.architecture.position != "none") {
    position_ = read_embedding(root, "position", positions_coded(header_.architecture), 1,
                               header_.architecture.position[0]);
  }
  embed_shift_ = root.shift("embed");
  stream_bits_ = root.bits("stream");
  for (std::size_t i = 0; i < header_.architecture.layers.size(); ++i) {
    const Source source = root.under(text("layers.", i));
    const Shape& shape = header_.architecture.layers[i];
    Layer layer;
    layer.mixer = make_mixer(shape, context, source);
    if (layer.mixer) {
      if (header_.architecture.rms) layer.norm1 = read_norm(source, "norm1");
      layer.out = Map(source, "o", width, shape.outputs());
    }
    if (header_.architecture.has_mlp) {
      if (header_.architecture.rms) layer.norm2 = read_norm(source, "norm2");
      Row widths = header_.architecture.mlp;
      widths.push_back(width);
      for (std::size_t k = 0; k < widths.size(); ++k) {
        layer.mlp.emplace_back(source, text("mlp.", k), widths[k], k == 0 ? width : widths[k - 1]);
        if (header_.architecture.activation != "relu" && k + 1 < widths.size())
          layer.activations.emplace_back(source, text("mlp.", k));
      }
    }
    layers_.push_back(std::move(layer));
  }
  if (header_.architecture.rms) norm_ = read_norm(root, "norm");
  table_ = root.numbers("out.table", {header_.output.size, width});
  if (root.has("out.bias")) bias_ = root.numbers("out.bias", {header_.output.size});
  if (header_.output.kind == "binary" || header_.output.kind == "threshold")
    threshold_ = root.numbers("out.threshold", {header_.output.size});
  file.all_taken();
  loaded_ = budget_.stored();
}

Model::Embedding Model::read_embedding(const Source& source, const std::string& name, std::int64_t values,
                                       std::int64_t length, char only) const {
  const EmbeddingForm form = read_embedding_form(source, name, values, length, only);
  return {form.form, source.numbers(form.tensor, {form.rows, header_.architecture.width}), form.rows};
}

Model::Norm Model::read_norm(const Source& source, const std::string& name) const {
  return {source.numbers(name + ".gain", {header_.architecture.width}),
          source.fraction(name + ".fraction", 24), source.fraction(name + ".extra", 24), source.bits(name)};
}

void Model::reset() {
  fed_ = 0;
  budget_.release_to(loaded_);
  for (auto& layer : layers_)
    if (layer.mixer) layer.mixer->reset();
}

void Model::add_row(std::vector<Int>& x, const Embedding& e, std::int64_t value) const {
  const auto row = [&](std::int64_t r) {
    for (std::size_t c = 0; c < x.size(); ++c)
      x[c] = add(x[c], e.rows[static_cast<std::size_t>(r) * x.size() + c]);
  };
  if (e.form == 't') return row(value);
  for (std::int64_t d = 0; d + 1 < e.count; ++d)
    if (value >> d & 1) row(d);
  row(e.count - 1);
}

Row Model::embed(const Prompt& prompt, std::int64_t position) const {
  std::vector<Int> x(static_cast<std::size_t>(header_.architecture.width), 0);
  for (std::size_t f = 0; f < header_.fields.size(); ++f) {
    const Field& field = header_.fields[f];
    for (std::int64_t i = 0; i < field.length; ++i) {
      const std::int64_t value = prompt.fields[f][static_cast<std::size_t>(position * field.length + i)];
      if (value < field.low || value - field.low >= field.size)
        throw Malformed(text("field ", field.name, ": ", value, " is outside the model's domain"));
      if (embeddings_[f].form != 'l') {
        add_row(x, embeddings_[f], value - field.low);
        continue;
      }
      for (std::size_t c = 0; c < x.size(); ++c)
        x[c] = add(x[c],
                   static_cast<Int>(value) * embeddings_[f].rows[static_cast<std::size_t>(i) * x.size() + c]);
    }
  }
  if (position_) add_row(x, *position_, position);
  Row out;
  for (const auto value : x) out.push_back(sat(rsh(value, embed_shift_), stream_bits_));
  return out;
}

void Model::add_mlp(const Layer& layer, Row& x) const {
  if (layer.mlp.empty()) return;
  Row h = layer.norm2 ? (*layer.norm2)(x) : x;
  for (std::size_t k = 0; k < layer.mlp.size(); ++k) {
    h = layer.mlp[k](h, budget_);
    if (k + 1 == layer.mlp.size()) break;
    for (auto& value : h)
      value = layer.activations.empty() ? std::max<std::int64_t>(0, value)
                                        : sat(layer.activations[k](value), layer.mlp[k].bits);
  }
  for (std::size_t c = 0; c < x.size(); ++c) x[c] = sat(static_cast<Int>(x[c]) + h[c], stream_bits_);
}

std::map<std::int64_t, Row> Model::feed(const Prompt& prompt, std::int64_t end, const Row& wanted) {
  const std::int64_t begin = fed_;
  if (header_.architecture.context > 0 && end > header_.architecture.context)
    throw Malformed(
        text("a prompt of ", end, " positions; the model's context is ", header_.architecture.context));
  if (position_ && position_->form == 'b' && position_->count < 63 &&
      end > std::int64_t{1} << (position_->count - 1))
    throw Malformed(text("a prompt of ", end, " positions, more than the model's code has"));
  if (!header_.architecture.causal && begin > 0) throw Malformed("an encoder has no steps");
  budget_.store(static_cast<std::uint64_t>(end - begin) *
                static_cast<std::uint64_t>(header_.architecture.width));
  Int numbers =
      1;  // embedding a position, and visiting every layer, costs something even where nothing is multiplied
  const auto added = [](const Embedding& e) {
    return e.form == 'b' ? e.count : 1;
  };  // rows that a value is the sum of
  if (position_) numbers = added(*position_);
  for (std::size_t f = 0; f < header_.fields.size(); ++f)
    numbers = add(numbers, mul(header_.fields[f].length, added(embeddings_[f])));
  budget_.work(static_cast<std::uint64_t>(kept(
      mul(end - begin, add(mul(numbers, header_.architecture.width), static_cast<Int>(layers_.size()))))));
  std::vector<Row> x;
  for (std::int64_t t = begin; t < end; ++t) x.push_back(embed(prompt, t));
  fed_ = end;
  std::vector<bool> asked(x.size(), false);
  for (const auto t : wanted)
    if (t >= begin && t < end) asked[static_cast<std::size_t>(t - begin)] = true;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const Layer& layer = layers_[i];
    const bool last = i + 1 == layers_.size();  // its other rows are read by nothing
    const auto see = [&](const Row& row) { layer.mixer->see(layer.norm1 ? (*layer.norm1)(row) : row); };
    if (layer.mixer && !header_.architecture.causal)
      for (const auto& row : x) see(row);
    for (std::size_t t = 0; t < x.size(); ++t) {
      if (layer.mixer && header_.architecture.causal) see(x[t]);
      if (last && !asked[t]) continue;
      if (layer.mixer) {
        const Row y = layer.out(layer.mixer->answer(begin + static_cast<std::int64_t>(t)), budget_);
        for (std::size_t c = 0; c < y.size(); ++c)
          x[t][c] = sat(static_cast<Int>(x[t][c]) + y[c], stream_bits_);
      }
      add_mlp(layer, x[t]);
    }
  }
  std::map<std::int64_t, Row> rows;
  for (std::size_t t = 0; t < x.size(); ++t)
    if (asked[t]) rows[begin + static_cast<std::int64_t>(t)] = norm_ ? (*norm_)(x[t]) : x[t];
  return rows;
}

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
  budget_.work(token.size() * static_cast<std::uint64_t>(header_.architecture.width) + layers_.size());
  Row x = embed(prompt, 0);
  for (const auto& layer : layers_) {
    if (layer.mixer) {
      layer.mixer->see(layer.norm1 ? (*layer.norm1)(x) : x);
      const Row y = layer.out(layer.mixer->last(), budget_);
      for (std::size_t c = 0; c < y.size(); ++c) x[c] = sat(static_cast<Int>(x[c]) + y[c], stream_bits_);
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
  budget_.work(table_.size());
  std::vector<Int> z(static_cast<std::size_t>(header_.output.size), 0);
  for (std::size_t i = 0; i < z.size(); ++i) {
    if (!bias_.empty()) z[i] = bias_[i];
    for (std::size_t c = 0; c < activation.size(); ++c)
      z[i] += static_cast<Int>(table_[i * activation.size() + c]) * activation[c];
    kept(z[i]);
  }
  if (header_.output.kind == "vector") return Row(z.begin(), z.end());
  if (header_.output.kind == "logits") return {std::max_element(z.begin(), z.end()) - z.begin()};
  std::int64_t number = 0;
  for (std::size_t d = 0; d < z.size(); ++d)
    if (z[d] > threshold_[d]) number |= std::int64_t{1} << d;
  return {number};
}

Row Model::answer(const Prompt& prompt, const Row& activation) {
  Row token = decode(activation);
  if (header_.steps == 0) return token;
  Prompt longer = prompt;
  for (std::int64_t step = 1; step < header_.steps && token.front() != header_.stop; ++step) {
    ++longer.positions;
    for (std::size_t f = 0; f < longer.fields.size(); ++f) {
      longer.fields[f].resize(longer.fields[f].size() + static_cast<std::size_t>(header_.fields[f].length),
                              0);
      if (f == 0)
        longer.fields[0][longer.fields[0].size() - static_cast<std::size_t>(header_.fields[0].length)] =
            token.front();
    }
    token = decode(feed(longer, longer.positions, {longer.positions - 1}).begin()->second);
  }
  return token;
}

}  // namespace rung_check
