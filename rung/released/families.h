// Families of released models: each turns its fields into one mixer text a layer. The words of a layer list
// and what they mean stand in the function of the family; sizes that several families name alike are gathered
// here.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "rung/released/config_fields.h"

namespace rung {

// One text a layer of the model; a layer that mixes twice, one mixer after the other, is "a+b".
using LayerTexts = std::vector<std::string>;
using ReadLayers = Result<LayerTexts> (*)(ConfigFields& fields);

struct Family {
  std::string_view model_type;
  std::string_view defaults;  // name in class_defaults; empty: none known here
  ReadLayers layers;
};

// Softmax attention as the language writes it.
struct AttentionSizes {
  std::int64_t heads = 0, kv = 0, dim = 0, vdim = 0;  // vdim 0: = dim
  std::int64_t cache = 0;                             // 0: kv·(dim + vdim)
  bool earlier_keys = false;
};
std::string full_text(const AttentionSizes& sizes);
// fla's word for an activation of queries and keys, as the language writes it.
std::string activation_word(const std::string& fla);
std::string window_text(std::int64_t window, const AttentionSizes& sizes);
// num_attention_heads, num_key_value_heads, head_dim (else hidden_size / heads), under these or other names.
Result<AttentionSizes> attention_sizes(ConfigFields& fields, std::string_view heads = "num_attention_heads",
                                       std::string_view kv = "num_key_value_heads",
                                       std::string_view dim = "head_dim");
// Multi-head latent attention: kv_lora_rank, qk_nope_head_dim, qk_rope_head_dim, v_head_dim; one latent is
// cached.
Result<AttentionSizes> latent_sizes(ConfigFields& fields, std::string_view heads = "num_attention_heads");

std::string recurrent_text(std::string_view kind, std::int64_t elements, std::int64_t conv_elements);

// One text a word of the list `name`, whose length must be num_hidden_layers.
using WordTexts = std::map<std::string, std::string>;
Result<LayerTexts> by_word(ConfigFields& fields, std::string_view name, const WordTexts& texts);
// The words of a hybrid, as files wrote them first (mamba, attention) and as they do now.
WordTexts hybrid_words(const std::string& recurrent, const std::string& full);

// What a file says about its layers in one of its fields. Several fields may say it; they must agree.
struct LayerListing {
  std::string field;
  LayerTexts texts;
};
Result<LayerTexts> agreed(const ConfigFields& fields, const std::vector<LayerListing>& listings);
// layer_types and layers_block_type, those that the file has.
Result<std::vector<LayerListing>> listed(ConfigFields& fields, const WordTexts& texts);
// `rest` with `chosen` in the layers of the list `name`, counted from 0.
Result<LayerTexts> by_index(ConfigFields& fields, std::string_view name, const std::string& chosen,
                            const std::string& rest);
Result<LayerTexts> repeat(ConfigFields& fields, const std::string& text);  // every layer alike

// The families, one line each in their file; joined by families() in released.cc.
std::vector<Family> attention_families();
std::vector<Family> sparse_families();
std::vector<Family> linear_families();
std::vector<Family> state_space_families();

// DeepSeek's own inference format, and that of mamba_ssm, which have no model_type.
Result<LayerTexts> read_deepseek_native(ConfigFields& fields);
Result<LayerTexts> read_mamba_native(ConfigFields& fields);

}  // namespace rung
