#include <cmath>

#include "rung/learn/mixers/mixers.h"

namespace rung::learn {
namespace {

struct Line {
  MixerKind kind;
  MixerMaker* make;
};

constexpr Line kMixers[] = {
    {MixerKind::full, &softmax_mixer},
    {MixerKind::topk, &softmax_mixer},
    {MixerKind::sparse, &sparse_mixer},
    {MixerKind::linear, &linear_mixer},
    {MixerKind::mamba, &mamba_mixer},
    {MixerKind::mamba2, &mamba2_mixer},
    {MixerKind::delta, &delta_mixer},
    {MixerKind::gdelta, &delta_mixer},
    {MixerKind::loglinear, &log_linear_mixer},
    {MixerKind::rnn, &cell_mixer},
    {MixerKind::gru, &cell_mixer},
    {MixerKind::conv, &convolution_mixer},
    {MixerKind::identity, &identity_mixer},
    {MixerKind::heads, &heads_mixer},
};

const Line* find(MixerKind kind) {
  for (const Line& line : kMixers)
    if (line.kind == kind) return &line;
  return nullptr;
}

}  // namespace

Result<void> learnable(const MixerShape& shape) {
  if (shape.kind == MixerKind::none) return {};
  if (shape.opaque() && shape.parts.empty())
    return fail(ErrorCode::unsupported, "[train] {} is counted, not evaluated: it cannot be trained",
                opaque_name(shape));
  for (const MixerShape& part : shape.parts)
    if (auto checked = learnable(part); !checked) return checked;
  return {};
}

std::unique_ptr<LearnedMixer> make_mixer(const MixerShape& shape, const MixerPlace& place,
                                         ParameterLayout& layout) {
  const Line* line = find(shape.kind);
  RUNG_REQUIRE(line, "mixer {}", mixer_word(shape.kind).name);
  return line->make(shape, place, layout);
}

double fan_in_deviation(std::int64_t inputs) { return 1 / std::sqrt(static_cast<double>(inputs)); }

torch::Tensor spread_heads(const torch::Tensor& x, std::int64_t heads) {
  const std::int64_t given = x.size(-2);
  return given == heads ? x : x.repeat_interleave(heads / given, -2);
}

}  // namespace rung::learn
