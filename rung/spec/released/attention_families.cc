// Softmax attention throughout: every layer full, or full and windowed (chunked) layers by a list, a pattern
// or a period.
#include "rung/spec/released/families.h"

namespace rung {
namespace {

Result<LayerTexts> dense(ConfigFields& f) {
  RUNG_TRY(const bool windows, f.flag("use_sliding_window", false));
  RUNG_TRY(const auto sizes, attention_sizes(f));
  if (windows) {
    if (!f.has("layer_types"))
      return f.missing("layer_types",
                       "use_sliding_window is true, and the list says which layers have the window");
    RUNG_TRY(const std::int64_t window, f.size("sliding_window"));
    return by_word(f, "layer_types",
                   {{"full_attention", full_text(sizes)}, {"sliding_attention", window_text(window, sizes)}});
  }
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

Result<LayerTexts> listed_windows(ConfigFields& f) {
  RUNG_TRY(const auto sizes, attention_sizes(f));
  RUNG_TRY(const std::int64_t window, f.size("sliding_window"));
  return by_word(f, "layer_types",
                 {{"full_attention", full_text(sizes)}, {"sliding_attention", window_text(window, sizes)}});
}

// Every sliding_window_pattern-th layer is full; shipped files leave the pattern out where it is 6.
Result<LayerTexts> gemma3(ConfigFields& f) {
  if (f.has("layer_types")) return listed_windows(f);
  RUNG_TRY(const std::int64_t layers, f.layers());
  RUNG_TRY(const auto sizes, attention_sizes(f));
  RUNG_TRY(const std::int64_t window, f.size("sliding_window"));
  constexpr std::int64_t kClassPattern = 6;
  RUNG_TRY(const auto pattern, f.stated("sliding_window_pattern"));
  if (!pattern) f.note("sliding_window_pattern is absent: the class takes 6");
  LayerTexts out;
  for (std::int64_t i = 0; i < layers; ++i)
    out.push_back((i + 1) % pattern.value_or(kClassPattern) == 0 ? full_text(sizes)
                                                                 : window_text(window, sizes));
  return out;
}

// Full layers have their own head dimension and key heads.
Result<LayerTexts> gemma4(ConfigFields& f) {
  RUNG_TRY(const auto local, attention_sizes(f));
  RUNG_TRY(const auto global,
           attention_sizes(f, "num_attention_heads", "num_global_key_value_heads", "global_head_dim"));
  RUNG_TRY(const std::int64_t window, f.size("sliding_window"));
  return by_word(f, "layer_types",
                 {{"full_attention", full_text(global)}, {"sliding_attention", window_text(window, local)}});
}

// hybrid_layer_pattern: 0 full, 1 window; the two kinds have their own sizes.
Result<LayerTexts> mimo(ConfigFields& f) {
  RUNG_TRY(const std::int64_t layers, f.layers());
  RUNG_TRY(AttentionSizes full, attention_sizes(f));
  RUNG_TRY(full.vdim, f.size("v_head_dim"));
  RUNG_TRY(AttentionSizes local,
           attention_sizes(f, "swa_num_attention_heads", "swa_num_key_value_heads", "swa_head_dim"));
  RUNG_TRY(local.vdim, f.size("swa_v_head_dim"));
  RUNG_TRY(const std::int64_t window, f.size("sliding_window"));
  RUNG_TRY(const auto pattern, f.numbers("hybrid_layer_pattern", 0, 1));
  RUNG_CHECK(f.same_length("hybrid_layer_pattern", pattern.size(), layers));
  LayerTexts out;
  for (const auto kind : pattern) out.push_back(kind == 0 ? full_text(full) : window_text(window, local));
  return out;
}

// No list in the file: the class makes every no_rope_layer_interval-th layer full, the others chunked.
Result<LayerTexts> llama4(ConfigFields& f) {
  RUNG_TRY(const std::int64_t layers, f.layers());
  RUNG_TRY(const auto sizes, attention_sizes(f));
  RUNG_TRY(const std::int64_t chunk, f.size("attention_chunk_size"));
  const std::string chunked =
      fmt::format("full(chunk={},heads={},kv={},dim={})", chunk, sizes.heads, sizes.kv, sizes.dim);
  if (f.has("layer_types"))
    return by_word(f, "layer_types", {{"full_attention", full_text(sizes)}, {"chunked_attention", chunked}});
  constexpr std::int64_t kClassInterval = 4;
  RUNG_TRY(const std::int64_t interval, f.size_or("no_rope_layer_interval", kClassInterval));
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
          {"gpt_oss", "", listed_windows},
          {"step3p7", "", listed_windows},
          {"gemma3_text", "gemma3_text", gemma3},
          {"gemma4_text", "", gemma4},
          {"mimo_v2_flash", "", mimo},
          {"llama4_text", "", llama4}};
}

}  // namespace rung
