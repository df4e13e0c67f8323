#include <cmath>

#include "rung/learn/mixers/mixers.h"
#include "rung/spec/mixers.h"

namespace rung::learn {
namespace {

// Of the released form where the shape has one; full turns in both.
MixerMaker* maker_of(const MixerShape& shape) {
  const bool plain = shape.form.plain();
  switch (shape.kind) {
    case MixerKind::full:
      return &softmax_mixer;
    case MixerKind::topk:
      return plain ? &softmax_mixer : &released_topk_mixer;
    case MixerKind::sparse:
      return plain ? &sparse_mixer : &released_sparse_mixer;
    case MixerKind::linear:
      return &linear_mixer;
    case MixerKind::mamba:
      return plain ? &mamba_mixer : &released_mamba_mixer;
    case MixerKind::mamba2:
      return plain ? &mamba2_mixer : &released_matrix_mixer;
    case MixerKind::delta:
    case MixerKind::gdelta:
      return plain ? &delta_mixer : &released_matrix_mixer;
    case MixerKind::gla:
    case MixerKind::kda:
      return &released_matrix_mixer;
    case MixerKind::rwkv7:
      return &time_mixing_mixer;
    case MixerKind::loglinear:
      return plain ? &log_linear_mixer : &released_matrix_mixer;
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
  if (shape.accumulator != Accumulator::exact)
    return fail(
        ErrorCode::unsupported,
        "[train] acc of {} says how integer sums are kept; a model of real numbers chooses that when it is "
        "quantised",
        mixer_descriptor(shape.kind).name);
  for (const MixerShape& part : shape.parts)
    if (auto checked = learnable(part); !checked) return checked;
  return {};
}

std::unique_ptr<LearnedMixer> make_mixer(const MixerShape& shape, const MixerPlace& place,
                                         ParameterLayout& layout) {
  MixerMaker* make = maker_of(shape);
  RUNG_REQUIRE(make, "mixer {}", mixer_descriptor(shape.kind).name);
  return make(shape, place, layout);
}

double MixerPlace::scalar(const std::string& name, double otherwise) const {
  const auto found = scalars.find(prefix + name);
  return found == scalars.end() ? otherwise : found->second;
}

double fan_in_deviation(std::int64_t inputs) { return 1 / std::sqrt(static_cast<double>(inputs)); }

torch::Tensor spread_heads(const torch::Tensor& x, std::int64_t heads) {
  const std::int64_t given = x.size(-2);
  return given == heads ? x : x.repeat_interleave(heads / given, -2);
}

}  // namespace rung::learn
