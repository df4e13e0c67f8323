#include <cmath>

#include "rung/learn/mixers/mixers.h"
#include "rung/spec/mixers.h"

namespace rung::learn {
namespace {

MixerMaker* maker_of(MixerKind kind) {
  switch (kind) {
    case MixerKind::full:
    case MixerKind::topk:
      return &softmax_mixer;
    case MixerKind::sparse:
      return &sparse_mixer;
    case MixerKind::linear:
      return &linear_mixer;
    case MixerKind::mamba:
      return &mamba_mixer;
    case MixerKind::mamba2:
      return &mamba2_mixer;
    case MixerKind::delta:
    case MixerKind::gdelta:
      return &delta_mixer;
    case MixerKind::loglinear:
      return &log_linear_mixer;
    case MixerKind::rnn:
    case MixerKind::gru:
      return &cell_mixer;
    case MixerKind::conv:
      return &convolution_mixer;
    case MixerKind::identity:
      return &identity_mixer;
    case MixerKind::heads:
      return &heads_mixer;
    case MixerKind::none:
    case MixerKind::gla:
    case MixerKind::kda:
    case MixerKind::rwkv7:
    case MixerKind::recurrent:
    case MixerKind::compressed:
      return nullptr;
  }
  return nullptr;
}

}  // namespace

Result<void> learnable(const MixerShape& shape) {
  if (shape.kind == MixerKind::none) return {};
  if (shape.opaque() && shape.parts.empty())
    return fail(ErrorCode::unsupported, "[train] {} is counted, not evaluated: it cannot be trained",
                opaque_name(shape));
  if (!shape.form.plain() && shape.parts.empty())
    return fail(ErrorCode::unsupported, "[train] {} has no learned form", form_name(shape));
  for (const MixerShape& part : shape.parts)
    if (auto checked = learnable(part); !checked) return checked;
  return {};
}

std::unique_ptr<LearnedMixer> make_mixer(const MixerShape& shape, const MixerPlace& place,
                                         ParameterLayout& layout) {
  MixerMaker* make = maker_of(shape.kind);
  RUNG_REQUIRE(make, "mixer {}", mixer_descriptor(shape.kind).name);
  return make(shape, place, layout);
}

double fan_in_deviation(std::int64_t inputs) { return 1 / std::sqrt(static_cast<double>(inputs)); }

torch::Tensor spread_heads(const torch::Tensor& x, std::int64_t heads) {
  const std::int64_t given = x.size(-2);
  return given == heads ? x : x.repeat_interleave(heads / given, -2);
}

}  // namespace rung::learn
