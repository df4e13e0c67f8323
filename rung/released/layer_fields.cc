#include "rung/released/layer_fields.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace rung {
namespace {

using Json = nlohmann::json;

// A name with one of these words speaks about layers and what tokens see of each other there.
constexpr std::array kLayerWords = std::to_array<std::string_view>(
    {"layer",    "layers",   "layerwise",     "block",   "blocks",     "pattern",
     "patterns", "types",    "attn",          "attns",   "attention",  "attentions",
     "window",   "windows",  "chunk",         "chunked", "hybrid",     "ssm",
     "mamba",    "linear",   "recurrent",     "rnn",     "lru",        "rwkv",
     "sparse",   "sparsity", "index",         "indices", "idx",        "idxs",
     "indexer",  "compress", "ratios",        "rates",   "compressed", "compression",
     "mixer",    "mixers",   "stride",        "strides", "interval",   "period",
     "offset",   "every",    "freq",          "skip",    "schedule",   "kv",
     "sliding",  "swa",      "local",         "global",  "conv",       "memory",
     "select",   "selected", "selection",     "topk",    "retention",  "delta",
     "deltanet", "state",    "shared",        "share",   "cross",      "dilated",
     "dilation", "eigval",   "bidirectional", "causal",  "sink",       "retrieval",
     "kda",      "gla",      "lightning",     "nsa",     "dsa",        "csa",
     "hca"});

// A name with one of these words does not: it is about one token at a time, about numerics or about training.
constexpr std::array kHarmlessWords =
    std::to_array<std::string_view>({"norm",       "layernorm",   "rmsnorm",      "norms",
                                     "layernorms", "eps",         "epsilon",      "dropout",
                                     "pdrop",      "layerdrop",   "bias",         "initializer",
                                     "rope",       "rotary",      "yarn",         "moe",
                                     "expert",     "experts",     "router",       "mlp",
                                     "ffn",        "ff",          "intermediate", "feedforward",
                                     "act",        "activation",  "dtype",        "kernels",
                                     "mtp",        "nextn",       "vision",       "audio",
                                     "image",      "video",       "lora",         "quantization",
                                     "vocab",      "loss",        "fused",        "fuse",
                                     "multiplier", "multipliers", "softcapping",  "implementation",
                                     "alpha",      "beta",        "coef"});

// Names with a word of the first list and none of the second that are harmless all the same.
constexpr std::array kHarmlessNames = std::to_array<std::string_view>({
    // of the library: what a model is, what it returns
    "architectures",
    "auto_map",
    "id2label",
    "label2id",
    "output_attentions",
    "output_hidden_states",
    // the layers of attention: their scale, their gates, how they are computed
    "query_pre_attn_scalar",
    "attention_value_scale",
    "attn_output_gate",
    "attention_output_gate",
    "attn_temperature_tuning",
    "use_head_wise_attn_gate",
    "attention_projection_layout",
    "linear_use_gate",
    "attn_scale",
    "attn_mode",
    "attention_k_eq_v",
    "chunk_size",
    "mamba_chunk_size",
    "chunk_size_feed_forward",
    // a memory of the past that is none: gates and skips inside one token
    "gated_linear_unit",
    "linear_silu",
    "hidden_size_per_layer_input",
    "linear_dt_min",
    "linear_dt_max",
    "linear_dt_init_floor",
    "linear_a_log_min",
    "linear_a_log_max",
    "mamba_dt_rank",
    "mamba_dt_min",
    "mamba_dt_max",
    "mamba_dt_init_floor",
    "mamba_dt_limit",
    "A_init_range",
    "time_step_limit",
    "dt_limit",
    // weights that several layers share, and how the MLPs alternate
    "kv_channels",
    "num_mem_blocks",
    "num_hash_layers",
    "topk_group",
    "topk_method",
    "use_grouped_topk",
    "decoder_sparse_step",
    "block_multiple_of",
    "n_dense_layers",
    "block_use_xavier_init",
    "block_out_init_scale",
    "conv_use_xavier_init",
    "block_use_swiglu",
    "swiglu_limits",
    "swiglu_limits_shared",
});

std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words(1);
  bool lower = false;
  for (const char c : name) {
    const bool letter = std::isalnum(static_cast<unsigned char>(c)) != 0;
    const bool upper = std::isupper(static_cast<unsigned char>(c)) != 0;
    if (!letter || (upper && lower)) words.emplace_back();
    if (letter) words.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    lower = letter && !upper;
  }
  return words;
}

template <std::size_t N>
bool has_word(std::string_view name, const std::array<std::string_view, N>& list) {
  const auto words = words_of(name);
  return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
    return std::find(list.begin(), list.end(), word) != list.end();
  });
}

bool is_layer_number(const std::string& key) {
  return !key.empty() && std::all_of(key.begin(), key.end(), [](unsigned char c) { return std::isdigit(c); });
}

// One entry a layer, or a few more (multi-token prediction appends its own).
bool one_per_layer(std::size_t length, std::size_t layers) {
  constexpr std::size_t kMostPredicting = 8;
  return length >= layers && length <= layers + kMostPredicting;
}

bool is_shaped_like_layers(const Json& value, std::size_t layers) {
  if (value.is_array()) return layers > 0 && one_per_layer(value.size(), layers);
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    constexpr std::size_t kShortestPattern = 4;
    return layers >= kShortestPattern && one_per_layer(text.size(), layers) &&
           std::none_of(text.begin(), text.end(), [](unsigned char c) { return std::islower(c); });
  }
  if (!value.is_object() || value.empty()) return false;
  bool numbered = true;
  for (const auto& [key, entry] : value.items()) {
    if (entry.is_array() && is_shaped_like_layers(entry, layers)) return true;
    numbered = numbered && is_layer_number(key);
  }
  return numbered;
}

}  // namespace

bool is_off(const Json& value) {
  return value.is_null() || value == false || value == "" || (value.is_structured() && value.empty());
}

bool is_position_wise(std::string_view name) {
  return has_word(name, kHarmlessWords) || name.ends_with("token_id") || name.ends_with("token_ids") ||
         name.ends_with("token_index") ||
         std::find(kHarmlessNames.begin(), kHarmlessNames.end(), name) != kHarmlessNames.end();
}

bool describes_layers(std::string_view name, const Json& value, std::size_t layers) {
  if (is_off(value) || is_position_wise(name)) return false;
  return has_word(name, kLayerWords) || is_shaped_like_layers(value, layers);
}

}  // namespace rung
