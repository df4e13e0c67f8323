// The tensor names of released recurrences (docs/parity.md). Conventions that weights absorb: a = -exp(A_log); taps
// newest first; rows of joint projections cut apart; log-linear level maps multiplied by L.
#include <cmath>

#include "rung/released/families.h"
#include "rung/released/layer_tensors.h"

namespace rung {
namespace {

Tensor negative_exponential(const Tensor& logarithm) {
  return mapped(logarithm, [](double x) { return -std::exp(x); });
}

// The sizes of a delta-rule layer.
struct DeltaSizes {
  std::int64_t width = 0, heads = 0, keys = 0, dim = 0, vdim = 0, taps = 0;
  std::string text() const {
    return fmt::format("heads={},kv={},dim={},vdim={},conv={}", heads, keys, dim, vdim, taps);
  }
};

// Tensors [channels][1][W] and their biases, one below the other.
void put_taps(LayerTensors& in, const std::vector<std::pair<std::string, std::int64_t>>& parts,
              std::int64_t taps, bool& bias) {
  std::vector<Tensor> weights, biases;
  for (const auto& [name, channels] : parts) {
    weights.push_back(flipped_taps(in.take(name + ".weight", {channels, 1, taps})));
    if (in.has(name + ".bias")) biases.push_back(in.take(name + ".bias", {channels}));
  }
  if (in.error()) return;
  bias = !biases.empty();
  in.put("conv.weight", joined_rows(weights));
  if (bias && biases.size() != parts.size())
    in.refuse(fail(ErrorCode::format, "[import] \"{}\": some convolutions have a bias and some do not",
                   in.prefix()));
  else if (bias)
    in.put("conv.bias", joined_rows(biases));
}

// q, k, v with their convolutions, as fla's delta rules have them. Returns the options of what was found.
std::string put_qkv(LayerTensors& in, const DeltaSizes& s) {
  in.move("q_proj", "q", s.keys * s.dim, s.width);
  in.move("k_proj", "k", s.keys * s.dim, s.width);
  in.move("v_proj", "v", s.heads * s.vdim, s.width);
  bool bias = false;
  if (s.taps > 0)
    put_taps(in, {{"q_conv1d", s.keys * s.dim}, {"k_conv1d", s.keys * s.dim}, {"v_conv1d", s.heads * s.vdim}},
             s.taps, bias);
  return bias ? ",conv_bias=yes" : ",conv_bias=no";
}

void put_norm(LayerTensors& in, const std::string& name, std::int64_t size, double epsilon) {
  in.put("ynorm.gain", in.take(name + ".weight", {size}));
  in.put_real("ynorm.epsilon", epsilon);
}

// fla's sizes: num_heads key heads, num_v_heads value heads, head_dim, expand_v.
DeltaSizes fla_sizes(LayerTensors& in, double expand_default, std::int64_t head_dim_default) {
  DeltaSizes s;
  s.width = in.size("hidden_size");
  s.keys = in.size("num_heads");
  s.heads = in.size("num_v_heads", s.keys);
  s.dim = in.size("head_dim", head_dim_default);
  s.vdim = static_cast<std::int64_t>(static_cast<double>(s.dim) * in.number("expand_v", expand_default));
  s.taps = in.flag("use_short_conv", true) ? in.size("conv_size", 4) : 0;
  if (s.heads % s.keys != 0)
    in.refuse(fail(ErrorCode::range, "[import] config.json: num_heads = {} does not divide num_v_heads = {}",
                   s.keys, s.heads));
  return s;
}

void put_step_decay(LayerTensors& in, const char* to, const std::string& map, std::int64_t heads,
                    std::int64_t width) {
  in.put(std::string(to) + ".weight", in.take(map, {heads, width}));
  in.put(std::string(to) + ".bias", in.take("dt_bias", {heads}));
  in.put("a.weight", negative_exponential(in.take("A_log", {heads})));
}

std::string put_gate(LayerTensors& in, const DeltaSizes& s, bool gated) {
  if (gated) in.move("g_proj", "z", s.heads * s.vdim, s.width);
  in.move("o_proj", "o", s.width, s.heads * s.vdim);
  return gated ? "gate=silu" : "gate=none";
}

std::string import_delta_net(LayerTensors& in) {
  DeltaSizes s;
  s.width = in.size("hidden_size");
  s.heads = s.keys = in.size("num_heads");
  s.dim = static_cast<std::int64_t>(static_cast<double>(s.width) * in.number("expand_k", 1)) / s.heads;
  s.vdim = static_cast<std::int64_t>(static_cast<double>(s.width) * in.number("expand_v", 1)) / s.heads;
  s.taps = in.flag("use_short_conv", true) ? in.size("conv_size", 4) : 0;
  const bool beta = in.flag("use_beta", true);
  const std::string act = in.word("qk_activation", "silu"), norm = in.word("qk_norm", "l2");
  std::string options = put_qkv(in, s);
  if (beta) in.move("b_proj", "beta", s.heads, s.width);
  put_norm(in, "o_norm", s.vdim, in.number("norm_eps", 1e-6));
  options += "," + put_gate(in, s, in.flag("use_gate", false));
  return fmt::format("delta(form=released,{},range={},beta={},qk_act={},qk_norm={}{})", s.text(),
                     in.flag("allow_neg_eigval", false) ? 2 : 1, beta ? "yes" : "no", activation_word(act),
                     norm, options);
}

std::string import_gated_delta_net(LayerTensors& in) {
  const DeltaSizes s = fla_sizes(in, 2, 256);
  std::string options = put_qkv(in, s);
  in.move("b_proj", "beta", s.heads, s.width);
  put_step_decay(in, "gate", "a_proj.weight", s.heads, s.width);
  put_norm(in, "o_norm", s.vdim, in.number("norm_eps", 1e-6));
  options += "," + put_gate(in, s, in.flag("use_gate", true));
  return fmt::format("gdelta(form=released,{},range={}{})", s.text(),
                     in.flag("allow_neg_eigval", false) ? 2 : 1, options);
}

// Log-linear level maps: row (head, level) times L[head][level]; a level that no token of the context reaches is
// zero. Levels 0 .. n-1 serve 2^(n-1) tokens.
void put_levels(LayerTensors& in, const Tensor& map, std::int64_t heads, std::int64_t levels,
                std::int64_t width) {
  const auto rows = reals_of(map), scale = reals_of(in.take("L", {heads, levels}));
  if (in.error()) return;
  in.weights().architecture.dimensions.context = std::int64_t{1} << (levels - 1);
  const std::int64_t all = loglinear_levels(std::int64_t{1} << (levels - 1));
  std::vector<double> out(static_cast<std::size_t>(heads * all * width), 0.0);
  for (std::int64_t h = 0; h < heads; ++h)
    for (std::int64_t l = 0; l < levels; ++l)
      for (std::int64_t c = 0; c < width; ++c)
        out[static_cast<std::size_t>((h * all + l) * width + c)] =
            rows[static_cast<std::size_t>((h * levels + l) * width + c)] *
            scale[static_cast<std::size_t>(h * levels + l)];
  in.put("level.weight", real_tensor({heads * all, width}, out, DType::f64));
}

constexpr std::int64_t kMostLevels = 40;
std::int64_t level_count(LayerTensors& in, std::int64_t rows, std::int64_t heads) {
  if (rows % heads != 0 || rows / heads < 1 || rows / heads > kMostLevels) {
    in.refuse(fail(ErrorCode::format, "[import] \"{}\": {} rows of level weights for {} heads", in.prefix(),
                   rows, heads));
    return 1;
  }
  return rows / heads;
}

std::string import_log_linear_delta(LayerTensors& in) {
  const DeltaSizes s = fla_sizes(in, 2, 256);
  std::string options = put_qkv(in, s);
  in.move("b_proj", "beta", s.heads, s.width);
  put_step_decay(in, "gate", "a_proj.weight", s.heads, s.width);
  const std::int64_t levels = level_count(in, in.rows("l_proj.weight"), s.heads);
  put_levels(in, in.take("l_proj.weight", {s.heads * levels, s.width}), s.heads, levels, s.width);
  put_norm(in, "o_norm", s.vdim, in.number("norm_eps", 1e-6));
  options += "," + put_gate(in, s, in.flag("use_gate", true));
  return fmt::format("loglinear(base=gdelta,form=released,{}{})", s.text(), options);
}

// Qwen3-Next's rows are grouped by key head: [q K | k K | v rV | z rV] and [b r | a r].
DeltaSizes qwen_sizes(LayerTensors& in) {
  DeltaSizes s;
  s.width = in.size("hidden_size");
  s.keys = in.size("linear_num_key_heads");
  s.heads = in.size("linear_num_value_heads");
  s.dim = in.size("linear_key_head_dim");
  s.vdim = in.size("linear_value_head_dim");
  s.taps = in.size("linear_conv_kernel_dim");
  if (s.heads % s.keys != 0)
    in.refuse(fail(ErrorCode::range, "[import] config.json: {} key heads do not divide {} value heads",
                   s.keys, s.heads));
  return s;
}
std::string finish_qwen(LayerTensors& in, const DeltaSizes& s) {
  bool bias = false;
  put_taps(in, {{"conv1d", 2 * s.keys * s.dim + s.heads * s.vdim}}, s.taps, bias);
  in.put("gate.bias", in.take("dt_bias", {s.heads}));
  in.put("a.weight", negative_exponential(in.take("A_log", {s.heads})));
  put_norm(in, "norm", s.vdim, in.number("rms_norm_eps", 1e-6));
  in.move("out_proj", "o", s.width, s.heads * s.vdim);
  return fmt::format("gdelta(form=released,{}{})", s.text(), bias ? ",conv_bias=yes" : ",conv_bias=no");
}
std::string import_qwen3_next(LayerTensors& in) {
  const DeltaSizes s = qwen_sizes(in);
  const std::int64_t r = std::max<std::int64_t>(s.heads / s.keys, 1), group = 2 * s.dim + 2 * r * s.vdim;
  const Tensor qkvz = in.take("in_proj_qkvz.weight", {s.keys * group, s.width});
  const Tensor ba = in.take("in_proj_ba.weight", {2 * s.heads, s.width});
  if (in.error()) return "";
  const auto cut = [&](const Tensor& from, std::int64_t stride, std::int64_t first, std::int64_t count) {
    std::vector<std::int64_t> rows;
    for (std::int64_t h = 0; h < s.keys; ++h)
      for (std::int64_t i = 0; i < count; ++i) rows.push_back(h * stride + first + i);
    return gathered_rows(from, rows);
  };
  in.put("q.weight", cut(qkvz, group, 0, s.dim));
  in.put("k.weight", cut(qkvz, group, s.dim, s.dim));
  in.put("v.weight", cut(qkvz, group, 2 * s.dim, r * s.vdim));
  in.put("z.weight", cut(qkvz, group, 2 * s.dim + r * s.vdim, r * s.vdim));
  in.put("beta.weight", cut(ba, 2 * r, 0, r));
  in.put("gate.weight", cut(ba, 2 * r, r, r));
  return finish_qwen(in, s);
}
std::string import_qwen3_5(LayerTensors& in) {
  const DeltaSizes s = qwen_sizes(in);
  const std::int64_t keys = s.keys * s.dim, values = s.heads * s.vdim;
  const Tensor qkv = in.take("in_proj_qkv.weight", {2 * keys + values, s.width});
  if (in.error()) return "";
  in.put("q.weight", rows_of(qkv, 0, keys));
  in.put("k.weight", rows_of(qkv, keys, 2 * keys));
  in.put("v.weight", rows_of(qkv, 2 * keys, 2 * keys + values));
  in.move("in_proj_z", "z", values, s.width);
  in.move("in_proj_b", "beta", s.heads, s.width);
  in.put("gate.weight", in.take("in_proj_a.weight", {s.heads, s.width}));
  return finish_qwen(in, s);
}

std::string import_gla(LayerTensors& in) {
  DeltaSizes s;
  s.width = in.size("hidden_size");
  s.heads = in.size("num_heads");
  s.keys = in.size("num_kv_heads", s.heads);
  s.dim = static_cast<std::int64_t>(static_cast<double>(s.width) * in.number("expand_k", 0.5)) / s.heads;
  s.vdim = static_cast<std::int64_t>(static_cast<double>(s.width) * in.number("expand_v", 1)) / s.heads;
  s.taps = in.flag("use_short_conv", false) ? in.size("conv_size", 4) : 0;
  const std::int64_t rank = in.rows("gk_proj.0.weight");
  if (s.heads % s.keys != 0)
    in.refuse(fail(ErrorCode::range, "[import] config.json: num_kv_heads = {} does not divide num_heads = {}",
                   s.keys, s.heads));
  in.expect("feature_map", nullptr);
  in.expect("use_gk", true);
  in.expect("use_gv", false);
  in.expect("elementwise_affine", true);
  in.move("q_proj", "q", s.heads * s.dim, s.width);
  in.move("k_proj", "k", s.keys * s.dim, s.width);
  in.move("v_proj", "v", s.keys * s.vdim, s.width);
  bool bias = false;
  if (s.taps > 0)
    put_taps(in, {{"q_conv1d", s.heads * s.dim}, {"k_conv1d", s.keys * s.dim}, {"v_conv1d", s.keys * s.vdim}},
             s.taps, bias);
  in.put("gate_low.weight", in.take("gk_proj.0.weight", {rank, s.width}));
  in.move("gk_proj.1", "gate", s.keys * s.dim, rank);
  in.put_real("gate.divisor", in.number("gate_logit_normalizer", 16));
  if (in.has_field("clamp_min")) in.put_real("gate.floor", in.number("clamp_min", 0));
  const bool gated = in.flag("use_output_gate", true);
  const double epsilon = in.number("norm_eps", 1e-6);
  put_norm(in, in.has("g_norm_swish_gate.weight") ? "g_norm_swish_gate" : "g_norm", s.vdim, epsilon);
  const std::string gate = put_gate(in, s, gated);
  return fmt::format("gla({},rank={},{}{})", s.text(), rank, gate, bias ? ",conv_bias=yes" : ",conv_bias=no");
}

// fla's names, or those of Kimi-Linear checkpoints (f_a_proj, g_b_proj, ...), whose g_b_proj has no bias.
std::string put_kda(LayerTensors& in, const DeltaSizes& s) {
  const bool kimi = in.has("f_a_proj.weight");
  const std::string f0 = kimi ? "f_a_proj" : "f_proj.0", f1 = kimi ? "f_b_proj" : "f_proj.1",
                    g0 = kimi ? "g_a_proj" : "g_proj.0", g1 = kimi ? "g_b_proj" : "g_proj.1";
  std::string options = put_qkv(in, s);
  const std::int64_t rank = in.rows(f0 + ".weight"), gate_rank = in.rows(g0 + ".weight");
  if (rank != gate_rank)
    in.refuse(fail(ErrorCode::unsupported,
                   "[import] \"{}\": {} has {} rows and {} has {}; equal ones expected", in.prefix(), f0,
                   rank, g0, gate_rank));
  in.move("b_proj", "beta", s.heads, s.width);
  in.put("gate_low.weight", in.take(f0 + ".weight", {rank, s.width}));
  in.put("gate.weight", in.take(f1 + ".weight", {s.heads * s.dim, rank}));
  in.put("gate.bias", in.take("dt_bias", {s.heads * s.dim}));
  const bool flat = !in.has("A_log") || in.rows("A_log") == s.heads;
  in.put("a.weight",
         reshaped(negative_exponential(in.take("A_log", flat ? std::vector<std::int64_t>{s.heads}
                                                             : std::vector<std::int64_t>{1, 1, s.heads, 1})),
                  {in.error() ? 1 : s.heads}));
  in.put("z_low.weight", in.take(g0 + ".weight", {rank, s.width}));
  in.move(g1, "z", s.heads * s.vdim, rank);
  in.move("o_proj", "o", s.width, s.heads * s.vdim);
  const bool bounded = in.has_field("lower_bound");
  if (bounded) in.put_real("gate.bound", in.number("lower_bound", -5));
  return fmt::format("kda({},rank={},range={}{}{})", s.text(), rank,
                     in.flag("allow_neg_eigval", false) ? 2 : 1, bounded ? ",decay=bounded" : "", options);
}
std::string import_kda(LayerTensors& in) {
  const DeltaSizes s = fla_sizes(in, 1, 128);
  put_norm(in, "o_norm", s.vdim, in.number("norm_eps", 1e-6));
  return put_kda(in, s);
}
std::string import_kimi_linear(LayerTensors& in) {
  DeltaSizes s;
  s.width = in.size("hidden_size");
  const auto inner = in.config().find("linear_attn_config");
  if (inner == in.config().end() || !inner->is_object()) {
    in.refuse(fail(ErrorCode::missing, "[import] config.json has no \"linear_attn_config\""));
    return "";
  }
  const auto field = [&](const char* name) -> std::int64_t {
    const auto value = inner->find(name);
    if (value != inner->end() && value->is_number_integer() && *value >= 1 && *value <= kMaxSize)
      return value->get<std::int64_t>();
    in.refuse(fail(ErrorCode::missing, "[import] config.json: linear_attn_config has no size \"{}\"", name));
    return 1;
  };
  s.keys = s.heads = field("num_heads");
  s.dim = s.vdim = field("head_dim");
  s.taps = field("short_conv_kernel_size");
  if (!in.has("f_a_proj.weight") && !in.has("f_proj.0.weight")) {
    in.refuse(fail(ErrorCode::unsupported,
                   "[import] layer {} of this model is no KDA layer (no tensor \"{}f_a_proj.weight\")",
                   in.layer(), in.prefix()));
    return "";
  }
  put_norm(in, "o_norm", s.vdim, in.number("rms_norm_eps", 1e-5));
  return put_kda(in, s);
}

// fla's names; checkpoints of the RWKV project have others, which are not mapped.
std::string import_rwkv7(LayerTensors& in) {
  const std::int64_t width = in.size("hidden_size");
  const std::int64_t dim = in.has_field("num_heads") && !in.has_field("head_dim")
                               ? width / in.size("num_heads")
                               : in.size("head_dim", 64);
  const std::int64_t heads = std::max<std::int64_t>(width / dim, 1), values = in.rows("v_proj.weight");
  if (width % dim != 0 || values % heads != 0)
    in.refuse(fail(ErrorCode::range, "[import] config.json: heads of {} do not divide {}", dim, width));
  for (const char* name : {"r", "w", "k", "v", "a", "g"}) {
    const std::string from = std::string("x_") + name;
    const bool flat = !in.has(from) || in.rows(from) == width;
    in.put(std::string("shift.") + name,
           reshaped(in.take(from,
                            flat ? std::vector<std::int64_t>{width} : std::vector<std::int64_t>{1, 1, width}),
                    {in.error() ? 1 : width}));
    if (in.error()) return "";
  }
  in.move("r_proj", "r", width, width);
  in.move("k_proj", "k", width, width);
  in.move("v_proj", "v", values, width);
  in.move("o_proj", "o", width, values);
  const auto low_rank = [&](const char* name, const char* to, std::int64_t rows) {
    const std::string from = std::string(name) + "_lora.lora.";
    const std::int64_t rank = in.rows(from + "0.weight");
    in.put(std::string(to) + "_low.weight", in.take(from + "0.weight", {rank, width}));
    in.move(from + "2", to, rows, rank);
    return rank;
  };
  const std::int64_t w = low_rank("w", "w", width), a = low_rank("a", "a", width),
                     g = low_rank("g", "g", values);
  const bool first = !in.has("v_lora.lora.0.weight");
  const std::int64_t v = first ? 0 : low_rank("v", "mix", values);
  in.put("key_scale.weight", in.take("k_k", {width}));
  in.put("key_mix.weight", in.take("k_a", {width}));
  in.put("bonus.weight", in.take("r_k", {heads, dim}));
  in.put("ynorm.gain", in.take("g_norm.weight", {values}));
  in.put("ynorm.bias", in.take("g_norm.bias", {values}));
  in.put_real("ynorm.epsilon", static_cast<double>(dim) * in.number("norm_eps", 1e-5));
  return fmt::format("rwkv7(heads={},dim={},vdim={},rank_w={},rank_a={},rank_g={}{}{})", heads, dim,
                     values / heads, w, a, g, first ? "" : fmt::format(",values=first,rank_v={}", v),
                     in.flag("fuse_norm", true) ? "" : ",key_norm=unit");
}

std::string put_mamba(LayerTensors& in, const std::string& norms) {
  const std::int64_t width = in.size("hidden_size"), inner = in.rows("D"), taps = in.size("conv_kernel", 4);
  const std::int64_t state = in.size("state_size", 16), rank = in.rows("x_proj.weight") - 2 * state;
  if (rank < 1)
    in.refuse(fail(ErrorCode::format,
                   "[import] \"{}x_proj.weight\" has {} rows; more than twice state_size = {} expected",
                   in.prefix(), rank + 2 * state, state));
  in.expect("hidden_act", "silu");
  const Tensor both = in.take("in_proj.weight", {2 * inner, width}),
               select = in.take("x_proj.weight", {rank + 2 * state, inner});
  bool bias = false;
  put_taps(in, {{"conv1d", inner}}, taps, bias);
  if (in.error()) return "";
  in.put("x.weight", rows_of(both, 0, inner));
  in.put("z.weight", rows_of(both, inner, 2 * inner));
  if (in.has("in_proj.bias")) {
    const Tensor offset = in.take("in_proj.bias", {2 * inner});
    if (in.error()) return "";
    in.put("x.bias", rows_of(offset, 0, inner));
    in.put("z.bias", rows_of(offset, inner, 2 * inner));
  }
  in.put("delta_low.weight", rows_of(select, 0, rank));
  in.put("b.weight", rows_of(select, rank, rank + state));
  in.put("c.weight", rows_of(select, rank + state, rank + 2 * state));
  in.put("delta.weight", in.take("dt_proj.weight", {inner, rank}));
  in.put(norms.empty() ? "delta.bias" : "delta.offset", in.take("dt_proj.bias", {inner}));
  if (!norms.empty()) in.put_real("select.epsilon", in.number("mixer_rms_eps", 1e-6));
  in.put("a.weight", negative_exponential(in.take("A_log", {inner, state})));
  in.put("skip.weight", in.take("D", {inner}));
  in.move("out_proj", "o", width, inner);
  return fmt::format("mamba(form=released,inner={},state={},conv={},rank={}{}{})", inner, state, taps, rank,
                     bias ? ",conv_bias=yes" : ",conv_bias=no", norms);
}
std::string import_mamba(LayerTensors& in) { return put_mamba(in, ""); }
std::string import_falcon_mamba(LayerTensors& in) { return put_mamba(in, ",norms=after"); }

// Mamba-2 and log-linear attention over it: rows z, x, B, C, dt (, dl). `per_group`: whether the output norm takes
// each of the groups by itself.
std::string put_mamba2(LayerTensors& in, const std::string& word, bool per_group, bool levels) {
  const std::int64_t width = in.size("hidden_size"), heads = in.rows("A_log");
  const std::int64_t inner = in.rows("norm.weight"), groups = in.size("n_groups", 1);
  const std::int64_t taps = in.size("conv_kernel", 4), channels = in.rows("conv1d.weight");
  if (inner % heads != 0 || (channels - inner) % (2 * groups) != 0 || channels <= inner ||
      heads % groups != 0)
    in.refuse(fail(ErrorCode::format,
                   "[import] \"{}\": {} channels, {} of them convolved, for {} heads in {} groups",
                   in.prefix(), inner, channels, heads, groups));
  in.expect("hidden_act", "silu");
  if (in.error()) return "";
  const std::int64_t state = (channels - inner) / (2 * groups), keys = groups * state;
  const std::int64_t whole = in.rows("in_proj.weight"), dl = whole - (inner + channels + heads);
  if (!levels && dl != 0)
    in.refuse(fail(
        ErrorCode::unsupported,
        "[import] \"{}in_proj.weight\" has {} rows more than z, x, B, C and dt take; an extra gated MLP in a "
        "projection is not mapped",
        in.prefix(), dl));
  const Tensor all =
      in.take("in_proj.weight", {inner + channels + heads + std::max<std::int64_t>(dl, 0), width});
  bool bias = false;
  put_taps(in, {{"conv1d", channels}}, taps, bias);
  if (in.error()) return "";
  std::optional<Tensor> offset;
  if (in.has("in_proj.bias")) offset = in.take("in_proj.bias", {whole});
  if (in.error()) return "";
  std::int64_t row = 0;
  const auto next = [&](const char* name, std::int64_t count) {
    in.put(std::string(name) + ".weight", rows_of(all, row, row + count));
    if (offset && std::string_view(name) != "dt")
      in.put(std::string(name) + ".bias", rows_of(*offset, row, row + count));
    row += count;
  };
  next("z", inner);
  next("x", inner);
  next("b", keys);
  next("c", keys);
  const std::int64_t dt_row = row;
  next("dt", heads);
  Tensor dt_bias = in.take("dt_bias", {heads});
  if (offset && !in.error()) {
    auto sum = reals_of(dt_bias);
    for (std::int64_t h = 0; h < heads; ++h) sum[static_cast<std::size_t>(h)] += offset->real(dt_row + h);
    dt_bias = real_tensor({heads}, sum, DType::f64);
  }
  in.put("dt.bias", dt_bias);
  std::string options;
  if (levels) {
    const std::int64_t count = level_count(in, dl, heads);
    if (offset)
      in.refuse(fail(ErrorCode::unsupported,
                     "[import] \"{}in_proj.bias\": level weights with a bias are not mapped", in.prefix()));
    if (in.error()) return "";
    put_levels(in, rows_of(all, row, whole), heads, count, width);
  }
  in.put("a.weight", negative_exponential(in.take("A_log", {heads})));
  const bool per_channel = in.rows("D") != heads;
  in.put("skip.weight", in.take("D", {per_channel ? inner : heads}));
  for (const char* name : {"time_step_limit", "dt_limit"}) {
    const auto limit = in.config().find(name);
    if (limit == in.config().end() || limit->is_null()) continue;
    if (!limit->is_array() || limit->size() != 2) {
      in.refuse(fail(ErrorCode::format, "[import] config.json: \"{}\" is not a pair", name));
      continue;
    }
    // JSON has no infinity: files write it as text, as Infinity or as a huge number.
    const double low = (*limit)[0].is_number() ? (*limit)[0].get<double>() : 0,
                 high = (*limit)[1].is_number() ? (*limit)[1].get<double>() : HUGE_VAL;
    if (!(low >= 0 && low <= high))
      in.refuse(fail(ErrorCode::range,
                     "[import] config.json: \"{}\" is {}; two steps from 0 on, in order, expected", name,
                     limit->dump()));
    if (low > 0) in.put_real("dt.low", low);
    if (std::isfinite(high)) in.put_real("dt.high", high);
  }
  in.put("ynorm.gain", in.take("norm.weight", {inner}));
  in.put_real("ynorm.epsilon", in.number("layer_norm_epsilon", in.number("norm_eps", 1e-5)));
  in.move("out_proj", "o", width, inner);
  if (per_channel) options += ",skip=channel";
  // norm_before_gate stands in configurations, and neither library reads it: the gate comes first.
  in.flag("norm_before_gate", false);
  in.expect("num_heads", heads);
  in.expect("head_dim", inner / heads);
  in.expect("state_size", state);
  in.expect("use_conv_bias", bias);
  if (const double expand = in.number("expand", 0);
      expand > 0 && expand * static_cast<double>(width) != static_cast<double>(inner))
    in.refuse(fail(ErrorCode::range,
                   "[import] config.json: expand = {} of hidden_size = {}; the tensors have {} channels",
                   expand, width, inner));
  options += bias ? ",conv_bias=yes" : ",conv_bias=no";
  return fmt::format("{}form=released,heads={},dim={},state={},groups={},conv={},norm_groups={}{})", word,
                     heads, inner / heads, state, groups, taps, per_group ? groups : 1, options);
}
std::string import_mamba2(LayerTensors& in) { return put_mamba2(in, "mamba2(", false, false); }
std::string import_grouped_mamba2(LayerTensors& in) { return put_mamba2(in, "mamba2(", true, false); }
std::string import_hattention(LayerTensors& in) {
  return put_mamba2(in, "loglinear(base=mamba2,", false, true);
}
std::string import_log_linear_mamba2(LayerTensors& in) {
  return put_mamba2(in, "loglinear(base=mamba2,", true, true);
}

}  // namespace

std::vector<ImportFamily> recurrent_imports() {
  const auto fla = [](std::string_view type, MapLayer map) {
    return ImportFamily{
        type,         true, "model.layers.{}.attn.", "model.layers.{}.attn_norm", "model.embeddings",
        "model.norm", map};
  };
  const auto backbone = [](std::string_view type, bool is_fla, MapLayer map, std::string_view norm) {
    return ImportFamily{type,
                        is_fla,
                        "backbone.layers.{}.mixer.",
                        norm,
                        "backbone.embeddings",
                        "backbone.norm_f",
                        map,
                        is_fla ? "norm_eps" : "layer_norm_epsilon",
                        1e-5};
  };
  const auto hybrid = [](std::string_view type, MapLayer map, bool plus_one) {
    return ImportFamily{type,
                        false,
                        "model.layers.{}.linear_attn.",
                        "model.layers.{}.input_layernorm",
                        "model.embed_tokens",
                        "model.norm",
                        map,
                        "rms_norm_eps",
                        1e-6,
                        plus_one};
  };
  constexpr std::string_view kNorm = "backbone.layers.{}.norm", kMixerNorm = "backbone.layers.{}.mixer_norm";
  ImportFamily rwkv7 = fla("rwkv7", import_rwkv7);
  rwkv7.epsilon_default = 1e-5;
  return {fla("delta_net", import_delta_net),
          fla("gated_deltanet", import_gated_delta_net),
          fla("h_gated_deltanet", import_log_linear_delta),
          fla("gla", import_gla),
          fla("kda", import_kda),
          rwkv7,
          backbone("mamba", true, import_mamba, kNorm),
          backbone("mamba2", true, import_grouped_mamba2, kNorm),
          backbone("hattention", true, import_hattention, kMixerNorm),
          backbone("log_linear_mamba2", true, import_log_linear_mamba2, kMixerNorm),
          backbone("mamba", false, import_mamba, kNorm),
          backbone("falcon_mamba", false, import_falcon_mamba, kNorm),
          backbone("mamba2", false, import_mamba2, kNorm),
          backbone("nemotron_h", false, import_grouped_mamba2, kNorm),
          hybrid("qwen3_next", import_qwen3_next, true),
          hybrid("qwen3_5", import_qwen3_5, true),
          hybrid("qwen3_5_text", import_qwen3_5, true),
          ImportFamily{"kimi_linear", false, "model.layers.{}.self_attn.", "model.layers.{}.input_layernorm",
                       "model.embed_tokens", "model.norm", import_kimi_linear, "rms_norm_eps", 1e-5}};
}

}  // namespace rung
