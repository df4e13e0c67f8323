#include "rung/exact/machine.h"

#include <algorithm>
#include <cmath>

#include "rung/base/nearest_word.h"
#include "rung/base/parallel.h"
#include "rung/exact/embedding.h"
#include "rung/exact/layer_input.h"
#include "rung/exact/mixer.h"
#include "rung/exact/model_parts.h"

namespace rung {
namespace {

// Reals of mode Q as whole numbers; what lies beyond 62 bits saturates, NaN is 0.
std::int64_t nearest_integer(double x) {
  constexpr double kLargest = 0x1p62;
  return std::isnan(x) ? 0 : static_cast<std::int64_t>(std::nearbyint(std::clamp(x, -kLargest, kLargest)));
}

template <class A>
struct Layer {
  std::unique_ptr<MixerFor<A>> mixer;  // null: no mixer
  LinearMap<A> output;
  std::optional<RowNorm<A>> mixer_norm, mlp_norm;
  std::vector<LinearMap<A>> mlp;
  std::vector<std::optional<Table>> activation;  // between maps; nullopt: ReLU
  std::vector<Width> activated;                  // of the activations
};

template <class A>
class PartsOf;

template <class A>
class MachineOf final : public Machine {
 public:
  using Value = typename A::Value;
  using Wide = typename A::Wide;

  MachineOf(const Weights& weights, const std::vector<LayerShape>& shapes, const A& arithmetic,
            std::int64_t positions, TensorSource source)
      : fields_(weights.fields),
        output_spec_(weights.output),
        decode_(weights.decode),
        causal_(weights.architecture.dimensions.causal),
        width_(weights.architecture.dimensions.width),
        positions_(positions),
        context_(weights.architecture.dimensions.context),
        arithmetic_(arithmetic),
        stream_(source.width("stream")),
        embedding_(weights, arithmetic, source, stream_) {
    const auto& dimensions = weights.architecture.dimensions;
    sum_bits_ = embedding_.sum_bits();
    for (std::size_t i = 0; i < shapes.size() && !source.error(); ++i) {
      auto own = source.under("layers." + std::to_string(i));
      layers_.push_back(read_layer(own, shapes[i], dimensions));
    }
    check_published(source);
    if (dimensions.norm == Norm::rms) final_norm_ = RowNorm<A>::read(source, "norm", width_, stream_.bits);
    auto out = source.under("out");
    auto table = out.template numbers<Value>("table", {output_spec_.size, width_});
    std::vector<Value> bias;
    if (out.has("bias")) bias = out.template numbers<Value>("bias", {output_spec_.size});
    if (output_spec_.kind == OutputSpec::Kind::binary || output_spec_.kind == OutputSpec::Kind::threshold)
      threshold_ = out.template numbers<Value>("threshold", {output_spec_.size});
    if (source.error()) return;
    output_ = LinearMap<A>(output_spec_.size, width_, std::move(table), std::move(bias), 0, Width{62, false});
    const int logit_bits = output_.sum_bits(final_norm_ ? final_norm_->rule.width.bits : stream_.bits);
    if (A::kExact && logit_bits > 62)
      source.refuse(fail(ErrorCode::range,
                         "[weights] \"out.table\": logits could need {} bits; at most 62 expected",
                         logit_bits));
    note(logit_bits);
    if constexpr (A::kExact) parts_ = std::make_unique<PartsOf<A>>(*this);
  }

  const ModelParts* parts() const override { return parts_.get(); }
  int sum_bits() const { return sum_bits_; }
  bool exact() const override { return A::kExact; }
  std::string_view arithmetic() const override {
    return !A::kExact ? "real" : sizeof(Wide) == 8 ? "int64" : "int128";
  }

  Result<std::vector<Readout>> forward(const Prompt& prompt, std::span<const std::int64_t> wanted,
                                       const LayerObserver& observer) const override {
    RUNG_CHECK(check(prompt));
    for (std::size_t i = 0; i < wanted.size(); ++i)
      RUNG_REQUIRE(wanted[i] >= 0 && wanted[i] < prompt.positions && (i == 0 || wanted[i - 1] < wanted[i]),
                   "wanted[{}]={}", i, wanted[i]);
    if (wanted.empty()) return std::vector<Readout>{};
    const std::int64_t end = causal_ ? wanted.back() + 1 : prompt.positions;
    std::vector<std::int64_t> all(observer || layers_.size() > 1 ? static_cast<std::size_t>(end) : 0);
    for (std::size_t t = 0; t < all.size(); ++t) all[t] = static_cast<std::int64_t>(t);

    std::vector<Value> x;     // rows of `rows_at`, after the layers so far; empty before the first
    std::vector<Value> side;  // what a layer published, by position
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      const bool last = i + 1 == layers_.size() && !observer;
      const std::span<const std::int64_t> targets = last ? wanted : std::span<const std::int64_t>(all);
      auto row = [&](std::int64_t t, Value* out) {
        if (x.empty())
          embed(prompt, t, out);
        else
          std::copy_n(x.begin() + t * width_, width_, out);
      };
      const Layer<A>& layer = layers_[i];
      const LayerInput<A> input(end, width_, row, arithmetic_,
                                layer.mixer_norm ? &*layer.mixer_norm : nullptr, side.data(),
                                consumed(layer));
      x = layer_rows(layer, input, row, targets, &side);
      if (observer) observe(observer, static_cast<std::int64_t>(i), x);
    }
    std::vector<Readout> readouts;
    for (std::size_t j = 0; j < wanted.size(); ++j)
      readouts.push_back(
          read(wanted[j], x.data() + (observer ? wanted[j] : static_cast<std::int64_t>(j)) * width_));
    return readouts;
  }

  Result<std::vector<Readout>> forward_variants(
      const Prompt& prefix, std::span<const std::vector<std::int64_t>> rows) const override {
    if (!causal_)
      return fail(ErrorCode::unsupported,
                  "[exact] an encoder's positions all see the last one; there is no prefix to share");
    RUNG_CHECK(check(prefix));
    RUNG_CHECK(check_length(prefix.positions + 1));
    if (publishes_) return whole_variants(prefix, rows);
    const auto count = static_cast<std::int64_t>(rows.size());
    std::vector<Value> last(static_cast<std::size_t>(count * width_));
    for (std::int64_t i = 0; i < count; ++i) {
      const auto& row = rows[static_cast<std::size_t>(i)];
      RUNG_REQUIRE(static_cast<std::int64_t>(row.size()) == embedding_.row_width(),
                   "row of {} numbers, {} expected", row.size(), embedding_.row_width());
      RUNG_CHECK(embedding_.check(row, prefix.positions));
      embedding_.embed(row.data(), prefix.positions, last.data() + i * width_);
    }
    std::vector<std::int64_t> all(layers_.size() > 1 ? static_cast<std::size_t>(prefix.positions) : 0);
    for (std::size_t t = 0; t < all.size(); ++t) all[t] = static_cast<std::int64_t>(t);
    std::vector<Value> x;  // the prefix's rows after the layers so far; empty before the first
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      const Layer<A>& layer = layers_[i];
      auto row = [&](std::int64_t t, Value* out) {
        if (x.empty())
          embed(prefix, t, out);
        else
          std::copy_n(x.begin() + t * width_, width_, out);
      };
      const RowNorm<A>* norm = layer.mixer_norm ? &*layer.mixer_norm : nullptr;
      const LayerInput<A> input(prefix.positions, width_, row, arithmetic_, norm);
      const std::int64_t mixed_width = layer.mixer ? layer.mixer->output_width() : 0;
      std::vector<Value> mixed(static_cast<std::size_t>(count * mixed_width));
      if (layer.mixer) {
        std::vector<Value> normed = last;
        if (norm)
          for (std::int64_t v = 0; v < count; ++v)
            norm->apply(arithmetic_, normed.data() + v * width_, normed.data() + v * width_);
        layer.mixer->forward_variants(input, normed.data(), count, mixed.data());
      }
      if (i + 1 < layers_.size()) x = layer_rows(layer, input, row, all);
      parallel_for(count, 64, [&](std::int64_t begin, std::int64_t stop) {
        for (std::int64_t v = begin; v < stop; ++v)
          finish_layer(layer, mixed.data() + v * mixed_width, last.data() + v * width_);
      });
    }
    std::vector<Readout> readouts;
    for (std::int64_t v = 0; v < count; ++v)
      readouts.push_back(read(prefix.positions, last.data() + v * width_));
    return readouts;
  }

  Result<std::unique_ptr<Session>> start() const override {
    if (!causal_)
      return fail(ErrorCode::unsupported,
                  "[exact] an encoder reads its whole prompt at once and has no steps");
    return std::unique_ptr<Session>(std::make_unique<Running>(*this));
  }

  Result<std::vector<std::int64_t>> generate(const Prompt& prompt) const override {
    RUNG_REQUIRE(decode_.steps >= 1, "steps={}", decode_.steps);
    RUNG_CHECK(check(prompt));
    RUNG_TRY(auto session, start());
    std::optional<Readout> readout;
    for (std::int64_t t = 0; t < prompt.positions; ++t) {
      RUNG_TRY(readout, session->append(prompt_row(prompt, fields_, t), t + 1 == prompt.positions));
    }
    std::vector<std::int64_t> tokens;
    while (readout) {
      tokens.push_back(readout->answer.front());
      if (static_cast<std::int64_t>(tokens.size()) == decode_.steps || tokens.back() == decode_.stop) break;
      std::vector<std::int64_t> row(static_cast<std::size_t>(embedding_.row_width()), 0);
      row[0] = tokens.back();
      RUNG_TRY(readout, session->append(row, true));
    }
    return tokens;
  }

 private:
  friend class PartsOf<A>;

  class Running final : public Session {
   public:
    explicit Running(const MachineOf& machine) : machine_(machine) {
      for (const auto& layer : machine.layers_)
        states_.push_back(layer.mixer ? layer.mixer->start() : nullptr);
    }
    Result<std::optional<Readout>> append(std::span<const std::int64_t> row, bool wanted) override {
      const auto& m = machine_;
      RUNG_REQUIRE(static_cast<std::int64_t>(row.size()) == m.embedding_.row_width(),
                   "row of {} numbers, {} expected", row.size(), m.embedding_.row_width());
      RUNG_CHECK(m.check_length(t_ + 1));
      RUNG_CHECK(m.embedding_.check(row, t_));
      std::vector<Value> x(static_cast<std::size_t>(m.width_)), input(x), side;
      m.embedding_.embed(row.data(), t_, x.data());
      for (std::size_t i = 0; i < m.layers_.size(); ++i) {
        const Layer<A>& layer = m.layers_[i];
        const bool needed = wanted || i + 1 < m.layers_.size();
        std::vector<Value> mixed;
        if (layer.mixer) {
          mixed.resize(static_cast<std::size_t>(layer.mixer->output_width() + layer.mixer->published()));
          input = x;
          if (layer.mixer_norm) layer.mixer_norm->apply(m.arithmetic_, input.data(), input.data());
          if (consumed(layer) > 0) input.insert(input.end(), side.begin(), side.end());
          layer.mixer->step(*states_[i], input.data(), needed ? mixed.data() : nullptr);
        }
        if (layer.mixer && layer.mixer->published() > 0 && side.empty())
          side.assign(mixed.begin() + layer.mixer->output_width(), mixed.end());
        if (needed) m.finish_layer(layer, mixed.data(), x.data());
      }
      ++t_;
      if (!wanted) return std::optional<Readout>{};
      return std::optional<Readout>{m.read(t_ - 1, x.data())};
    }
    std::int64_t positions() const override { return t_; }
    std::vector<std::vector<std::int64_t>> state() const override {
      std::vector<std::vector<std::int64_t>> all;
      for (const auto& state : states_) {
        all.emplace_back();
        if (!state) continue;
        if constexpr (A::kExact) {
          state->append_numbers(all.back());
        } else {
          std::vector<typename A::Value> numbers;
          state->append_numbers(numbers);
          for (const double number : numbers) all.back().push_back(std::bit_cast<std::int64_t>(number));
        }
      }
      return all;
    }

   private:
    const MachineOf& machine_;
    std::vector<std::unique_ptr<MixerState<A>>> states_;
    std::int64_t t_ = 0;
  };

  static std::int64_t consumed(const Layer<A>& layer) { return layer.mixer ? layer.mixer->consumed() : 0; }
  // One whole prompt a row, where layers read what an earlier one published.
  Result<std::vector<Readout>> whole_variants(const Prompt& prefix,
                                              std::span<const std::vector<std::int64_t>> rows) const {
    std::vector<Readout> out;
    for (const auto& row : rows) {
      Prompt prompt = prefix;
      auto from = row.begin();
      for (std::size_t f = 0; f < fields_.size(); from += fields_[f].length, ++f)
        prompt.fields[f].insert(prompt.fields[f].end(), from, from + fields_[f].length);
      ++prompt.positions;
      const std::int64_t last = prompt.positions - 1;
      RUNG_TRY(auto readouts, forward(prompt, std::span(&last, 1), {}));
      out.push_back(std::move(readouts[0]));
    }
    return out;
  }
  // What a layer reads beside its input is published by an earlier one, in rows of the same width.
  void check_published(TensorSource& source) {
    std::int64_t published = 0;
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      const auto& mixer = layers_[i].mixer;
      if (!mixer) continue;
      if (mixer->consumed() > 0 && mixer->consumed() != published)
        source.refuse(
            fail(ErrorCode::unsupported,
                 "[exact] \"layers.{}.\" mixes in the values of an earlier rwkv7 layer; the stack has {}", i,
                 published == 0 ? "none" : "one of another size"));
      if (published == 0) published = mixer->published();
    }
    publishes_ = published > 0;
  }

  void note(int bits) { sum_bits_ = std::max(sum_bits_, bits); }

  Layer<A> read_layer(TensorSource& source, const LayerShape& shape, const Dimensions& dimensions) {
    Layer<A> layer;
    int bits = stream_.bits;
    if (dimensions.norm == Norm::rms && shape.mixer.kind != MixerKind::none) {
      layer.mixer_norm = RowNorm<A>::read(source, "norm1", width_, stream_.bits);
      bits = std::max(bits, layer.mixer_norm->rule.width.bits);
    }
    const MixerContext<A> context{shape.mixer, width_, causal_, arithmetic_, positions_, bits, source};
    layer.mixer = make_mixer_for(context);
    if (source.error()) return layer;
    if (layer.mixer) {
      note(layer.mixer->sum_bits());
      layer.output = source.template map<A>("o", width_, layer.mixer->output_width());
      int mixed_bits = shape.mixer.parts.empty() ? source.width("y").bits : 0;  // heads(...) has its parts'
      for (std::size_t part = 0; part < shape.mixer.parts.size(); ++part)
        mixed_bits = std::max(mixed_bits, source.under("part." + std::to_string(part)).width("y").bits);
      note(layer.output.sum_bits(mixed_bits));
    }
    if (shape.mlp.empty()) return layer;
    bits = stream_.bits;
    if (dimensions.norm == Norm::rms) {
      layer.mlp_norm = RowNorm<A>::read(source, "norm2", width_, stream_.bits);
      bits = std::max(bits, layer.mlp_norm->rule.width.bits);
    }
    std::int64_t fan_in = width_;
    for (std::size_t k = 0; k <= shape.mlp.size(); ++k) {
      const std::string name = "mlp." + std::to_string(k);
      const std::int64_t fan_out = k < shape.mlp.size() ? shape.mlp[k] : width_;
      layer.mlp.push_back(source.template map<A>(name, fan_out, fan_in));
      note(layer.mlp.back().sum_bits(bits));
      bits = layer.mlp.back().width().bits;
      if (k < shape.mlp.size()) {
        layer.activation.emplace_back();
        if (dimensions.activation != MlpActivation::relu)
          layer.activation.back() =
              source.table(name, dimensions.activation == MlpActivation::gelu ? "gelu" : "silu");
        layer.activated.push_back(layer.mlp.back().width());
        layer.activated.back().site = source.site(name + ".act");
      }
      fan_in = fan_out;
    }
    return layer;
  }

  // The layer's output rows at `targets`.
  template <class Row>
  std::vector<Value> layer_rows(const Layer<A>& layer, const LayerInput<A>& input, const Row& row,
                                std::span<const std::int64_t> targets,
                                std::vector<Value>* side = nullptr) const {
    const std::int64_t mixed_width = layer.mixer ? layer.mixer->output_width() + layer.mixer->published() : 0;
    std::vector<Value> mixed(targets.size() * static_cast<std::size_t>(mixed_width));
    if (layer.mixer) layer.mixer->forward(input, targets, mixed.data());
    if (side && side->empty() && layer.mixer && layer.mixer->published() > 0)
      for (std::size_t j = 0; j < targets.size(); ++j)
        side->insert(side->end(),
                     mixed.begin() + static_cast<std::int64_t>(j) * mixed_width + layer.mixer->output_width(),
                     mixed.begin() + static_cast<std::int64_t>(j + 1) * mixed_width);
    std::vector<Value> next(targets.size() * static_cast<std::size_t>(width_));
    parallel_for(static_cast<std::int64_t>(targets.size()), 64, [&](std::int64_t begin, std::int64_t stop) {
      for (std::int64_t j = begin; j < stop; ++j) {
        Value* out = next.data() + j * width_;
        row(targets[static_cast<std::size_t>(j)], out);
        finish_layer(layer, mixed.data() + j * mixed_width, out);
      }
    });
    return next;
  }

  // x ← the layer's output row, given the mixer's numbers at that position.
  void finish_layer(const Layer<A>& layer, const Value* mixed, Value* x) const {
    std::vector<Value> row(static_cast<std::size_t>(width_));
    if (layer.mixer) {
      layer.output.apply(arithmetic_, mixed, row.data());
      for (std::int64_t c = 0; c < width_; ++c)
        x[c] = arithmetic_.narrow(Wide(x[c]) + row[static_cast<std::size_t>(c)], 0, stream_);
    }
    if (layer.mlp.empty()) return;
    row.assign(x, x + width_);
    if (layer.mlp_norm) layer.mlp_norm->apply(arithmetic_, row.data(), row.data());
    for (std::size_t k = 0; k < layer.mlp.size(); ++k) {
      std::vector<Value> next(static_cast<std::size_t>(layer.mlp[k].rows()));
      if (k + 1 == layer.mlp.size()) {
        layer.mlp[k].apply(arithmetic_, row.data(), next.data());
      } else {
        layer.mlp[k].apply_unrounded(arithmetic_, row.data(), next.data());
        for (auto& value : next) {
          if (const auto& table = layer.activation[k])
            value = arithmetic_.unrounded(arithmetic_.table(*table, value), 0, layer.activated[k]);
          else
            value = A::relu(value);
        }
      }
      row = std::move(next);
    }
    for (std::int64_t c = 0; c < width_; ++c)
      x[c] = arithmetic_.narrow(Wide(x[c]) + row[static_cast<std::size_t>(c)], 0, stream_);
  }

  void embed(const Prompt& prompt, std::int64_t t, Value* out) const {
    thread_local std::vector<std::int64_t> row;
    row.clear();
    for (std::size_t f = 0; f < fields_.size(); ++f)
      for (std::int64_t i = 0; i < fields_[f].length; ++i)
        row.push_back(prompt.fields[f][static_cast<std::size_t>(t * fields_[f].length + i)]);
    embedding_.embed(row.data(), t, out);
  }

  Result<void> check_length(std::int64_t positions) const {
    if (positions > positions_)
      return fail(ErrorCode::range, "[exact] a prompt of {} positions; the machine was loaded for {}",
                  positions, positions_);
    if (context_ > 0 && positions > context_)
      return fail(ErrorCode::range, "[exact] a prompt of {} positions; the model's context is {}", positions,
                  context_);
    return {};
  }

  Result<void> check(const Prompt& prompt) const {
    if (prompt.fields.size() != fields_.size())
      return fail(ErrorCode::range, "[exact] the prompt has {} fields; the model reads {}",
                  prompt.fields.size(), fields_.size());
    for (std::size_t f = 0; f < fields_.size(); ++f)
      if (static_cast<std::int64_t>(prompt.fields[f].size()) != prompt.positions * fields_[f].length)
        return fail(ErrorCode::range, "[exact] field \"{}\" holds {} numbers for {} positions",
                    fields_[f].name, prompt.fields[f].size(), prompt.positions);
    RUNG_CHECK(check_length(prompt.positions));
    std::vector<std::int64_t> row;
    for (std::int64_t t = 0; t < prompt.positions; ++t) {
      row.clear();
      for (std::size_t f = 0; f < fields_.size(); ++f)
        for (std::int64_t i = 0; i < fields_[f].length; ++i)
          row.push_back(prompt.fields[f][static_cast<std::size_t>(t * fields_[f].length + i)]);
      if (auto good = embedding_.check(row, t); !good)
        return fail(good.error().code, "{} at position {}", good.error().message, t);
    }
    return {};
  }

  void observe(const LayerObserver& observer, std::int64_t layer, const std::vector<Value>& x) const {
    if constexpr (A::kExact)
      for (std::int64_t t = 0; t * width_ < static_cast<std::int64_t>(x.size()); ++t)
        observer(layer, t, std::span(x.data() + t * width_, static_cast<std::size_t>(width_)));
  }

  Readout read(std::int64_t position, const Value* x) const {
    std::vector<Value> row(x, x + width_), logits(static_cast<std::size_t>(output_spec_.size));
    if (final_norm_) final_norm_->apply(arithmetic_, row.data(), row.data());
    output_.apply_unrounded(arithmetic_, row.data(), logits.data());
    Readout readout;
    readout.position = position;
    switch (output_spec_.kind) {
      case OutputSpec::Kind::logits:
        readout.answer = {std::max_element(logits.begin(), logits.end()) - logits.begin()};
        break;
      case OutputSpec::Kind::binary:
      case OutputSpec::Kind::threshold: {
        std::int64_t token = 0;
        for (std::size_t d = 0; d < logits.size(); ++d)
          if (logits[d] > threshold_[d]) token |= std::int64_t{1} << d;
        readout.answer = {token};
        break;
      }
      case OutputSpec::Kind::vector:
        for (const Value logit : logits)
          readout.answer.push_back(nearest_integer(static_cast<double>(logit)));
        if constexpr (A::kExact) readout.answer.assign(logits.begin(), logits.end());
    }
    if constexpr (A::kExact) {
      readout.activation = std::move(row);
      readout.logits = std::move(logits);
    } else {
      readout.real_activation = std::move(row);
      readout.real_logits = std::move(logits);
    }
    return readout;
  }

  std::vector<FieldSpec> fields_;
  OutputSpec output_spec_;
  DecodeSpec decode_;
  bool causal_;
  std::int64_t width_, positions_, context_;
  A arithmetic_;
  Width stream_;
  Embedding<A> embedding_;
  std::vector<Layer<A>> layers_;
  std::optional<RowNorm<A>> final_norm_;
  LinearMap<A> output_;
  std::vector<Value> threshold_;
  int sum_bits_ = 0;
  bool publishes_ = false;             // some layer publishes numbers that a later one may read
  std::unique_ptr<ModelParts> parts_;  // mode X
};

template <class A>
class PartsOf final : public ModelParts {
 public:
  explicit PartsOf(const MachineOf<A>& machine) : machine_(machine) {}
  std::int64_t layers() const override { return static_cast<std::int64_t>(machine_.layers_.size()); }
  std::int64_t width() const override { return machine_.width_; }
  Result<void> check(const Prompt& prompt) const override { return machine_.check(prompt); }
  void embed(const std::int64_t* row, std::int64_t position, std::int64_t* x) const override {
    machine_.embedding_.embed(row, position, x);
  }
  std::vector<const ExactMixer*> mixers(std::int64_t layer) const override {
    const auto& mixer = at(layer).mixer;
    return mixer ? mixer->parts() : std::vector<const ExactMixer*>{};
  }
  void input(std::int64_t layer, const std::int64_t* x, std::int64_t* u) const override {
    std::copy_n(x, machine_.width_, u);
    if (const auto& norm = at(layer).mixer_norm) norm->apply(machine_.arithmetic_, u, u);
  }
  void finish(std::int64_t layer, const std::int64_t* mixed, std::int64_t* x) const override {
    machine_.finish_layer(at(layer), mixed, x);
  }
  Readout read(std::int64_t position, const std::int64_t* x) const override {
    return machine_.read(position, x);
  }

 private:
  const Layer<A>& at(std::int64_t layer) const {
    return machine_.layers_.at(static_cast<std::size_t>(layer));
  }
  const MachineOf<A>& machine_;
};

template <class A>
Result<std::unique_ptr<MachineOf<A>>> build(const Weights& weights, const std::vector<LayerShape>& shapes,
                                            const A& arithmetic, std::int64_t positions,
                                            ValueObserver* observer = nullptr) {
  TensorSource source(weights, observer);
  auto machine = std::make_unique<MachineOf<A>>(weights, shapes, arithmetic, positions, source);
  if (source.error()) return *source.error();
  if (const auto stray = source.stray())
    return fail(ErrorCode::format, "[weights] tensor {} belongs to nothing in the architecture {}",
                rung::quoted(*stray), format_stack(weights.architecture.stack));
  return machine;
}

}  // namespace

std::vector<std::int64_t> prompt_row(const Prompt& prompt, const std::vector<FieldSpec>& fields,
                                     std::int64_t position) {
  std::vector<std::int64_t> row;
  for (std::size_t f = 0; f < fields.size(); ++f)
    for (std::int64_t i = 0; i < fields[f].length; ++i)
      row.push_back(prompt.fields[f].at(static_cast<std::size_t>(position * fields[f].length + i)));
  return row;
}

Result<std::unique_ptr<Machine>> Machine::load(const Weights& weights, const MachineOptions& options) {
  if (options.positions < 1 || options.positions > std::int64_t{1} << 31)
    return fail(ErrorCode::range, "[exact] {} positions; 1 to 2^31 expected", options.positions);
  RUNG_TRY(const auto shapes, resolve(weights.architecture));
  const auto& dimensions = weights.architecture.dimensions;
  const int state_bits = static_cast<int>(dimensions.accumulator_bits.value_or(dimensions.precision.bits));
  if (state_bits < 1 || state_bits > 62)
    return fail(ErrorCode::range, "[exact] accumulators of {} bits; 1 to 62 expected", state_bits);
  if (options.quantised || options.unrounded || weights.mode == WeightMode::real) {
    RealArithmetic arithmetic{weights.accumulator, state_bits, options.quantised, options.observer};
    RUNG_TRY(auto machine, build(weights, shapes, arithmetic, options.positions, options.observer));
    return std::unique_ptr<Machine>(std::move(machine));
  }
  if (dimensions.precision.format != NumberFormat::fixed)
    return fail(ErrorCode::unsupported,
                "[exact] integer weights with precision {}; a fixed-point precision expected",
                format_precision(dimensions.precision));
  if (!options.force_wide) {
    auto machine = build(weights, shapes, Exact64{weights.accumulator, state_bits}, options.positions);
    if (!machine) return machine.error();
    if ((*machine)->sum_bits() <= 62) return std::unique_ptr<Machine>(std::move(*machine));
  }
  RUNG_TRY(auto machine,
           build(weights, shapes, Exact128{weights.accumulator, state_bits}, options.positions));
  if (machine->sum_bits() > 126)
    return fail(ErrorCode::range, "[exact] a product-sum could need {} bits; at most 126 expected",
                machine->sum_bits());
  return std::unique_ptr<Machine>(std::move(machine));
}

}  // namespace rung
