// Literal defaults of configuration classes: the fields that readers ask for, where a shipped file may leave
// them out. Origin: the `__init__` and field defaults of huggingface/transformers at d56c55bf and, with the
// prefix "fla-", of fla-org/flash-linear-attention at bc3b101d, whole in rung/released/configs/*-defaults.json.
#include "rung/released/class_defaults.h"

#include <nlohmann/json.hpp>

#include "rung/released/embedded_config.h"

namespace rung {
namespace {

constexpr std::string_view kDefaultsFile = "-defaults.json";

// No other field of a class stands in for one that a file leaves out: a context or a vocabulary is the model's own.
constexpr std::string_view kAskedFields =
    " attention_window_size attn attn_layer_indices attn_layer_offset attn_layer_period block_counts "
    "block_size block_types conv1d_width conv_L_cache conv_kernel conv_size expand expand_v "
    "full_attn_idxs head_dim hidden_size index_head_dim index_n_heads index_topk kv_lora_rank "
    "layer_types layers_block_type linear_allow_neg_eigval linear_conv_kernel_dim linear_key_head_dim "
    "linear_num_key_heads linear_num_value_heads linear_value_head_dim lru_width mamba_d_conv "
    "mamba_d_head mamba_d_ssm mamba_d_state mamba_expand mamba_head_dim mamba_n_groups mamba_n_heads "
    "mamba_ngroups mamba_num_heads n_groups n_mamba_heads num_attention_heads num_heads "
    "num_hidden_layers num_key_value_heads num_kv_heads num_v_heads qk_dim_factor qk_nope_head_dim "
    "qk_rope_head_dim sliding_window ssm_state_size state_size use_short_conv v_dim_factor v_head_dim "
    "window_size ";

nlohmann::json read_class_defaults() {
  nlohmann::json table = nlohmann::json::object();
  for (const auto& [name, text] : kReleasedConfigs) {
    if (!name.ends_with(kDefaultsFile)) continue;
    auto& kept = table[std::string(name.substr(0, name.size() - kDefaultsFile.size()))];
    const nlohmann::json whole = nlohmann::json::parse(text);
    for (const auto& [field, value] : whole.items())
      if (kAskedFields.find(" " + field + " ") != kAskedFields.npos) kept[field] = value;
  }
  return table;
}

}  // namespace

const nlohmann::json& all_class_defaults() {
  static const nlohmann::json table = read_class_defaults();
  return table;
}

const nlohmann::json* class_defaults(std::string_view name) {
  const auto& table = all_class_defaults();
  const auto found = table.find(std::string(name));
  return found == table.end() ? nullptr : &*found;
}

}  // namespace rung
