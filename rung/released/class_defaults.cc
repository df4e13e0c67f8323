// Literal defaults of configuration classes: the fields that readers ask for, where a shipped file may leave
// them out. Origin: the `__init__` and field defaults of huggingface/transformers at d56c55bf and, with the
// prefix "fla-", of fla-org/flash-linear-attention at bc3b101d. A test compares every entry with
// rung/released/configs/*-defaults.json.
#include "rung/released/class_defaults.h"

#include <nlohmann/json.hpp>

namespace rung {
namespace {

constexpr const char* kClassDefaults = R"({
  "bamba":
    {"num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8,
     "attn_layer_indices": null, "mamba_n_heads": 128, "mamba_d_head": "auto", "mamba_n_groups": 1,
     "mamba_d_state": 256, "mamba_d_conv": 4, "mamba_expand": 2},
  "deepseek_v32":
    {"num_hidden_layers": 61, "hidden_size": 7168, "num_attention_heads": 128, "num_key_value_heads": 128,
     "kv_lora_rank": 512, "qk_rope_head_dim": 64, "v_head_dim": 128, "qk_nope_head_dim": 128, "index_topk":
     2048, "index_head_dim": 128, "index_n_heads": 64},
  "falcon_h1":
    {"num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8,
     "mamba_d_ssm": 1024, "mamba_n_heads": 128, "mamba_d_head": "auto", "mamba_n_groups": 1, "mamba_d_state":
     256, "mamba_d_conv": 4, "mamba_expand": 2},
  "fla-gated_deltanet":
    {"num_hidden_layers": 21, "hidden_size": 2048, "expand_v": 2.0, "use_short_conv": true, "conv_size": 4,
     "head_dim": 256, "num_heads": 6, "num_v_heads": null, "attn": null},
  "fla-kda":
    {"num_hidden_layers": 24, "hidden_size": 2048, "expand_v": 1.0, "use_short_conv": true, "conv_size": 4,
     "head_dim": 128, "num_heads": 16, "num_v_heads": null, "attn": null},
  "fla-mamba2":
    {"num_hidden_layers": 48, "hidden_size": 2048, "head_dim": 64, "state_size": 128, "expand": 2,
     "conv_kernel": 4, "n_groups": 1},
  "fla-nsa":
    {"num_hidden_layers": 24, "hidden_size": 2048, "num_heads": 64, "num_kv_heads": 4, "head_dim": 32,
     "block_size": 64, "block_counts": 16, "window_size": 512},
  "fla-rwkv7":
    {"num_hidden_layers": 24, "hidden_size": 2048, "head_dim": 64, "num_heads": null, "attn": null},
  "gemma3_text":
    {"num_hidden_layers": 26, "hidden_size": 2304, "num_attention_heads": 8, "num_key_value_heads": 4,
     "head_dim": 256, "sliding_window": 4096, "layer_types": null},
  "granitemoehybrid":
    {"num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": null,
     "layer_types": null, "mamba_n_heads": 128, "mamba_d_head": "auto", "mamba_n_groups": 1, "mamba_d_state":
     256, "mamba_d_conv": 4, "mamba_expand": 2},
  "jamba":
    {"num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8,
     "attn_layer_period": 8, "attn_layer_offset": 4, "mamba_d_state": 16, "mamba_d_conv": 4, "mamba_expand":
     2},
  "lfm2":
    {"num_hidden_layers": 32, "hidden_size": 2560, "num_attention_heads": 32, "num_key_value_heads": 8,
     "conv_L_cache": 3, "full_attn_idxs": null, "layer_types": null},
  "mamba":
    {"num_hidden_layers": 32, "hidden_size": 768, "state_size": 16, "expand": 2, "conv_kernel": 4},
  "mamba2":
    {"num_hidden_layers": 64, "hidden_size": 4096, "num_heads": 128, "head_dim": 64, "state_size": 128,
     "expand": 2, "conv_kernel": 4, "n_groups": 8},
  "minimax":
    {"num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8,
     "head_dim": null, "layer_types": null},
  "nemotron_h":
    {"hidden_size": 4096, "layers_block_type": null, "num_attention_heads": 32, "num_key_value_heads": 8,
     "head_dim": 128, "ssm_state_size": 128, "mamba_num_heads": 128, "mamba_head_dim": 64, "n_groups": 8,
     "conv_kernel": 4},
  "olmo_hybrid":
    {"num_hidden_layers": 32, "hidden_size": 3840, "num_attention_heads": 30, "num_key_value_heads": null,
     "layer_types": null, "linear_num_key_heads": null, "linear_num_value_heads": null,
     "linear_key_head_dim": null, "linear_value_head_dim": null, "linear_conv_kernel_dim": 4,
     "linear_allow_neg_eigval": true},
  "qwen3_5_text":
    {"num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 16, "num_key_value_heads": 4,
     "head_dim": 256, "layer_types": null, "linear_num_key_heads": 16, "linear_num_value_heads": 32,
     "linear_key_head_dim": 128, "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4},
  "qwen3_next":
    {"num_hidden_layers": 48, "hidden_size": 2048, "num_attention_heads": 16, "num_key_value_heads": 2,
     "head_dim": 256, "layer_types": null, "linear_num_key_heads": 16, "linear_num_value_heads": 32,
     "linear_key_head_dim": 128, "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4},
  "recurrent_gemma":
    {"num_hidden_layers": 26, "hidden_size": 2560, "num_attention_heads": 10, "num_key_value_heads": null,
     "lru_width": null, "attention_window_size": 2048, "conv1d_width": 4, "block_types": ["recurrent",
     "recurrent", "attention"]},
  "xlstm":
    {"num_hidden_layers": 32, "hidden_size": 4096, "num_heads": 8, "qk_dim_factor": 0.5, "v_dim_factor":
     1.0},
  "zamba2":
    {"num_hidden_layers": 54, "hidden_size": 2560, "num_attention_heads": 32, "num_key_value_heads": null,
     "layers_block_type": null, "mamba_d_state": 64, "mamba_d_conv": 4, "mamba_expand": 2, "mamba_ngroups":
     1, "n_mamba_heads": 8}
})";

}  // namespace

const nlohmann::json& all_class_defaults() {
  static const nlohmann::json table = nlohmann::json::parse(kClassDefaults);
  return table;
}

const nlohmann::json* class_defaults(std::string_view name) {
  const auto& table = all_class_defaults();
  const auto found = table.find(std::string(name));
  return found == table.end() ? nullptr : &*found;
}

}  // namespace rung
