#include "rung/spec/quantisable.h"

namespace rung {
namespace {

Result<void> check_mixer(const MixerShape& mixer, const std::string& where) {
  if (mixer.opaque() && mixer.parts.empty())
    return fail(ErrorCode::unsupported,
                "[quantise] {} is {}, which is counted and bounded but has no integer form", where,
                opaque_name(mixer));
  if (!has_integer_form(mixer) && mixer.parts.empty())
    return fail(ErrorCode::unsupported, "[quantise] {} is {}, which has no integer form{}", where,
                form_name(mixer), plain_form_hint(mixer));
  if (mixer.kind == MixerKind::loglinear && mixer.levels < 1)
    return fail(ErrorCode::missing,
                "[quantise] {} is loglinear, which has one weight per level; expected a context", where);
  if (mixer.accumulator != Accumulator::exact)
    return fail(
        ErrorCode::unsupported,
        "[quantise] {} says how integer sums are kept (acc); a model of real numbers chooses that when "
        "it is quantised",
        where);
  for (std::size_t j = 0; j < mixer.parts.size(); ++j)
    RUNG_CHECK(check_mixer(mixer.parts[j], fmt::format("{}.part.{}", where, j)));
  return {};
}

}  // namespace

Result<void> quantisable(const Architecture& architecture) {
  const auto& dimensions = architecture.dimensions;
  if (dimensions.position == PositionCode::rope)
    return fail(ErrorCode::unsupported,
                "[quantise] position rope (rotations by angles) has no integer form; expected position "
                "table, binary or none");
  RUNG_TRY(const auto layers, resolve(architecture));
  for (std::size_t i = 0; i < layers.size(); ++i)
    RUNG_CHECK(check_mixer(layers[i].mixer, fmt::format("layers.{}", i)));
  if (dimensions.position != PositionCode::none && dimensions.context < 1)
    return fail(ErrorCode::missing, "[quantise] position {} has one row per position; expected a context",
                position_name(dimensions.position));
  return {};
}

}  // namespace rung
