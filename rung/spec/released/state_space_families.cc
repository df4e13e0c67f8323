// State-space models and convolutions, alone or with attention: Mamba, Mamba-2, their hybrids, LFM2.
#include "rung/spec/released/families.h"

namespace rung {
namespace {

// Mamba-2 sizes of a layer; `inner` = heads · dim.
struct StateSpace {
  std::int64_t heads = 0, dim = 0, state = 0, groups = 0, taps = 0;
};
std::string mamba2_sizes(const StateSpace& s) {
  return fmt::format("dim={},state={},groups={},conv={}", s.dim, s.state, s.groups, s.taps);
}
std::string mamba2_text(const StateSpace& s) {
  return fmt::format("mamba2(heads={},{})", s.heads, mamba2_sizes(s));
}

// Attention and Mamba-2 side by side in one layer.
std::string parallel_text(const AttentionSizes& a, const StateSpace& s) {
  return fmt::format("heads(full(kv={},dim={}):{},mamba2({}):{})", a.kv, a.dim, a.heads, mamba2_sizes(s),
                     s.heads);
}

Result<std::int64_t> inner_width(ConfigFields& f, ConfigFields::Names expand) {
  RUNG_TRY(const std::int64_t hidden, f.size("hidden_size"));
  RUNG_TRY(const double factor, f.factor(expand));
  return f.scaled(*expand.begin(), factor, hidden);
}

// Bamba, Granite-4-H: d_head "auto" is expand · hidden_size / n_heads.
Result<StateSpace> bamba_sizes(ConfigFields& f) {
  StateSpace s;
  RUNG_TRY(s.heads, f.size("mamba_n_heads"));
  RUNG_TRY(s.dim, f.size_or("mamba_d_head", 0));
  if (s.dim == 0) {
    RUNG_TRY(const std::int64_t inner, inner_width(f, {"mamba_expand"}));
    RUNG_TRY(s.dim, f.quotient("mamba_expand · hidden_size", inner, "mamba_n_heads", s.heads));
  }
  RUNG_TRY(s.state, f.size("mamba_d_state"));
  RUNG_TRY(s.groups, f.size("mamba_n_groups"));
  RUNG_TRY(s.taps, f.size("mamba_d_conv"));
  return s;
}

Result<LayerTexts> bamba(ConfigFields& f) {
  RUNG_TRY(const std::int64_t layers, f.layers());
  if (!f.has("attn_layer_indices")) return f.missing("attn_layer_indices", "the layer list is never guessed");
  RUNG_TRY(const auto attention, f.numbers("attn_layer_indices", 0, layers - 1));
  RUNG_TRY(const auto a, attention_sizes(f));
  RUNG_TRY(const auto s, bamba_sizes(f));
  LayerTexts out(static_cast<std::size_t>(layers), mamba2_text(s));
  for (const auto i : attention) out[static_cast<std::size_t>(i)] = full_text(a);
  return out;
}

Result<LayerTexts> granite_hybrid(ConfigFields& f) {
  if (!f.has("layer_types")) return f.missing("layer_types", "the layer list is never guessed");
  RUNG_TRY(const auto a, attention_sizes(f));
  RUNG_TRY(const auto s, bamba_sizes(f));
  return by_word(f, "layer_types", {{"mamba", mamba2_text(s)}, {"attention", full_text(a)}});
}

// The inner width is mamba_d_ssm, not expand · hidden_size; every layer holds both.
Result<LayerTexts> falcon_h1(ConfigFields& f) {
  RUNG_TRY(const auto a, attention_sizes(f));
  StateSpace s;
  RUNG_TRY(s.heads, f.size("mamba_n_heads"));
  RUNG_TRY(std::int64_t inner, f.size_or("mamba_d_ssm", 0));
  if (inner == 0) {
    RUNG_TRY(inner, inner_width(f, {"mamba_expand"}));
  }
  RUNG_TRY(const std::int64_t share, f.quotient("mamba_d_ssm", inner, "mamba_n_heads", s.heads));
  RUNG_TRY(s.dim, f.size_or("mamba_d_head", share));
  if (s.dim != share)
    return f.refused(ErrorCode::range,
                     fmt::format("mamba_d_head = {} times mamba_n_heads = {} is not mamba_d_ssm = {}", s.dim,
                                 s.heads, inner));
  RUNG_TRY(s.state, f.size("mamba_d_state"));
  RUNG_TRY(s.groups, f.size("mamba_n_groups"));
  RUNG_TRY(s.taps, f.size("mamba_d_conv"));
  return repeat(f, parallel_text(a, s));
}

// hybrid_override_pattern, one letter a layer: M recurrent, * attention, - MLP, E experts; newer files write
// words.
Result<LayerTexts> nemotron_h(ConfigFields& f) {
  const bool letters = f.has("hybrid_override_pattern");
  if (!letters && !f.has("layers_block_type"))
    return f.missing("hybrid_override_pattern",
                     "nor is \"layers_block_type\" there, and the layer list is never guessed");
  RUNG_TRY(AttentionSizes a,
           attention_sizes(f, "num_attention_heads", "num_key_value_heads",
                           f.has("attention_head_dim") ? "attention_head_dim" : "head_dim"));
  StateSpace s;
  RUNG_TRY(s.heads, f.size("mamba_num_heads"));
  RUNG_TRY(s.dim, f.size("mamba_head_dim"));
  RUNG_TRY(s.state, f.size("ssm_state_size"));
  RUNG_TRY(s.groups, f.size("n_groups"));
  RUNG_TRY(s.taps, f.size("conv_kernel"));
  if (!letters) {
    const std::map<std::string, std::string> texts{
        {"mamba", mamba2_text(s)}, {"attention", full_text(a)}, {"mlp", "none"}, {"moe", "none"}};
    if (f.has("num_hidden_layers")) return by_word(f, "layers_block_type", texts);
    return f.missing("num_hidden_layers", "the list must agree with it");
  }
  RUNG_TRY(const std::int64_t layers, f.layers());
  RUNG_TRY(const std::string pattern, f.text("hybrid_override_pattern"));
  RUNG_CHECK(f.same_length("hybrid_override_pattern", pattern.size(), layers));
  LayerTexts out;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    switch (pattern[i]) {
      case 'M':
        out.push_back(mamba2_text(s));
        break;
      case '*':
        out.push_back(full_text(a));
        break;
      case '-':
      case 'E':
        out.push_back("none");
        break;
      default:
        return f.refused(ErrorCode::unsupported,
                         fmt::format("letter {} of hybrid_override_pattern is none of M, *, -, E", i + 1));
    }
  }
  return out;
}

// "hybrid": the shared attention and Mamba-2 in one layer. Shipped names differ from the class's. The
// attention reads two streams side by side, so its heads are 2 · hidden_size / heads wide.
Result<LayerTexts> zamba2(ConfigFields& f) {
  if (!f.has("layers_block_type")) return f.missing("layers_block_type", "the layer list is never guessed");
  AttentionSizes a;
  RUNG_TRY(a.heads, f.size("num_attention_heads"));
  RUNG_TRY(a.kv, f.size_or("num_key_value_heads", a.heads));
  RUNG_TRY(const std::int64_t hidden, f.size("hidden_size"));
  RUNG_TRY(const auto stated, f.stated("attention_head_dim"));
  if (stated) {
    a.dim = *stated;
  } else {
    RUNG_TRY(a.dim, f.quotient("2 · hidden_size", 2 * hidden, "num_attention_heads", a.heads));
    f.note("attention_head_dim is absent: the class takes 2 · hidden_size / num_attention_heads");
  }
  RUNG_TRY(const std::int64_t inner, inner_width(f, {"expansion_factor", "mamba_expand"}));
  StateSpace s;
  RUNG_TRY(const auto dim, f.stated("mamba_headdim"));
  if (dim) {
    s.dim = *dim;
    RUNG_TRY(s.heads, f.quotient("inner width", inner, "mamba_headdim", s.dim));
  } else {
    RUNG_TRY(s.heads, f.size("n_mamba_heads"));
    RUNG_TRY(s.dim, f.quotient("inner width", inner, "n_mamba_heads", s.heads));
  }
  RUNG_TRY(s.state, f.size({"state_size", "mamba_d_state"}));
  RUNG_TRY(s.groups, f.size("mamba_ngroups"));
  RUNG_TRY(s.taps, f.size({"conv_dimension", "mamba_d_conv"}));
  return by_word(f, "layers_block_type",
                 {{"mamba", mamba2_text(s)},
                  {"m", mamba2_text(s)},
                  {"hybrid", parallel_text(a, s)},
                  {"g", parallel_text(a, s)}});
}

Result<LayerTexts> jamba(ConfigFields& f) {
  RUNG_TRY(const std::int64_t layers, f.layers());
  RUNG_TRY(const auto a, attention_sizes(f));
  RUNG_TRY(const std::int64_t inner, inner_width(f, {"mamba_expand"}));
  RUNG_TRY(const std::int64_t state, f.size("mamba_d_state"));
  RUNG_TRY(const std::int64_t taps, f.size("mamba_d_conv"));
  RUNG_TRY(const std::int64_t period, f.size("attn_layer_period"));
  RUNG_TRY(const std::int64_t offset, f.offset("attn_layer_offset"));
  const std::string recurrent = fmt::format("mamba(inner={},state={},conv={})", inner, state, taps);
  LayerTexts out;
  for (std::int64_t i = 0; i < layers; ++i) out.push_back(i % period == offset ? full_text(a) : recurrent);
  return out;
}

// intermediate_size is the inner width where the file states it (Falcon-Mamba says expand 16 and means 8192
// channels).
Result<LayerTexts> mamba(ConfigFields& f) {
  RUNG_TRY(const auto stated, f.stated("intermediate_size"));
  std::int64_t inner = stated.value_or(0);
  if (inner == 0) {
    RUNG_TRY(inner, inner_width(f, {"expand"}));
  }
  RUNG_TRY(const std::int64_t state, f.size("state_size"));
  RUNG_TRY(const std::int64_t taps, f.size("conv_kernel"));
  return repeat(f, fmt::format("mamba(inner={},state={},conv={})", inner, state, taps));
}

// Mamba-2 where heads · head_dim = expand · hidden_size, so that one of heads and head_dim may be left out.
Result<StateSpace> mamba2_from_inner(ConfigFields& f) {
  StateSpace s;
  RUNG_TRY(const std::int64_t inner, inner_width(f, {"expand"}));
  RUNG_TRY(const auto heads, f.stated("num_heads"));
  if (heads && !f.has("head_dim")) {
    s.heads = *heads;
    RUNG_TRY(s.dim, f.quotient("expand · hidden_size", inner, "num_heads", s.heads));
  } else {
    RUNG_TRY(s.dim, f.size("head_dim"));
    RUNG_TRY(s.heads, f.quotient("expand · hidden_size", inner, "head_dim", s.dim));
  }
  if (heads && *heads != s.heads)
    return f.refused(ErrorCode::range,
                     fmt::format("num_heads = {} times head_dim = {} is not expand · hidden_size = {}",
                                 *heads, s.dim, inner));
  RUNG_TRY(s.state, f.size("state_size"));
  RUNG_TRY(s.groups, f.size("n_groups"));
  RUNG_TRY(s.taps, f.size("conv_kernel"));
  return s;
}
Result<LayerTexts> mamba2(ConfigFields& f) {
  RUNG_TRY(const auto s, mamba2_from_inner(f));
  return repeat(f, mamba2_text(s));
}
Result<LayerTexts> loglinear_mamba2(ConfigFields& f) {
  RUNG_TRY(const auto s, mamba2_from_inner(f));
  return repeat(f, fmt::format("loglinear(base=mamba2,heads={},{})", s.heads, mamba2_sizes(s)));
}

// Gated short convolutions; full_attn_idxs, or layer_types.
Result<LayerTexts> lfm2(ConfigFields& f) {
  RUNG_TRY(const std::int64_t layers, f.layers());
  RUNG_TRY(const auto a, attention_sizes(f));
  RUNG_TRY(const std::int64_t hidden, f.size("hidden_size"));
  RUNG_TRY(const std::int64_t taps, f.size("conv_L_cache"));
  const std::string conv = fmt::format("conv(width={},channels={})", taps, hidden);
  if (f.has("layer_types"))
    return by_word(f, "layer_types", {{"conv", conv}, {"full_attention", full_text(a)}});
  if (!f.has("full_attn_idxs"))
    return f.missing("full_attn_idxs", "nor is \"layer_types\" there, and the layer list is never guessed");
  RUNG_TRY(const auto attention, f.numbers("full_attn_idxs", 0, layers - 1));
  LayerTexts out(static_cast<std::size_t>(layers), conv);
  for (const auto i : attention) out[static_cast<std::size_t>(i)] = full_text(a);
  return out;
}

}  // namespace

std::vector<Family> state_space_families() {
  return {{"bamba", "bamba", bamba},
          {"granitemoehybrid", "granitemoehybrid", granite_hybrid},
          {"falcon_h1", "falcon_h1", falcon_h1},
          {"nemotron_h", "nemotron_h", nemotron_h},
          {"zamba2", "zamba2", zamba2},
          {"jamba", "jamba", jamba},
          {"mamba", "mamba", mamba},
          {"falcon_mamba", "", mamba},
          {"mamba2", "mamba2", mamba2},
          {"mamba2mlp", "fla-mamba2", mamba2},
          {"hattention", "fla-mamba2", loglinear_mamba2},
          {"lfm2", "lfm2", lfm2},
          {"lfm2_moe", "lfm2", lfm2}};
}

}  // namespace rung
