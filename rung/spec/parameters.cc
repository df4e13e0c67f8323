#include "rung/spec/parameters.h"

#include <algorithm>

#include "rung/base/ceil_lg.h"
#include "rung/base/checked_size.h"
#include "rung/base/require.h"
#include "rung/spec/mixers.h"

namespace rung {
namespace {

class Collector {
 public:
  std::vector<ParameterTensor> tensors;

  void add(std::string name, std::vector<std::int64_t> shape) {
    tensors.push_back({std::move(name), std::move(shape)});
  }

  // The tensors of a mixer that reads the layer's input of width w; W_O is the layer's.
  Result<void> mixer(const MixerShape& m, std::int64_t w, const std::string& prefix) {
    for (std::size_t j = 0; j < m.parts.size(); ++j)
      RUNG_CHECK(mixer(m.parts[j], w, fmt::format("{}part.{}.", prefix, j)));
    if (!m.parts.empty()) return {};
    if (m.opaque())
      return fail(ErrorCode::unsupported, "[parameters] {} is counted, not described tensor by tensor",
                  opaque_name(m));
    if (!m.form.plain() && m.kind != MixerKind::full) return released(m, w, prefix);
    const MixerDescriptor& descriptor = recurrence_of(m);
    for (const MixerTensor& tensor : descriptor.tensors.value) {
      std::vector<std::int64_t> shape{size_of(tensor.rows, m, w).or_zero()};
      if (!tensor.columns.empty()) shape.push_back(size_of(tensor.columns, m, w).or_zero());
      add(fmt::format("{}{}.weight", prefix, tensor.name), std::move(shape));
    }
    if (m.conv > 0) add(fmt::format("{}{}.weight", prefix, descriptor.taps), {m.conv_channels, m.conv});
    if (m.kind == MixerKind::loglinear) {
      if (m.levels == 0)
        return fail(ErrorCode::missing,
                    "[parameters] loglinear has one weight per level and head; expected `context`");
      add(prefix + "level.weight", {m.heads * m.levels, w});
    }
    return {};
  }

 private:
  void add(const std::string& prefix, const char* name, std::vector<std::int64_t> shape) {
    add(prefix + name, std::move(shape));
  }
  // name.weight, through name_low.weight where it has a bottleneck.
  void low_rank(const std::string& prefix, const std::string& name, std::int64_t rows, std::int64_t w,
                std::int64_t rank, bool bias) {
    if (rank > 0) tensors.push_back({prefix + name + "_low.weight", {rank, w}});
    tensors.push_back({prefix + name + ".weight", {rows, rank > 0 ? rank : w}});
    if (bias) tensors.push_back({prefix + name + ".bias", {rows}});
  }
  Result<void> levels(const MixerShape& m, std::int64_t w, const std::string& prefix) {
    if (m.kind != MixerKind::loglinear) return {};
    if (m.levels == 0)
      return fail(ErrorCode::missing,
                  "[parameters] loglinear has one weight per level and head; expected `context`");
    add(prefix, "level.weight", {m.heads * m.levels, w});
    return {};
  }
  // Released forms; scalars (epsilons, limits) are no weights.
  Result<void> released(const MixerShape& m, std::int64_t w, const std::string& prefix) {
    using enum MixerKind;
    const MixerForm& f = m.form;
    const std::int64_t values = m.heads * m.value_dim, keys = m.heads * m.key_dim;
    switch (m.kind == loglinear ? m.base : m.kind) {
      case mamba: {
        const std::int64_t from = f.select_conv ? m.inner : w;
        add(prefix, "x.weight", {m.inner, w});
        add(prefix, "b.weight", {m.state, from});
        add(prefix, "c.weight", {m.state, from});
        low_rank(prefix, "delta", m.inner, from, f.rank, f.inner_norms == InnerNorms::none);
        if (f.inner_norms != InnerNorms::none) add(prefix, "delta.offset", {m.inner});
        add(prefix, "a.weight", {m.inner, m.state});
        add(prefix, "skip.weight", {m.inner});
        if (f.gate != Activation::none) add(prefix, "z.weight", {m.inner, w});
        break;
      }
      case mamba2:
        add(prefix, "x.weight", {values, w});
        add(prefix, "b.weight", {m.kv_heads * m.key_dim, w});
        add(prefix, "c.weight", {m.kv_heads * m.key_dim, w});
        low_rank(prefix, f.step ? "dt" : "gate", m.heads, w, 0, f.step);
        if (f.step) add(prefix, "a.weight", {m.heads});
        if (f.skip != Skip::none) add(prefix, "skip.weight", {f.skip == Skip::head ? m.heads : values});
        output(m, w, prefix, values, 0);
        break;
      case delta:
      case gdelta:
      case kda: {
        const bool per_key = m.kind == kda, decays = (m.kind == loglinear ? m.base : m.kind) != delta;
        add(prefix, "q.weight", {m.kv_heads * m.key_dim, w});
        add(prefix, "k.weight", {m.kv_heads * m.key_dim, w});
        add(prefix, "v.weight", {values, w});
        if (f.beta) add(prefix, "beta.weight", {m.heads, w});
        if (decays) low_rank(prefix, "gate", per_key ? keys : m.heads, w, per_key ? f.rank : 0, f.step);
        if (decays && f.step) add(prefix, "a.weight", {m.heads});
        output(m, w, prefix, m.value_dim, per_key ? f.rank : 0);
        break;
      }
      case gla:
        add(prefix, "q.weight", {keys, w});
        add(prefix, "k.weight", {m.kv_heads * m.key_dim, w});
        add(prefix, "v.weight", {m.kv_heads * m.value_dim, w});
        low_rank(prefix, "gate", m.kv_heads * m.key_dim, w, f.rank, true);
        output(m, w, prefix, m.value_dim, 0);
        break;
      case rwkv7:
        for (const char* name : {"r", "w", "k", "v", "a", "g"})
          tensors.push_back({prefix + "shift." + name, {w}});
        add(prefix, "r.weight", {keys, w});
        add(prefix, "k.weight", {keys, w});
        add(prefix, "v.weight", {values, w});
        low_rank(prefix, "w", keys, w, f.rank, true);
        low_rank(prefix, "a", keys, w, f.rank_a, true);
        low_rank(prefix, "g", values, w, f.rank_g, false);
        if (f.first_values) low_rank(prefix, "mix", values, w, f.rank_v, true);
        add(prefix, "key_scale.weight", {keys});
        add(prefix, "key_mix.weight", {keys});
        add(prefix, "bonus.weight", {m.heads, m.key_dim});
        add(prefix, "ynorm.gain", {values});
        add(prefix, "ynorm.bias", {values});
        return {};
      case sparse:
        add(prefix, "q.weight", {keys, w});
        add(prefix, "k.weight", {m.kv_heads * m.key_dim, w});
        add(prefix, "v.weight", {m.kv_heads * m.value_dim, w});
        add(prefix, "mix.weight", {m.heads * 3, w});
        if (f.compress == Compression::weighted) {
          add(prefix, "compress_k.weight", {m.kv_heads, f.span});
          add(prefix, "compress_v.weight", {m.kv_heads, f.span});
        }
        if (f.compress == Compression::linear) {
          add(prefix, "compress_k.weight", {m.kv_heads, f.span * m.key_dim, m.key_dim});
          add(prefix, "compress_v.weight", {m.kv_heads, f.span * m.value_dim, m.value_dim});
        }
        if (f.compress != Compression::mean) add(prefix, "compress_k.place", {m.kv_heads, f.span, m.key_dim});
        return {};
      case topk: {
        const bool latent = f.kv_rank > 0;
        if (latent) {
          add(prefix, "q_low.weight", {f.q_rank, w});
          add(prefix, "q_norm.gain", {f.q_rank});
          add(prefix, "kv_low.weight", {f.kv_rank + f.rope_dim, w});
          add(prefix, "kv_norm.gain", {f.kv_rank});
        }
        const std::int64_t from = latent ? f.q_rank : w;
        add(prefix, "q.weight", {keys, from});
        add(prefix, "k.weight",
            {latent ? m.heads * (m.key_dim - f.rope_dim) : m.kv_heads * m.key_dim, latent ? f.kv_rank : w});
        add(prefix, "v.weight", {latent ? values : m.kv_heads * m.value_dim, latent ? f.kv_rank : w});
        add(prefix, "index_q.weight", {m.index_heads * m.index_dim, from});
        add(prefix, "index_k.weight", {m.index_dim, w});
        if (f.index_norm) {
          add(prefix, "index_norm.gain", {m.index_dim});
          add(prefix, "index_norm.bias", {m.index_dim});
        }
        add(prefix, "index_mix.weight", {m.index_heads, w});
        return {};
      }
      case full:
      case linear:
      case rnn:
      case gru:
      case loglinear:
      case heads:
      case conv:
      case identity:
      case none:
      case recurrent:
      case compressed:
        RUNG_REQUIRE(false, "{} has no released form", mixer_descriptor(m.kind).name);
        break;
    }
    if (m.conv > 0) add(prefix, "conv.weight", {m.conv_channels, m.conv});
    if (f.conv_bias) add(prefix, "conv.bias", {m.conv_channels});
    return levels(m, w, prefix);
  }
  void output(const MixerShape& m, std::int64_t w, const std::string& prefix, std::int64_t gain,
              std::int64_t rank) {
    if (m.form.gate != Activation::none) low_rank(prefix, "z", m.heads * m.value_dim, w, rank, rank > 0);
    if (m.form.norm != OutputNorm::none) add(prefix, "ynorm.gain", {gain});
  }
};

}  // namespace

std::int64_t ParameterTensor::size() const {
  CheckedSize product = 1;
  for (const auto extent : shape) product = product * extent;
  RUNG_REQUIRE(product.ok(), "{} has more than 2^62 numbers", name);
  return *product.value();
}

std::int64_t position_digits(std::int64_t context) {
  RUNG_REQUIRE(context >= 1, "context={}", context);
  return std::max(1, ceil_lg(static_cast<std::uint64_t>(context)));
}

Result<std::vector<ParameterTensor>> layer_tensors(const LayerShape& layer, std::size_t index, Norm norm) {
  const std::string prefix = fmt::format("layers.{}.", index);
  const std::int64_t w = layer.width;
  Collector out;
  if (layer.mixer.kind != MixerKind::none) {
    if (norm == Norm::rms) out.add(prefix + "norm1.gain", {w});
    RUNG_CHECK(out.mixer(layer.mixer, w, prefix));
    out.add(prefix + "o.weight", {w, layer.mixer.output_width()});
  }
  if (!layer.mlp.empty()) {
    if (norm == Norm::rms) out.add(prefix + "norm2.gain", {w});
    std::int64_t in = w;
    for (std::size_t k = 0; k <= layer.mlp.size(); ++k) {
      const std::int64_t width = k < layer.mlp.size() ? layer.mlp[k] : w;
      out.add(fmt::format("{}mlp.{}.weight", prefix, k), {width, in});
      out.add(fmt::format("{}mlp.{}.bias", prefix, k), {width});
      in = width;
    }
  }
  return out.tensors;
}

Result<std::vector<ParameterTensor>> outer_tensors(const Dimensions& d) {
  std::vector<ParameterTensor> out;
  out.push_back({"embed.token.table", {d.vocabulary, d.width}});
  const bool positions = d.position == PositionCode::table || d.position == PositionCode::binary;
  if (positions && d.context == 0)
    return fail(ErrorCode::missing,
                "[parameters] position={} has a table of rows per position; expected `context`",
                position_name(d.position));
  if (d.position == PositionCode::table) out.push_back({"embed.position.table", {d.context, d.width}});
  if (d.position == PositionCode::binary)
    out.push_back({"embed.position.binary", {position_digits(d.context) + 1, d.width}});
  if (d.norm == Norm::rms) out.push_back({"norm.gain", {d.width}});
  out.push_back({"out.table", {d.outputs > 0 ? d.outputs : d.vocabulary, d.width}});
  return out;
}

}  // namespace rung
