#include "rung/spec/parameters.h"

#include <algorithm>
#include <bit>

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
                    "[parameters] loglinear has one weight per level and head; expected --context");
      add(prefix + "level.weight", {m.heads * m.levels, w});
    }
    return {};
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
