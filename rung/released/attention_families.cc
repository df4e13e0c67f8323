// Softmax attention throughout: every layer full, or full and windowed (chunked) layers by a list, a pattern
// or a period.
#include <algorithm>

#include "rung/released/families.h"

namespace rung {
namespace {

Result<LayerTexts> listed_windows(ConfigFields& f, const AttentionSizes& full, const AttentionSizes& local) {
  RUNG_TRY(const std::int64_t window, f.size("sliding_window"));
  return by_word(f, "layer_types",
                 {{"full_attention", full_text(full)}, {"sliding_attention", window_text(window, local)}});
}

// Images may be read in both directions; the stack is that of text, which is not.
Result<void> causal_text(ConfigFields& f) {
  const auto whose = f.stated_text("use_bidirectional_attention");
  if (whose == "vision") f.note("use_bidirectional_attention: image tokens see each other; text is causal");
  if (f.stated_flag("use_bidirectional_attention").value_or(false) || (whose && whose != "vision"))
    return f.wrong("use_bidirectional_attention", "false or \"vision\"");
  return {};
}

Result<LayerTexts> dense(ConfigFields& f) {
  RUNG_TRY(const bool windows, f.flag("use_sliding_window", false));
  RUNG_TRY(const auto sizes, attention_sizes(f));
  if (windows) {
    if (!f.has("layer_types"))
      return f.missing("layer_types",
                       "use_sliding_window is true, and the list says which layers have the window");
    f.passed_over({"max_window_layers"});  // layer_types says it
    return listed_windows(f, sizes, sizes);
  }
  if (f.has("use_sliding_window")) f.passed_over({"sliding_window", "max_window_layers"});
  if (f.has("attn_type_list")) {  // MiniMax-M2 writes a 1 for every layer
    RUNG_TRY(const std::int64_t layers, f.layers());
    RUNG_TRY(const auto types, f.numbers("attn_type_list", 1, 1));
    RUNG_CHECK(f.same_length("attn_type_list", types.size(), layers));
  }
  if (f.has("layer_types")) return by_word(f, "layer_types", {{"full_attention", full_text(sizes)}});
  return repeat(f, full_text(sizes));
}

// fla's transformer: other names; window_size null is full attention.
Result<LayerTexts> fla_transformer(ConfigFields& f) {
  RUNG_TRY(const auto sizes, attention_sizes(f, "num_heads", "num_kv_heads"));
  RUNG_TRY(const auto window, f.stated("window_size"));
  if (!f.has("num_kv_heads")) f.note("num_kv_heads is absent: the class takes num_heads");
  return repeat(f, window ? window_text(*window, sizes) : full_text(sizes));
}

Result<LayerTexts> latent(ConfigFields& f) {
  RUNG_TRY(const auto sizes, latent_sizes(f));
  return repeat(f, full_text(sizes));
}

Result<LayerTexts> gpt_oss(ConfigFields& f) {
  RUNG_TRY(const auto sizes, attention_sizes(f));
  return listed_windows(f, sizes, sizes);
}

// attention_other_setting holds the sizes of the windowed layers; newer files write num_sliding_attention_heads,
// or per_layer_config, which comes after this.
Result<LayerTexts> step3p7(ConfigFields& f) {
  const auto sizes_of = [](ConfigFields& from, const AttentionSizes& otherwise) -> Result<AttentionSizes> {
    AttentionSizes out = otherwise;
    RUNG_TRY(out.heads, from.size_or("num_attention_heads", out.heads));
    const char* groups = from.has("num_attention_groups") ? "num_attention_groups" : "num_key_value_heads";
    RUNG_TRY(out.kv, from.size_or(groups, out.kv));
    RUNG_TRY(out.dim, from.size_or("head_dim", out.dim));
    return out;
  };
  RUNG_TRY(const auto plain, attention_sizes(f));
  RUNG_TRY(const auto full, sizes_of(f, plain));
  AttentionSizes local = full;
  if (f.has("attention_other_setting")) {
    RUNG_TRY(auto other, f.object("attention_other_setting"));
    RUNG_TRY(local, sizes_of(other, full));
    RUNG_TRY(const std::int64_t true_dim, other.size_or("true_head_dim", local.dim));
    if (true_dim != local.dim) return other.disagree("head_dim", "true_head_dim");
    if (other.has("attention_type")) {
      RUNG_TRY(const std::string type, other.text("attention_type"));
      if (type != "sliding_attention") return other.wrong("attention_type", "\"sliding_attention\"");
    }
  }
  RUNG_TRY(local.heads, f.size_or("num_sliding_attention_heads", local.heads));
  if (f.has("per_layer_config")) local = full;
  return listed_windows(f, full, local);
}

// Every sliding_window_pattern-th layer is full; shipped files leave the pattern out where it is 6.
Result<LayerTexts> gemma3(ConfigFields& f) {
  RUNG_CHECK(causal_text(f));
  RUNG_TRY(const auto sizes, attention_sizes(f));
  const char* name = f.has("_sliding_window_pattern") ? "_sliding_window_pattern" : "sliding_window_pattern";
  RUNG_TRY(const auto pattern, f.stated(name));
  if (f.has("layer_types")) return listed_windows(f, sizes, sizes);
  RUNG_TRY(const std::int64_t layers, f.layers());
  RUNG_TRY(const std::int64_t window, f.size("sliding_window"));
  constexpr std::int64_t kClassPattern = 6;
  if (!pattern) f.note("sliding_window_pattern is absent: the class takes 6");
  LayerTexts out;
  for (std::int64_t i = 0; i < layers; ++i)
    out.push_back((i + 1) % pattern.value_or(kClassPattern) == 0 ? full_text(sizes)
                                                                 : window_text(window, sizes));
  return out;
}

// Full layers have their own head dimension, and their own key heads where keys are values too; a file with
// per_layer_config says both there. The last num_kv_shared_layers layers read the keys and values of the last
// layer of their kind before them.
Result<LayerTexts> gemma4(ConfigFields& f) {
  RUNG_CHECK(causal_text(f));
  RUNG_TRY(AttentionSizes local, attention_sizes(f));
  AttentionSizes global = local;
  RUNG_TRY(const auto dim, f.stated("global_head_dim"));
  RUNG_TRY(const auto heads, f.stated("num_global_key_value_heads"));
  RUNG_TRY(const bool keys_are_values, f.flag("attention_k_eq_v", false));
  if (!f.has("per_layer_config")) {
    constexpr std::int64_t kClassGlobalDim = 512;
    if (!dim) f.note("global_head_dim is absent: the class takes 512");
    global.dim = dim.value_or(kClassGlobalDim);
    if (keys_are_values) global.kv = heads.value_or(local.kv);
  }
  RUNG_TRY(LayerTexts out, listed_windows(f, global, local));
  RUNG_TRY(const std::int64_t shared, f.stated_count("num_kv_shared_layers"));
  if (shared >= static_cast<std::int64_t>(out.size()))
    return f.wrong("num_kv_shared_layers", "fewer than num_hidden_layers");
  local.earlier_keys = global.earlier_keys = true;
  RUNG_TRY(const LayerTexts reading, listed_windows(f, global, local));
  const auto first = out.end() - shared;
  for (auto layer = first; layer != out.end(); ++layer) {
    if (std::find(out.begin(), first, *layer) == first)
      return f.refused(ErrorCode::format,
                       fmt::format("layer {} shares keys and values, and no layer of its kind stands before "
                                   "the last {}",
                                   layer - out.begin() + 1, shared));
  }
  std::copy(reading.end() - shared, reading.end(), first);
  return out;
}

// hybrid_layer_pattern: 0 full, 1 window; the two kinds have their own sizes. Newer files write layer_types.
Result<LayerTexts> mimo(ConfigFields& f) {
  RUNG_TRY(const std::int64_t layers, f.layers());
  RUNG_TRY(AttentionSizes full, attention_sizes(f));
  RUNG_TRY(full.vdim, f.size("v_head_dim"));
  AttentionSizes local = full;
  RUNG_TRY(local.heads, f.size_or("swa_num_attention_heads", full.heads));
  RUNG_TRY(local.kv, f.size_or("swa_num_key_value_heads", full.kv));
  RUNG_TRY(local.dim, f.size_or("swa_head_dim", full.dim));
  RUNG_TRY(local.vdim, f.size_or("swa_v_head_dim", full.vdim));
  RUNG_TRY(const std::int64_t window, f.size("sliding_window"));
  for (const char* name : {"sliding_window_size", "attention_chunk_size"}) {  // the same number again
    RUNG_TRY(const auto again, f.stated(name));
    if (again.value_or(window) != window) return f.disagree("sliding_window", name);
  }
  const std::string full_layer = full_text(full), local_layer = window_text(window, local);
  RUNG_TRY(auto listings, listed(f, {{"full_attention", full_layer}, {"sliding_attention", local_layer}}));
  if (f.has("hybrid_layer_pattern") || listings.empty()) {
    RUNG_TRY(const auto pattern, f.numbers("hybrid_layer_pattern", 0, 1));
    RUNG_CHECK(f.same_length("hybrid_layer_pattern", pattern.size(), layers));
    LayerListing marked{"hybrid_layer_pattern", {}};
    for (const auto kind : pattern) marked.texts.push_back(kind == 0 ? full_layer : local_layer);
    listings.push_back(std::move(marked));
  }
  return agreed(f, listings);
}

// No list in the file: the class makes every no_rope_layer_interval-th layer full, the others chunked.
Result<LayerTexts> llama4(ConfigFields& f) {
  RUNG_TRY(const std::int64_t layers, f.layers());
  RUNG_TRY(const auto sizes, attention_sizes(f));
  RUNG_TRY(const std::int64_t chunk, f.size("attention_chunk_size"));
  const std::string chunked =
      fmt::format("full(chunk={},heads={},kv={},dim={})", chunk, sizes.heads, sizes.kv, sizes.dim);
  constexpr std::int64_t kClassInterval = 4;
  RUNG_TRY(const std::int64_t interval, f.size_or("no_rope_layer_interval", kClassInterval));
  RUNG_TRY(auto listings, listed(f, {{"full_attention", full_text(sizes)}, {"chunked_attention", chunked}}));
  RUNG_TRY(const auto rotated,
           f.has("no_rope_layers") ? f.numbers("no_rope_layers", 0, 1) : Result(std::vector<std::int64_t>()));
  if (!rotated.empty()) {  // 1 where positions are rotated, which is where attention is chunked
    RUNG_CHECK(f.same_length("no_rope_layers", rotated.size(), layers));
    LayerListing marked{"no_rope_layers", {}};
    for (const auto mark : rotated) marked.texts.push_back(mark == 0 ? full_text(sizes) : chunked);
    listings.push_back(std::move(marked));
  }
  if (!listings.empty()) return agreed(f, listings);
  if (!f.has("no_rope_layer_interval"))
    f.note(
        "the layer list comes from class code: every 4th layer is full (no_rope_layer_interval), the others "
        "chunked");
  LayerTexts out;
  for (std::int64_t i = 0; i < layers; ++i)
    out.push_back((i + 1) % interval == 0 ? full_text(sizes) : chunked);
  return out;
}

}  // namespace

std::vector<Family> attention_families() {
  return {{"llama", "", dense},
          {"qwen3", "", dense},
          {"minimax_m2", "", dense},
          {"transformer", "", fla_transformer},
          {"deepseek_v3", "", latent},
          {"gpt_oss", "", gpt_oss},
          {"step3p7", "", step3p7},
          {"step3p5", "", step3p7},
          {"gemma3_text", "gemma3_text", gemma3},
          {"gemma4_text", "", gemma4},
          {"mimo_v2_flash", "", mimo},
          {"llama4_text", "", llama4}};
}

}  // namespace rung
