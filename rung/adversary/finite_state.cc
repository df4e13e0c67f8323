#include "rung/adversary/finite_state.h"

#include <fmt/format.h>

#include "rung/base/plural.h"

namespace rung {
namespace {

// Why this mixer's memory grows with the prompt; nothing where it does not.
std::optional<std::string> why_mixer_grows(const MixerShape& mixer, Accumulator accumulator, bool floats) {
  using enum MixerKind;
  switch (mixer.kind) {
    case full:
      if (mixer.window || mixer.chunk) return std::nullopt;
      return "full, which keeps every token";
    case topk:
      return "topk, which keeps every token";
    case sparse:
      return "sparse, which keeps every token";
    case loglinear:
      return "loglinear, whose levels grow with the prompt";
    case linear:
      if (floats || accumulator != Accumulator::exact) return std::nullopt;
      return "linear with the accumulator exact, whose sums grow with the prompt";
    case heads:
      for (const auto& part : mixer.parts)
        if (auto reason = why_mixer_grows(part, accumulator, floats)) return reason;
      return std::nullopt;
    case gla:
    case kda:
    case rwkv7:
      if (floats) return std::nullopt;
      return fmt::format("{}, which runs in floats alone", form_name(mixer));
    case recurrent:
    case compressed:
      return fmt::format("{}, which is counted and not evaluated", opaque_name(mixer));
    case rnn:
    case gru:
    case mamba:
    case mamba2:
    case delta:
    case gdelta:
    case conv:
    case identity:
    case none:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> why_not_finite(const Weights& weights, const std::vector<LayerShape>& layers,
                                          bool floats) {
  const Dimensions& dimensions = weights.architecture.dimensions;
  if (weights.mode == WeightMode::real && !floats)
    return "its weights are floats (rung quantise gives it integers)";
  if (!dimensions.causal) return "it is an encoder, which has no state";
  if (dimensions.position != PositionCode::none)
    return fmt::format("it has a position code ({})", position_name(dimensions.position));
  if (dimensions.context > 0)
    return fmt::format("the file has a context of {}", counted(dimensions.context, "token"));
  if (weights.decode.steps > 0) return "it answers by a chain of thought";
  for (std::size_t i = 0; i < layers.size(); ++i)
    if (const auto reason = why_mixer_grows(layers[i].mixer, weights.accumulator, floats))
      return fmt::format("layer {} is {}", i, *reason);
  return std::nullopt;
}

}  // namespace rung
