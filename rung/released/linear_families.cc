// Recurrences of the linear-attention kind: delta rules, lightning, GLA, RWKV-7, xLSTM, RG-LRU, log-linear
// over them.
#include <algorithm>

#include "rung/base/checked_size.h"
#include "rung/released/families.h"

namespace rung {
namespace {

Result<std::int64_t> checked(const ConfigFields& f, CheckedSize elements) {
  if (elements.ok() && elements.or_zero() <= kMaxElements) return elements.or_zero();
  return f.refused(ErrorCode::range, "its state sizes multiply to more than 2^50 elements");
}

// The delta rule with a step up to 2 has transitions with a negative eigenvalue: range=2 in the language.
Result<std::string> range_option(ConfigFields& f, const char* name) {
  RUNG_TRY(const bool negative, f.flag(name, false));
  return std::string(negative ? ",range=2" : "");
}
// fla's attn: standard attention in the layers that it lists, one object or several.
Result<LayerTexts> with_attention(ConfigFields& f, const std::string& recurrent) {
  RUNG_TRY(LayerTexts out, repeat(f, recurrent));
  RUNG_TRY(auto specifications, f.objects("attn"));
  if (specifications.empty()) return out;
  RUNG_TRY(const std::int64_t hidden, f.size("hidden_size"));
  std::vector<bool> taken(out.size());
  for (auto& given : specifications) {
    AttentionSizes a;
    RUNG_TRY(a.heads, given.size("num_heads"));
    RUNG_TRY(const auto kv, given.stated("num_kv_heads"));
    a.kv = kv.value_or(a.heads);
    RUNG_TRY(a.dim, f.quotient("hidden_size", hidden, "attn.num_heads", a.heads));
    RUNG_TRY(const auto window, given.stated("window_size"));
    RUNG_TRY(const auto layers, given.numbers("layers", 0, static_cast<std::int64_t>(out.size()) - 1));
    for (const auto i : layers) {
      const auto layer = static_cast<std::size_t>(i);
      if (taken[layer]) return given.refused(ErrorCode::format, fmt::format("layer {} is listed twice", i));
      taken[layer] = true;
      out[layer] = window ? window_text(*window, a) : full_text(a);
    }
  }
  return out;
}

// Every `interval`-th layer is full.
LayerTexts every(std::int64_t interval, std::int64_t layers, const std::string& full,
                 const std::string& recurrent) {
  LayerTexts out;
  for (std::int64_t i = 0; i < layers; ++i) out.push_back((i + 1) % interval == 0 ? full : recurrent);
  return out;
}

// Qwen3-Next, Qwen3.5, OLMo-Hybrid: layer_types, else every full_attention_interval-th layer is full. What
// OLMo-Hybrid's class leaves open it derives from the attention heads.
Result<LayerTexts> gated_delta_hybrid(ConfigFields& f) {
  RUNG_TRY(const std::int64_t layers, f.layers());
  RUNG_TRY(const auto a, attention_sizes(f));
  RUNG_TRY(const std::int64_t hidden, f.size("hidden_size"));
  RUNG_TRY(const std::int64_t heads, f.size_or("linear_num_value_heads", a.heads));
  RUNG_TRY(const std::int64_t keys, f.size_or("linear_num_key_heads", a.heads));
  RUNG_TRY(const std::int64_t dim, f.size_or("linear_key_head_dim", 3 * hidden / (4 * keys)));
  RUNG_TRY(const std::int64_t vdim, f.size_or("linear_value_head_dim", 2 * dim));
  RUNG_TRY(const std::int64_t conv, f.size("linear_conv_kernel_dim"));
  RUNG_TRY(const std::string range, range_option(f, "linear_allow_neg_eigval"));
  const std::string full = full_text(a),
                    linear = fmt::format("gdelta(heads={},kv={},dim={},vdim={},conv={}{},form=released)",
                                         heads, keys, dim, vdim, conv, range);
  RUNG_TRY(auto listings, listed(f, hybrid_words(linear, full)));
  RUNG_TRY(const auto interval, f.stated("full_attention_interval"));
  if (interval) listings.push_back({"full_attention_interval", every(*interval, layers, full, linear)});
  if (!listings.empty()) return agreed(f, listings);
  constexpr std::int64_t kClassInterval = 4;
  f.note("layer_types and full_attention_interval are absent: the class makes every 4th layer full");
  LayerTexts out = every(kClassInterval, layers, full, linear);
  if (layers < kClassInterval && f.model_type() == "olmo_hybrid") out.back() = full;
  return out;
}

// The lists of linear_attn_config are 1-based; its head_dim is not the top-level one. Full layers cache one
// latent.
Result<LayerTexts> kimi_linear(ConfigFields& f) {
  RUNG_TRY(const std::int64_t layers, f.layers());
  RUNG_TRY(const auto full, latent_sizes(f));
  RUNG_TRY(auto sub, f.object("linear_attn_config"));
  RUNG_TRY(const std::int64_t heads, sub.size("num_heads"));
  RUNG_TRY(const std::int64_t dim, sub.size("head_dim"));
  RUNG_TRY(const std::int64_t taps, sub.size("short_conv_kernel_size"));
  RUNG_TRY(const std::string range, range_option(sub, "allow_neg_eigval"));
  RUNG_TRY(const auto full_layers, sub.numbers("full_attn_layers", 1, layers));
  RUNG_TRY(const auto kda_layers, sub.numbers("kda_layers", 1, layers));
  LayerTexts out(static_cast<std::size_t>(layers));
  for (const auto i : full_layers) out[static_cast<std::size_t>(i - 1)] = full_text(full);
  for (const auto i : kda_layers) {
    auto& layer = out[static_cast<std::size_t>(i - 1)];
    if (!layer.empty())
      return f.refused(ErrorCode::format,
                       fmt::format("layer {} is in full_attn_layers and in kda_layers", i));
    layer = fmt::format("kda(heads={},dim={},conv={}{})", heads, dim, taps, range);
  }
  const auto hole = std::find(out.begin(), out.end(), "");
  if (hole != out.end())
    return f.refused(ErrorCode::missing,
                     fmt::format("layer {} is neither in full_attn_layers nor in kda_layers of "
                                 "linear_attn_config",
                                 hole - out.begin() + 1));
  return out;
}

// Taps of fla's short convolution, 0 without one.
Result<std::int64_t> short_convolution(ConfigFields& f, bool unsaid) {
  RUNG_TRY(const bool has, f.flag("use_short_conv", unsaid));
  return has ? f.size("conv_size") : Result<std::int64_t>(0);
}

// fla's delta rules: value heads of expand_v · head_dim, short convolution on q, k, v.
struct FlaDelta {
  std::int64_t heads = 0, keys = 0, dim = 0, vdim = 0, taps = 0;
  std::string range;
};
Result<FlaDelta> fla_delta(ConfigFields& f) {
  FlaDelta out;
  RUNG_TRY(out.range, range_option(f, "allow_neg_eigval"));
  RUNG_TRY(out.keys, f.size("num_heads"));
  RUNG_TRY(out.heads, f.size_or("num_v_heads", out.keys));
  RUNG_TRY(out.dim, f.size("head_dim"));
  RUNG_TRY(const double expand, f.factor({"expand_v"}));
  RUNG_TRY(out.vdim, f.scaled("expand_v", expand, out.dim));
  RUNG_TRY(out.taps, short_convolution(f, true));
  return out;
}
std::string delta_sizes(const FlaDelta& d) {
  return fmt::format("heads={},kv={},dim={},vdim={},conv={}{}", d.heads, d.keys, d.dim, d.vdim, d.taps,
                     d.range);
}
Result<std::string> gated_form(ConfigFields& f) {
  RUNG_TRY(const bool gated, f.flag("use_gate", true));
  return std::string(gated ? ",form=released" : ",form=released,gate=none");
}
Result<LayerTexts> gated_deltanet(ConfigFields& f) {
  RUNG_TRY(const auto d, fla_delta(f));
  RUNG_TRY(const auto form, gated_form(f));
  return with_attention(f, fmt::format("gdelta({}{})", delta_sizes(d), form));
}
Result<LayerTexts> loglinear_deltanet(ConfigFields& f) {
  RUNG_TRY(const auto d, fla_delta(f));
  RUNG_TRY(const auto form, gated_form(f));
  return with_attention(f, fmt::format("loglinear(base=gdelta,{}{})", delta_sizes(d), form));
}
Result<LayerTexts> kda(ConfigFields& f) {
  RUNG_TRY(const auto d, fla_delta(f));
  const bool bounded = f.has("lower_bound");
  return with_attention(f, fmt::format("kda({}{})", delta_sizes(d), bounded ? ",decay=bounded" : ""));
}

// Keys of expand_k · hidden_size, values of expand_v · hidden_size, over the heads.
struct ExpandedHeads {
  std::int64_t heads = 0, dim = 0, vdim = 0;
};
Result<ExpandedHeads> expanded_heads(ConfigFields& f) {
  ExpandedHeads out;
  RUNG_TRY(const std::int64_t hidden, f.size("hidden_size"));
  RUNG_TRY(out.heads, f.size("num_heads"));
  RUNG_TRY(const double expand_k, f.factor({"expand_k"}));
  RUNG_TRY(const double expand_v, f.factor({"expand_v"}));
  RUNG_TRY(const std::int64_t keys, f.scaled("expand_k", expand_k, hidden));
  RUNG_TRY(const std::int64_t values, f.scaled("expand_v", expand_v, hidden));
  RUNG_TRY(out.dim, f.quotient("expand_k · hidden_size", keys, "num_heads", out.heads));
  RUNG_TRY(out.vdim, f.quotient("expand_v · hidden_size", values, "num_heads", out.heads));
  return out;
}

Result<LayerTexts> delta_net(ConfigFields& f) {
  RUNG_TRY(const auto s, expanded_heads(f));
  RUNG_TRY(const auto range, range_option(f, "allow_neg_eigval"));
  RUNG_TRY(const std::int64_t taps, short_convolution(f, true));
  RUNG_TRY(const bool beta, f.flag("use_beta", true));
  RUNG_TRY(const bool gated, f.flag("use_gate", false));
  const std::string act = f.stated_text("qk_activation").value_or("silu"),
                    norm = f.stated_text("qk_norm").value_or("l2");
  return with_attention(f, fmt::format("delta(heads={},kv={},dim={},vdim={},conv={}{},form=released,beta={},"
                                       "gate={},qk_act={},qk_norm={})",
                                       s.heads, s.heads, s.dim, s.vdim, taps, range, beta ? "yes" : "no",
                                       gated ? "silu" : "none", activation_word(act), norm));
}

// Several writes a token have no released form here: counted, and not evaluated.
Result<LayerTexts> gated_deltaproduct(ConfigFields& f) {
  RUNG_TRY(const auto d, fla_delta(f));
  RUNG_TRY(const std::int64_t writes, f.size("num_householder"));
  RUNG_TRY(const bool forgets, f.flag("use_forget_gate", false));
  RUNG_TRY(const bool gated, f.flag("use_output_gate", true));
  if (writes > 1) {
    const CheckedSize keys = CheckedSize(d.keys) * d.dim, values = CheckedSize(d.heads) * d.vdim;
    RUNG_TRY(const std::int64_t elements, checked(f, values * d.dim));
    RUNG_TRY(const std::int64_t cached,
             checked(f, (keys + (keys + values) * writes) * std::max<std::int64_t>(d.taps - 1, 0)));
    return with_attention(f, recurrent_text("deltaproduct", elements, cached));
  }
  return with_attention(f, fmt::format("{}({},form=released{})", forgets ? "gdelta" : "delta", delta_sizes(d),
                                       gated ? ",gate=silu" : ",gate=none"));
}

Result<LayerTexts> gla(ConfigFields& f) {
  RUNG_TRY(const auto s, expanded_heads(f));
  RUNG_TRY(const std::int64_t kv, f.size_or("num_kv_heads", s.heads));
  if (!f.has("use_short_conv")) f.note("use_short_conv is absent: the class has no short convolution");
  RUNG_TRY(const std::int64_t taps, short_convolution(f, false));
  RUNG_TRY(const bool gated, f.flag("use_output_gate", true));
  return with_attention(f, fmt::format("gla(heads={},kv={},dim={},vdim={},conv={}{})", s.heads, kv, s.dim,
                                       s.vdim, taps, gated ? "" : ",gate=none"));
}

// Lightning attention: the state is over the query heads, not the key/value heads.
Result<LayerTexts> minimax(ConfigFields& f) {
  RUNG_TRY(const std::int64_t layers, f.layers());
  RUNG_TRY(const auto a, attention_sizes(f));
  RUNG_TRY(const std::int64_t elements, checked(f, CheckedSize(a.heads) * a.dim * a.dim));
  f.passed_over({"block_size"});  // how the sum over a prompt is computed
  const std::string linear = recurrent_text("lightning", elements, 0);
  RUNG_TRY(auto listings, listed(f, hybrid_words(linear, full_text(a))));
  if (f.has("attn_type_list")) {
    RUNG_TRY(const auto types, f.numbers("attn_type_list", 0, 1));
    RUNG_CHECK(f.same_length("attn_type_list", types.size(), layers));
    LayerListing marked{"attn_type_list", {}};
    for (const auto type : types) marked.texts.push_back(type == 1 ? full_text(a) : linear);
    listings.push_back(std::move(marked));
  }
  if (listings.empty()) return f.missing("attn_type_list", "the layer list is never guessed");
  return agreed(f, listings);
}

// Groups of layer_group_size end in a full layer; so are the layers after the last whole group.
Result<LayerTexts> bailing_linear(ConfigFields& f) {
  RUNG_TRY(const std::int64_t layers, f.layers());
  RUNG_TRY(const auto a, attention_sizes(f));
  RUNG_TRY(const std::int64_t group, f.size("layer_group_size"));
  RUNG_TRY(const std::int64_t hidden, f.size("hidden_size"));
  RUNG_TRY(const std::int64_t dim, f.quotient("hidden_size", hidden, "num_attention_heads", a.heads));
  RUNG_TRY(const std::int64_t elements, checked(f, CheckedSize(a.heads) * dim * dim));
  LayerTexts out;
  for (std::int64_t i = 0; i < layers; ++i)
    out.push_back((i + 1) % group == 0 || i >= layers / group * group
                      ? full_text(a)
                      : recurrent_text("lightning", elements, 0));
  return out;
}

// RWKV-7: time mixing, and behind it channel mixing, whose token shift is a convolution of two taps; an attention
// layer has the same channel mixing. value_dim is one number, or one a layer, and hidden_size where it is absent.
// num_attention_heads is there too and means nothing for attention.
Result<LayerTexts> rwkv7(ConfigFields& f) {
  RUNG_TRY(const std::int64_t layers, f.layers());
  RUNG_TRY(const std::int64_t hidden, f.size("hidden_size"));
  RUNG_TRY(const auto stated, f.stated("head_size"));
  std::int64_t dim = stated.value_or(0);
  if (dim == 0) {
    RUNG_TRY(dim, f.size("head_dim"));
  }
  RUNG_TRY(const std::int64_t heads,
           f.quotient("hidden_size", hidden, stated ? "head_size" : "head_dim", dim));
  RUNG_TRY(const auto values, f.one_or_each("value_dim", layers, hidden));
  std::string ranks;
  for (const auto& [name, option] : {std::pair("decay_low_rank_dim", "rank_w"),
                                     {"a_low_rank_dim", "rank_a"},
                                     {"gate_low_rank_dim", "rank_g"}}) {
    RUNG_TRY(const auto rank, f.stated(name));
    if (rank) ranks += fmt::format(",{}={}", option, *rank);
  }
  RUNG_TRY(const auto mixing, f.stated("v_low_rank_dim"));
  RUNG_TRY(const bool fused, f.flag("fuse_norm", true));
  if (!fused) ranks += ",key_norm=unit";
  const std::string shift = fmt::format("+conv(width=2,channels={})", hidden);
  f.note("channel mixing shifts by a token as well: a conv layer behind each layer");
  RUNG_TRY(LayerTexts out, with_attention(f, ""));
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i].empty()) {  // no attention
      RUNG_TRY(const std::int64_t vdim, f.quotient("value_dim", values[i], "the number of heads", heads));
      std::string first;
      if (i > 0 && values[i] == values[0])
        first = mixing ? fmt::format(",values=first,rank_v={}", *mixing) : ",values=first";
      out[i] = fmt::format("rwkv7(heads={},dim={},vdim={}{}{})", heads, dim, vdim, ranks, first);
    }
    out[i] += shift;
  }
  return out;
}

// mLSTM: matrix memory, normaliser and stabiliser of every head.
Result<LayerTexts> xlstm(ConfigFields& f) {
  RUNG_TRY(const std::int64_t hidden, f.size("hidden_size"));
  RUNG_TRY(const std::int64_t heads, f.size("num_heads"));
  RUNG_TRY(const auto blocks, f.stated("num_blocks"));
  RUNG_TRY(const auto layers, f.stated("num_hidden_layers"));
  if (blocks && blocks != layers) return f.disagree("num_hidden_layers", "num_blocks");
  RUNG_TRY(const double qk, f.factor({"qk_dim_factor"}));
  RUNG_TRY(const double v, f.factor({"v_dim_factor"}));
  RUNG_TRY(const std::int64_t keys, f.scaled("qk_dim_factor", qk, hidden));
  RUNG_TRY(const std::int64_t values, f.scaled("v_dim_factor", v, hidden));
  RUNG_TRY(const std::int64_t dim, f.quotient("qk_dim_factor · hidden_size", keys, "num_heads", heads));
  RUNG_TRY(const std::int64_t vdim, f.quotient("v_dim_factor · hidden_size", values, "num_heads", heads));
  RUNG_TRY(const std::int64_t elements, checked(f, CheckedSize(heads) * (CheckedSize(dim) * vdim + dim + 1)));
  return repeat(f, recurrent_text("mlstm", elements, 0));
}

// block_types (shipped: _block_types) is cycled over the layers; its attention is windowed.
Result<LayerTexts> recurrent_gemma(ConfigFields& f) {
  RUNG_TRY(const std::int64_t layers, f.layers());
  RUNG_TRY(const auto a, attention_sizes(f));
  RUNG_TRY(const std::int64_t hidden, f.size("hidden_size"));
  RUNG_TRY(const std::int64_t width, f.size_or("lru_width", hidden));
  RUNG_TRY(const std::int64_t taps, f.size("conv1d_width"));
  RUNG_TRY(const std::int64_t window, f.size("attention_window_size"));
  const char* name = f.has("_block_types") ? "_block_types" : "block_types";
  RUNG_TRY(const auto cycle, f.words(name));
  if (cycle.empty()) return f.wrong(name, "at least one word");
  RUNG_TRY(const std::int64_t conv, checked(f, CheckedSize(taps - 1) * width));
  LayerTexts out;
  for (std::int64_t i = 0; i < layers; ++i) {
    const auto& word = cycle[static_cast<std::size_t>(i) % cycle.size()];
    if (word != "recurrent" && word != "attention")
      return f.refused(ErrorCode::unsupported,
                       fmt::format("field \"{}\" holds a word that is neither \"recurrent\" "
                                   "nor \"attention\"",
                                   name));
    out.push_back(word == "attention" ? window_text(window, a) : recurrent_text("rglru", width, conv));
  }
  return out;
}

}  // namespace

std::vector<Family> linear_families() {
  return {{"qwen3_next", "qwen3_next", gated_delta_hybrid},
          {"qwen3_5_text", "qwen3_5_text", gated_delta_hybrid},
          {"qwen3_5_moe_text", "qwen3_5_text", gated_delta_hybrid},
          {"olmo_hybrid", "olmo_hybrid", gated_delta_hybrid},
          {"kimi_linear", "", kimi_linear},
          {"gated_deltanet", "fla-gated_deltanet", gated_deltanet},
          {"h_gated_deltanet", "fla-gated_deltanet", loglinear_deltanet},
          {"delta_net", "", delta_net},
          {"gated_deltaproduct", "", gated_deltaproduct},
          {"kda", "fla-kda", kda},
          {"gla", "", gla},
          {"minimax_m1", "", minimax},
          {"minimax", "minimax", minimax},
          {"bailing_moe_linear", "", bailing_linear},
          {"rwkv7", "fla-rwkv7", rwkv7},
          {"xlstm", "xlstm", xlstm},
          {"recurrent_gemma", "recurrent_gemma", recurrent_gemma}};
}

}  // namespace rung
