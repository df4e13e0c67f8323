// State-space models and convolutions, alone or with attention: Mamba, Mamba-2, their hybrids, LFM2.
#include "rung/released/families.h"

namespace rung {
namespace {

// Mamba-2 sizes of a layer; `inner` = heads · dim.
struct StateSpace {
  std::int64_t heads = 0, dim = 0, state = 0, groups = 0, taps = 0;
  std::string form = {};  // what is other than form=released has it: ",norm=none"
};
std::string mamba2_sizes(const StateSpace& s) {
  return fmt::format("dim={},state={},groups={},conv={},form=released{}", s.dim, s.state, s.groups, s.taps,
                     s.form);
}
// Classes that normalise all groups together say so where there are several.
std::string one_norm(std::int64_t groups) { return groups > 1 ? ",norm_groups=1" : ""; }
Result<std::string> conv_bias(ConfigFields& f, std::string_view name) {
  RUNG_TRY(const bool has, f.flag(name, true));
  return std::string(has ? "" : ",conv_bias=no");
}
// The bottleneck of the time step, which is a sixteenth of the width unless the file says otherwise.
Result<std::string> step_rank(ConfigFields& f, std::string_view name, std::int64_t width) {
  const std::int64_t own = (width + 15) / 16;
  RUNG_TRY(const std::int64_t rank, f.size_or(name, own));
  return rank == own ? std::string() : fmt::format(",rank={}", rank);
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
  f.passed_over({"mamba_expand"});  // where mamba_d_head is given it says the same
  RUNG_TRY(s.dim, f.size_or("mamba_d_head", 0));
  if (s.dim == 0) {
    RUNG_TRY(const std::int64_t inner, inner_width(f, {"mamba_expand"}));
    RUNG_TRY(s.dim, f.quotient("mamba_expand · hidden_size", inner, "mamba_n_heads", s.heads));
  }
  RUNG_TRY(s.state, f.size("mamba_d_state"));
  RUNG_TRY(s.groups, f.size("mamba_n_groups"));
  RUNG_TRY(s.taps, f.size("mamba_d_conv"));
  RUNG_TRY(s.form, conv_bias(f, "mamba_conv_bias"));
  s.form += one_norm(s.groups);
  return s;
}

Result<LayerTexts> bamba(ConfigFields& f) {
  if (!f.has("attn_layer_indices") && !f.has("layer_types") && !f.has("layers_block_type"))
    return f.missing("attn_layer_indices", "the layer list is never guessed");
  std::vector<LayerListing> listings;
  if (f.has("attn_layer_indices")) {  // before the sizes: a wrong index is named first
    RUNG_CHECK(by_index(f, "attn_layer_indices", "", ""));
  }
  RUNG_TRY(const auto a, attention_sizes(f));
  RUNG_TRY(const auto s, bamba_sizes(f));
  RUNG_TRY(listings, listed(f, hybrid_words(mamba2_text(s), full_text(a))));
  if (f.has("attn_layer_indices")) {
    RUNG_TRY(LayerTexts out, by_index(f, "attn_layer_indices", full_text(a), mamba2_text(s)));
    listings.push_back({"attn_layer_indices", std::move(out)});
  }
  return agreed(f, listings);
}

Result<LayerTexts> granite_hybrid(ConfigFields& f) {
  if (!f.has("layer_types") && !f.has("layers_block_type"))
    return f.missing("layer_types", "the layer list is never guessed");
  RUNG_TRY(const auto a, attention_sizes(f));
  RUNG_TRY(const auto s, bamba_sizes(f));
  RUNG_TRY(const auto listings, listed(f, hybrid_words(mamba2_text(s), full_text(a))));
  return agreed(f, listings);
}

// The inner width is mamba_d_ssm, not expand · hidden_size; every layer holds both.
Result<LayerTexts> falcon_h1(ConfigFields& f) {
  RUNG_TRY(const auto a, attention_sizes(f));
  StateSpace s;
  RUNG_TRY(s.heads, f.size("mamba_n_heads"));
  f.passed_over({"mamba_expand"});  // where mamba_d_ssm is given it means nothing
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
  RUNG_TRY(s.form, conv_bias(f, "mamba_conv_bias"));
  RUNG_TRY(const bool normed, f.flag("mamba_rms_norm", false));
  RUNG_TRY(const bool before, f.flag("mamba_norm_before_gate", true));
  s.form += !normed ? ",norm=none" : before ? ",norm=before" : "";
  if (f.has("layer_types")) return by_word(f, "layer_types", {{"hybrid", parallel_text(a, s)}});
  return repeat(f, parallel_text(a, s));
}

// hybrid_override_pattern, one letter a layer: M recurrent, * attention, - MLP, E experts; newer files write
// words.
Result<LayerTexts> nemotron_h(ConfigFields& f) {
  const bool letters = f.has("hybrid_override_pattern");
  if (!letters && !f.has("layers_block_type") && !f.has("layer_types"))
    return f.missing("hybrid_override_pattern",
                     "nor is \"layers_block_type\" there, and the layer list is never guessed");
  RUNG_TRY(AttentionSizes a,
           attention_sizes(f, "num_attention_heads", "num_key_value_heads",
                           f.has("attention_head_dim") ? "attention_head_dim" : "head_dim"));
  StateSpace s;
  RUNG_TRY(s.heads, f.size("mamba_num_heads"));
  RUNG_TRY(s.dim, f.size("mamba_head_dim"));
  RUNG_TRY(s.state, f.size("ssm_state_size"));
  RUNG_TRY(s.groups, f.size({"n_groups", "mamba_n_groups"}));
  RUNG_TRY(s.taps, f.size({"conv_kernel", "mamba_d_conv"}));
  RUNG_TRY(s.form, conv_bias(f, "use_conv_bias"));
  f.passed_over({"mamba_expand"});  // heads · head_dim is the inner width
  if (!f.has("num_hidden_layers")) return f.missing("num_hidden_layers", "the list must agree with it");
  WordTexts texts = hybrid_words(mamba2_text(s), full_text(a));
  texts["mlp"] = texts["moe"] = "none";
  RUNG_TRY(auto listings, listed(f, texts));
  if (!letters) return agreed(f, listings);
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
  listings.push_back({"hybrid_override_pattern", std::move(out)});
  return agreed(f, listings);
}

// "hybrid": the shared attention, and behind it Mamba-2, whose input is what the attention made of the
// stream; so the layer is two mixers in a row. Shipped names differ from the class's. The attention reads two
// streams side by side, so its heads are 2 · hidden_size / heads wide.
Result<LayerTexts> zamba2(ConfigFields& f) {
  if (!f.has("layers_block_type") && !f.has("layer_types"))
    return f.missing("layers_block_type", "the layer list is never guessed");
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
  RUNG_TRY(const auto read, f.stated("attention_hidden_size"));
  if (read.value_or(2 * hidden) != 2 * hidden) return f.wrong("attention_hidden_size", "2 · hidden_size");
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
  RUNG_TRY(s.form, conv_bias(f, "use_conv_bias"));
  const std::string recurrent = mamba2_text(s), hybrid = full_text(a) + "+" + recurrent;
  RUNG_TRY(auto listings, listed(f, {{"mamba", recurrent},
                                     {"m", recurrent},
                                     {"linear_attention", recurrent},
                                     {"hybrid", hybrid},
                                     {"g", hybrid}}));
  if (f.has("hybrid_layer_ids")) {
    RUNG_TRY(LayerTexts out, by_index(f, "hybrid_layer_ids", hybrid, recurrent));
    listings.push_back({"hybrid_layer_ids", std::move(out)});
  }
  return agreed(f, listings);
}

Result<LayerTexts> jamba(ConfigFields& f) {
  RUNG_TRY(const std::int64_t layers, f.layers());
  RUNG_TRY(const auto a, attention_sizes(f));
  RUNG_TRY(const std::int64_t inner, inner_width(f, {"mamba_expand"}));
  RUNG_TRY(const std::int64_t state, f.size("mamba_d_state"));
  RUNG_TRY(const std::int64_t taps, f.size("mamba_d_conv"));
  RUNG_TRY(const std::int64_t period, f.size("attn_layer_period"));
  RUNG_TRY(const std::int64_t offset, f.offset("attn_layer_offset"));
  RUNG_TRY(const std::int64_t hidden, f.size("hidden_size"));
  RUNG_TRY(const std::string bias, conv_bias(f, "mamba_conv_bias"));
  RUNG_TRY(const std::string rank, step_rank(f, "mamba_dt_rank", hidden));
  f.note("the norms of the time step, B and C have gains, which the line does not");
  const std::string recurrent = fmt::format("mamba(inner={},state={},conv={},form=released,norms=before{}{})",
                                            inner, state, taps, bias, rank);
  RUNG_TRY(auto listings, listed(f, hybrid_words(recurrent, full_text(a))));
  LayerListing counted{"attn_layer_period", {}};
  for (std::int64_t i = 0; i < layers; ++i)
    counted.texts.push_back(i % period == offset ? full_text(a) : recurrent);
  listings.push_back(std::move(counted));
  return agreed(f, listings);
}

// mamba_ssm: attention in the layers of attn_layer_idx, with the sizes of attn_cfg and perhaps a short
// convolution on q, k, v.
Result<LayerTexts> with_attention_layers(ConfigFields& f, const std::string& recurrent, std::int64_t width,
                                         std::int64_t layers) {
  LayerTexts out(static_cast<std::size_t>(layers), recurrent);
  if (!f.has("attn_layer_idx")) return out;
  RUNG_TRY(const auto indices, f.numbers("attn_layer_idx", 0, layers - 1));
  if (indices.empty()) {
    f.passed_over({"attn_cfg"});
    return out;
  }
  RUNG_TRY(auto given, f.object("attn_cfg"));
  AttentionSizes a;
  RUNG_TRY(a.heads, given.size("num_heads"));
  RUNG_TRY(const auto kv, given.stated("num_heads_kv"));
  a.kv = kv.value_or(a.heads);
  RUNG_TRY(const auto dim, given.stated("head_dim"));
  if (dim) {
    a.dim = *dim;
  } else {
    RUNG_TRY(a.dim, given.quotient("d_model", width, "num_heads", a.heads));
  }
  if (!given.stated_flag("causal").value_or(false))
    return given.wrong("causal", "true: a token that sees later ones has no place in this stack");
  RUNG_TRY(const std::int64_t taps, given.stated_count("d_conv"));
  given.passed_over({"softmax_scale"});
  const std::string text =
      taps > 0 ? fmt::format("full(heads={},kv={},dim={},conv={})", a.heads, a.kv, a.dim, taps)
               : full_text(a);
  for (const auto i : indices) out[static_cast<std::size_t>(i)] = text;
  return out;
}

// mamba_ssm's own names, which some files of the other format carry too.
Result<std::int64_t> mamba_layers(ConfigFields& f) {
  RUNG_TRY(const std::int64_t layers, f.layers());
  RUNG_TRY(const auto again, f.stated("n_layer"));
  if (again.value_or(layers) != layers) return f.disagree("num_hidden_layers", "n_layer");
  return layers;
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
  RUNG_TRY(const std::int64_t layers, mamba_layers(f));
  RUNG_TRY(const std::int64_t hidden, f.size("hidden_size"));
  RUNG_TRY(const std::string bias, conv_bias(f, "use_conv_bias"));
  RUNG_TRY(const std::string rank, step_rank(f, "time_step_rank", hidden));
  const char* norms = f.model_type() == "falcon_mamba" ? ",norms=after" : "";
  return with_attention_layers(f,
                               fmt::format("mamba(inner={},state={},conv={},form=released{}{}{})", inner,
                                           state, taps, norms, bias, rank),
                               hidden, layers);
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
  RUNG_TRY(s.form, conv_bias(f, "use_conv_bias"));
  RUNG_CHECK(f.flag("norm_before_gate", false));  // neither library reads it: the gate comes first
  s.form += one_norm(s.groups);
  return s;
}
Result<LayerTexts> mamba2(ConfigFields& f) {
  RUNG_TRY(const auto s, mamba2_from_inner(f));
  RUNG_TRY(const std::int64_t layers, mamba_layers(f));
  RUNG_TRY(const std::int64_t hidden, f.size("hidden_size"));
  return with_attention_layers(f, mamba2_text(s), hidden, layers);
}
Result<LayerTexts> loglinear_mamba2(ConfigFields& f) {
  RUNG_TRY(const auto s, mamba2_from_inner(f));
  return repeat(f, fmt::format("loglinear(base=mamba2,heads={},{})", s.heads, mamba2_sizes(s)));
}

// Gated short convolutions; full_attn_idxs, or layer_types.
Result<LayerTexts> lfm2(ConfigFields& f) {
  RUNG_TRY(const auto a, attention_sizes(f));
  RUNG_TRY(const std::int64_t hidden, f.size("hidden_size"));
  RUNG_TRY(const std::int64_t taps, f.size("conv_L_cache"));
  const std::string conv = fmt::format("conv(width={},channels={})", taps, hidden);
  for (const char* name : {"conv_dim", "conv_dim_out", "block_dim"}) {
    RUNG_TRY(const auto channels, f.stated(name));
    if (channels.value_or(hidden) != hidden) return f.wrong(name, "hidden_size");
  }
  WordTexts texts = hybrid_words(conv, full_text(a));
  texts.erase("mamba");
  texts["conv"] = conv;
  RUNG_TRY(auto listings, listed(f, texts));
  if (f.has("full_attn_idxs")) {
    RUNG_TRY(LayerTexts out, by_index(f, "full_attn_idxs", full_text(a), conv));
    listings.push_back({"full_attn_idxs", std::move(out)});
  }
  if (listings.empty())
    return f.missing("full_attn_idxs", "nor is \"layer_types\" there, and the layer list is never guessed");
  return agreed(f, listings);
}

}  // namespace

// d_model, n_layer, and in ssm_cfg the kind and sizes of the recurrence. Its class's defaults stand here.
Result<LayerTexts> read_mamba_native(ConfigFields& f) {
  RUNG_TRY(const std::int64_t layers, f.layers("n_layer"));
  RUNG_TRY(const std::int64_t width, f.size("d_model"));
  RUNG_TRY(auto given, f.object("ssm_cfg"));
  const std::string kind = given.stated_text("layer").value_or("Mamba1");
  const bool second = kind == "Mamba2";
  if (!second && kind != "Mamba1") return given.wrong("layer", "\"Mamba1\" or \"Mamba2\"");
  constexpr std::int64_t kTaps = 4, kFirstState = 16, kSecondState = 128, kHeadDim = 64;
  RUNG_TRY(const double expand, given.has("expand") ? given.factor({"expand"}) : Result(2.0));
  RUNG_TRY(const std::int64_t whole, given.scaled("expand", expand, width));
  RUNG_TRY(const std::int64_t state, given.size_or("d_state", second ? kSecondState : kFirstState));
  RUNG_TRY(const std::int64_t taps, given.size_or("d_conv", kTaps));
  RUNG_TRY(const std::string bias, conv_bias(given, "conv_bias"));
  given.passed_over({"use_fast_path", "use_mem_eff_path", "dt_min", "dt_max", "dt_scale", "dt_init",
                     "dt_init_floor", "conv_init"});
  std::string recurrent;
  if (!second) {
    RUNG_TRY(const std::string rank, step_rank(given, "dt_rank", width));
    recurrent =
        fmt::format("mamba(inner={},state={},conv={},form=released{}{})", whole, state, taps, bias, rank);
  } else {
    RUNG_TRY(const std::int64_t inner, given.size_or("d_ssm", whole));  // the rest of it is a gated MLP
    RUNG_TRY(const std::int64_t dim, given.size_or("headdim", kHeadDim));
    RUNG_TRY(const std::int64_t heads, given.quotient("inner width", inner, "headdim", dim));
    RUNG_TRY(const std::int64_t groups, given.size_or("ngroups", 1));
    RUNG_TRY(const bool normed, given.flag("rmsnorm", true));
    RUNG_TRY(const bool before, given.flag("norm_before_gate", false));
    RUNG_TRY(const bool channels, given.flag("D_has_hdim", false));
    const std::string form = bias + (channels ? ",skip=channel" : "") +
                             (!normed  ? ",norm=none"
                              : before ? ",norm=before"
                                       : "");
    recurrent = mamba2_text({heads, dim, state, groups, taps, form});
  }
  return with_attention_layers(f, recurrent, width, layers);
}

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
