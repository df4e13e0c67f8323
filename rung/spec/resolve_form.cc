#include "rung/spec/resolve_form.h"

#include <algorithm>

#include "rung/base/require.h"
#include "rung/spec/mixers.h"

namespace rung {
namespace {

Result<void> divides_form(const char* small_name, std::int64_t small, const char* large_name,
                          std::int64_t large) {
  if (large % small == 0) return {};
  return fail(ErrorCode::range, "{} = {} does not divide {} = {}", small_name, small, large_name, large);
}

Activation activation(const std::string& word) {
  if (word == "silu") return Activation::silu;
  if (word == "relu") return Activation::relu;
  if (word == "elu1") return Activation::elu1;
  if (word == "sigmoid") return Activation::sigmoid;
  RUNG_REQUIRE(word == "none", "activation {}", word);
  return Activation::none;
}
OutputNorm output_norm(const std::string& word) {
  return word == "before" ? OutputNorm::before : word == "after" ? OutputNorm::after : OutputNorm::none;
}
Skip skip_of(const std::string& word) {
  return word == "head" ? Skip::head : word == "channel" ? Skip::channel : Skip::none;
}
void delta_form(const Mixer& given, MixerShape& shape) {
  MixerForm& f = shape.form;
  f.conv_bias = shape.conv > 0 && word_or_default(given, "conv_bias") == "yes";
  f.act = activation(word_or_default(given, "act"));
  f.key_act = activation(word_or_default(given, "qk_act"));
  const std::string norm = word_or_default(given, "qk_norm");
  f.key_norm = norm == "l2" ? KeyNorm::l2 : norm == "sum" ? KeyNorm::sum : KeyNorm::none;
  f.scaled = word_or_default(given, "scale") == "yes";
  f.gate = activation(word_or_default(given, "gate"));
  f.norm = output_norm(word_or_default(given, "norm"));
  if (given.kind == MixerKind::delta) f.beta = word_or_default(given, "beta") == "yes";
  if (given.kind == MixerKind::gdelta) f.step = word_or_default(given, "decay") == "step";
}
Result<void> selective_form(const Mixer& given, const Dimensions& dimensions, MixerShape& shape) {
  MixerForm& f = shape.form;
  f.conv_bias = shape.conv > 0 && word_or_default(given, "conv_bias") == "yes";
  f.act = activation(word_or_default(given, "act"));
  f.gate = activation(word_or_default(given, "gate"));
  f.select_conv = word_or_default(given, "select") == "conv";
  const bool released = is_released(given);
  f.rank = given.number("rank").value_or(released ? (dimensions.width + 15) / 16 : 0);
  const std::string norms = word_or_default(given, "norms");
  f.inner_norms = norms == "after"    ? InnerNorms::after
                  : norms == "before" ? InnerNorms::before
                                      : InnerNorms::none;
  if (f.inner_norms == InnerNorms::before && f.rank == 0)
    return fail(ErrorCode::range, "norms=before is of the bottleneck; expected a rank");
  return {};
}
Result<void> state_space_norm(const Mixer& given, MixerShape& shape) {
  MixerForm& f = shape.form;
  if (f.norm == OutputNorm::none) {
    if (given.number("norm_groups"))
      return fail(ErrorCode::range, "option norm_groups has no meaning without a norm");
    return {};
  }
  f.norm_groups = given.number("norm_groups").value_or(shape.groups);
  return divides_form("norm_groups", f.norm_groups, "heads", shape.heads);
}
Result<void> log_linear_form(const Mixer& given, MixerShape& shape) {
  MixerForm& f = shape.form;
  f.strong = word_or_default(given, "partition") == "strong";
  const bool released = is_released(given), state_space = shape.base == MixerKind::mamba2;
  if (!released) {
    if (f.strong) return fail(ErrorCode::range, "partition=strong is of form=released");
    for (const char* option : {"conv_bias", "skip", "gate", "norm"})
      if (given.word(option))
        return fail(ErrorCode::range, "option {} has no meaning for form=plain", option);
    if (given.number("norm_groups"))
      return fail(ErrorCode::range, "option norm_groups has no meaning for form=plain");
    return {};
  }
  if (shape.base == MixerKind::linear)
    return fail(ErrorCode::range, "form=released has no meaning for base=linear; expected mamba2 or gdelta");
  if (!state_space && given.word("skip"))
    return fail(ErrorCode::range, "option skip has no meaning for base=gdelta");
  f.conv_bias = shape.conv > 0 && word_or_default(given, "conv_bias") == "yes";
  f.act = Activation::silu;
  f.step = true;
  f.gate = activation(word_or_default(given, "gate"));
  f.norm = output_norm(word_or_default(given, "norm"));
  if (state_space) {
    f.skip = skip_of(word_or_default(given, "skip"));
    return state_space_norm(given, shape);
  }
  f.key_act = Activation::silu;
  f.key_norm = KeyNorm::l2;
  if (given.number("norm_groups"))
    return fail(ErrorCode::range, "option norm_groups has no meaning for base=gdelta");
  return {};
}
std::string word_of_index(const Mixer& given) {
  return given.kind == MixerKind::topk ? word_or_default(given, "index_rope") : "none";
}
Result<void> rotary(const Mixer& given, const Dimensions& dimensions, MixerShape& shape) {
  MixerForm& f = shape.form;
  std::string word = word_or_default(given, "rope");
  // A key of one number has nothing to turn.
  if (word == "auto") word = dimensions.position == PositionCode::rope && shape.key_dim > 1 ? "half" : "none";
  f.rope = word == "half" ? Rope::half : word == "interleaved" ? Rope::interleaved : Rope::none;
  const bool turns = f.rope != Rope::none || word_of_index(given) != "none";
  if (!turns && (given.number("theta") || given.number("rope_dim")))
    return fail(ErrorCode::range, "options theta and rope_dim have no meaning without rope");
  if (!turns) return {};
  f.theta = number_or_default(given, "theta");
  f.rope_dim = given.number("rope_dim").value_or(shape.key_dim / 2 * 2);
  if (f.rope_dim % 2 != 0 || f.rope_dim > shape.key_dim || f.rope_dim < 2)
    return fail(ErrorCode::range, "rope_dim = {}; an even number of 2 to dim = {} expected", f.rope_dim,
                shape.key_dim);
  return {};
}
Result<void> sparse_form(const Mixer& given, const Dimensions& dimensions, MixerShape& shape) {
  MixerForm& f = shape.form;
  if (!is_released(given)) {
    for (const char* option : {"span", "stride", "first", "local", "compress", "theta", "rope_dim"})
      if (given.number(option) || given.word(option))
        return fail(ErrorCode::range, "option {} has no meaning for form=plain", option);
    if (word_or_default(given, "rope") == "half" || word_or_default(given, "rope") == "interleaved")
      return fail(ErrorCode::range, "option rope has no meaning for form=plain");
    return {};
  }
  if (shape.token_scores) return fail(ErrorCode::range, "form=released has no meaning for score=tokens");
  if (shape.groups != shape.kv_heads)
    return fail(
        ErrorCode::range,
        "groups = {} in form=released, where the heads of a key head select together; kv = {} expected",
        shape.groups, shape.kv_heads);
  Mixer turned = given;  // released layers turn unless they say otherwise
  if (word_or_default(given, "rope") == "auto") {
    std::erase_if(turned.options, [](const MixerOption& option) { return option.name == "rope"; });
    turned.options.push_back({"rope", std::string("half")});
  }
  RUNG_CHECK(rotary(turned, dimensions, shape));
  const std::string compress = word_or_default(given, "compress");
  f.compress = compress == "mean"       ? Compression::mean
               : compress == "pool"     ? Compression::pool
               : compress == "weighted" ? Compression::weighted
               : compress == "linear"   ? Compression::linear
                                        : Compression::map;
  if (f.compress == Compression::map)
    return fail(ErrorCode::range, "compress=map is of form=plain; expected mean, pool, weighted or linear");
  f.span = given.number("span").value_or(shape.block);
  f.stride = given.number("stride").value_or(f.span);
  RUNG_CHECK(divides_form("stride", f.stride, "span", f.span));
  RUNG_CHECK(divides_form("stride", f.stride, "B", shape.block));
  f.first_blocks = number_or_default(given, "first");
  f.local_blocks = number_or_default(given, "local");
  return {};
}
Result<void> indexed_form(const Mixer& given, const Dimensions& dimensions, MixerShape& shape) {
  MixerForm& f = shape.form;
  shape.signed_weights = word_or_default(given, "weights") == "signed";
  RUNG_CHECK(rotary(given, dimensions, shape));
  const std::string index = word_of_index(given);
  f.index_rope = index == "half" ? Rope::half : index == "interleaved" ? Rope::interleaved : Rope::none;
  if (f.index_rope != Rope::none && f.rope_dim > shape.index_dim)
    return fail(ErrorCode::range, "rope_dim = {} of index keys of {}", f.rope_dim, shape.index_dim);
  f.index_norm = word_or_default(given, "index_norm") == "yes";
  f.q_rank = given.number("q_rank").value_or(0);
  f.kv_rank = given.number("kv_rank").value_or(0);
  if ((f.q_rank > 0) != (f.kv_rank > 0)) return fail(ErrorCode::range, "q_rank and kv_rank come together");
  if (f.kv_rank > 0 && (f.rope == Rope::none || f.rope_dim >= shape.key_dim))
    return fail(ErrorCode::range, "a latent needs rope with rope_dim below dim");
  if (f.kv_rank > 0 && shape.cache == 0) shape.cache = f.kv_rank + f.rope_dim;
  return {};
}

void gated_linear_form(const Mixer& given, MixerShape& shape) {
  MixerForm& f = shape.form;
  f.act = shape.conv > 0 ? Activation::silu : Activation::none;
  f.scaled = true;
  f.norm = OutputNorm::before;
  f.gate = activation(word_or_default(given, "gate"));
  f.rank = number_or_default(given, "rank");
  f.conv_bias = shape.conv > 0 && word_or_default(given, "conv_bias") == "yes";
}
void channel_delta_form(const Mixer& given, MixerShape& shape) {
  MixerForm& f = shape.form;
  f.act = f.key_act = Activation::silu;
  f.key_norm = KeyNorm::l2;
  f.scaled = f.step = true;
  f.bounded = word_or_default(given, "decay") == "bounded";
  f.gate = Activation::sigmoid;
  f.norm = OutputNorm::before;
  f.rank = given.number("rank").value_or(shape.value_dim);
  f.conv_bias = shape.conv > 0 && word_or_default(given, "conv_bias") == "yes";
}
Result<void> time_mixing_form(const Mixer& given, const Dimensions& dimensions, MixerShape& shape) {
  MixerForm& f = shape.form;
  shape.conv = 2;  // the input row before
  shape.conv_channels = dimensions.width;
  f.rank = number_or_default(given, "rank_w");
  f.rank_a = number_or_default(given, "rank_a");
  f.rank_g = number_or_default(given, "rank_g");
  f.first_values = word_or_default(given, "values") == "first";
  if (given.number("rank_v") && !f.first_values)
    return fail(ErrorCode::range, "option rank_v has no meaning for values=own");
  if (f.first_values) f.rank_v = number_or_default(given, "rank_v");
  f.key_norm = word_or_default(given, "key_norm") == "l2" ? KeyNorm::l2 : KeyNorm::unit;
  return {};
}
Result<void> state_space_form(const Mixer& given, MixerShape& shape) {
  MixerForm& f = shape.form;
  f.conv_bias = shape.conv > 0 && word_or_default(given, "conv_bias") == "yes";
  f.act = activation(word_or_default(given, "act"));
  f.step = word_or_default(given, "decay") == "step";
  f.skip = skip_of(word_or_default(given, "skip"));
  f.gate = activation(word_or_default(given, "gate"));
  f.norm = output_norm(word_or_default(given, "norm"));
  return state_space_norm(given, shape);
}

}  // namespace

Result<void> resolve_form(const Mixer& given, const Dimensions& dimensions, MixerShape& shape) {
  using enum MixerKind;
  switch (given.kind) {
    case full:
      return rotary(given, dimensions, shape);
    case mamba:
      return selective_form(given, dimensions, shape);
    case mamba2:
      return state_space_form(given, shape);
    case delta:
    case gdelta:
      delta_form(given, shape);
      if (shape.steps > 1 && !shape.form.plain())
        return fail(ErrorCode::unsupported, "steps above 1 are of form=plain");
      return {};
    case gla:
      gated_linear_form(given, shape);
      return {};
    case kda:
      channel_delta_form(given, shape);
      return {};
    case rwkv7:
      return time_mixing_form(given, dimensions, shape);
    case loglinear:
      return log_linear_form(given, shape);
    case sparse:
      return sparse_form(given, dimensions, shape);
    case topk:
      return indexed_form(given, dimensions, shape);
    case linear:
    case rnn:
    case gru:
    case heads:
    case conv:
    case identity:
    case none:
    case recurrent:
    case compressed:
      return {};
  }
  return {};
}

}  // namespace rung
