#include "rung/spec/parameters.h"

#include <algorithm>
#include <bit>

#include "rung/base/checked_size.h"
#include "rung/base/require.h"

namespace rung {
namespace {

class Collector {
 public:
  std::vector<ParameterTensor> tensors;

  void add(const std::string& prefix, const char* name, std::vector<std::int64_t> shape) {
    tensors.push_back({prefix + name, std::move(shape)});
  }

  // The tensors of a mixer that read the layer's input of width w; W_O is the layer's.
  Result<void> mixer(const MixerShape& m, std::int64_t w, const std::string& prefix) {
    using enum MixerKind;
    if (m.opaque() && m.kind != heads)
      return fail(ErrorCode::unsupported, "[parameters] {} is counted, not described tensor by tensor",
                  opaque_name(m));
    switch (m.kind == loglinear ? m.base : m.kind) {
      case full:
      case sparse:
      case topk:
        attention(m, w, prefix);
        break;
      case linear:
        add(prefix, "q.weight", {m.heads * m.key_dim, w});
        add(prefix, "k.weight", {m.heads * m.key_dim, w});
        add(prefix, "v.weight", {m.heads * m.value_dim, w});
        break;
      case rnn:
        add(prefix, "x.weight", {m.inner, w});
        add(prefix, "h.weight", {m.inner, m.inner});
        break;
      case gru:
        for (const char* gate : {"z", "r", "n"}) {
          add(prefix, (std::string("x") + gate + ".weight").c_str(), {m.inner, w});
          add(prefix, (std::string("h") + gate + ".weight").c_str(), {m.inner, m.inner});
        }
        break;
      case mamba:
        add(prefix, "x.weight", {m.inner, w});
        add(prefix, "b.weight", {m.state, w});
        add(prefix, "c.weight", {m.state, w});
        add(prefix, "delta.weight", {m.inner, w});
        add(prefix, "a.weight", {m.inner, m.state});
        add(prefix, "skip.weight", {m.inner});
        break;
      case mamba2:
        add(prefix, "x.weight", {m.heads * m.value_dim, w});
        add(prefix, "b.weight", {m.kv_heads * m.key_dim, w});
        add(prefix, "c.weight", {m.kv_heads * m.key_dim, w});
        add(prefix, "gate.weight", {m.heads, w});
        break;
      case delta:
      case gdelta:
        add(prefix, "q.weight", {m.kv_heads * m.key_dim, w});
        add(prefix, "k.weight", {m.kv_heads * m.key_dim, w});
        add(prefix, "v.weight", {m.heads * m.value_dim, w});
        add(prefix, "beta.weight", {m.heads, w});
        if ((m.kind == loglinear ? m.base : m.kind) == gdelta) add(prefix, "gate.weight", {m.heads, w});
        break;
      case conv:
        add(prefix, "v.weight", {m.inner, w});
        add(prefix, "taps.weight", {m.inner, m.conv});
        return {};
      case identity:
        add(prefix, "v.weight", {m.heads * m.value_dim, w});
        break;
      case heads:
        for (std::size_t j = 0; j < m.parts.size(); ++j)
          RUNG_CHECK(mixer(m.parts[j], w, fmt::format("{}part.{}.", prefix, j)));
        break;
      case none:
        break;
      case recurrent:
      case compressed:
      case loglinear:
        RUNG_REQUIRE(false, "opaque, or no base");
        break;
    }
    if (m.conv > 0) add(prefix, "conv.weight", {m.conv_channels, m.conv});
    if (m.kind == loglinear) {
      if (m.levels == 0)
        return fail(ErrorCode::missing,
                    "[parameters] loglinear has one weight per level and head; expected --context");
      add(prefix, "level.weight", {m.heads * m.levels, w});
    }
    return {};
  }

 private:
  void attention(const MixerShape& m, std::int64_t w, const std::string& prefix) {
    add(prefix, "q.weight", {m.heads * m.key_dim, w});
    add(prefix, "k.weight", {m.kv_heads * m.key_dim, w});
    add(prefix, "v.weight", {m.kv_heads * m.value_dim, w});
    if (m.kind == MixerKind::sparse) {
      add(prefix, "compress_k.weight", {m.kv_heads * m.key_dim, m.block * w});
      add(prefix, "compress_v.weight", {m.kv_heads * m.value_dim, m.block * w});
      add(prefix, "mix.weight", {m.heads * (m.window ? 3 : 1), w});
    }
    if (m.kind == MixerKind::topk) {
      add(prefix, "index_q.weight", {m.index_heads * m.index_dim, w});
      add(prefix, "index_k.weight", {m.index_dim, w});
      add(prefix, "index_mix.weight", {m.index_heads, w});
    }
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
  return std::max<std::int64_t>(1, std::bit_width(static_cast<std::uint64_t>(context - 1)));
}

Result<std::vector<ParameterTensor>> layer_tensors(const LayerShape& layer, std::size_t index, Norm norm) {
  const std::string prefix = fmt::format("layers.{}.", index);
  const std::int64_t w = layer.width;
  Collector out;
  if (layer.mixer.kind != MixerKind::none) {
    if (norm == Norm::rms) out.add(prefix, "norm1.gain", {w});
    RUNG_CHECK(out.mixer(layer.mixer, w, prefix));
    out.add(prefix, "o.weight", {w, layer.mixer.output_width()});
  }
  if (!layer.mlp.empty()) {
    if (norm == Norm::rms) out.add(prefix, "norm2.gain", {w});
    std::int64_t in = w;
    for (std::size_t k = 0; k <= layer.mlp.size(); ++k) {
      const std::int64_t width = k < layer.mlp.size() ? layer.mlp[k] : w;
      out.add(prefix, fmt::format("mlp.{}.weight", k).c_str(), {width, in});
      out.add(prefix, fmt::format("mlp.{}.bias", k).c_str(), {width});
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
                "[parameters] position={} has a table of rows per position; expected --context",
                position_name(d.position));
  if (d.position == PositionCode::table) out.push_back({"embed.position.table", {d.context, d.width}});
  if (d.position == PositionCode::binary)
    out.push_back({"embed.position.binary", {position_digits(d.context) + 1, d.width}});
  if (d.norm == Norm::rms) out.push_back({"norm.gain", {d.width}});
  out.push_back({"out.table", {d.outputs > 0 ? d.outputs : d.vocabulary, d.width}});
  return out;
}

}  // namespace rung
