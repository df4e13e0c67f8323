// Fields that describe layers: read as what they say, or refused by name; never passed over.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "rung/base/json_text.h"
#include "rung/released/released.h"

namespace rung {
namespace {

using OrderedJson = nlohmann::ordered_json;
const std::string kConfigFolder = std::string(RUNG_SOURCE_DIR) + "/rung/released/configs/";

std::string stack_text_of(const OrderedJson& config) {
  const auto model = read_config(config.dump(), {});
  return model ? format_stack(model->architecture.stack) : model.error().message;
}
ReleasedModel model_of(const OrderedJson& config) {
  auto model = read_config(config.dump(), {});
  EXPECT_TRUE(model) << model.error().message;
  return *model;
}
Account counted(const ReleasedModel& model) {
  return account_released(model, *resolve(model.architecture), model.bits);
}

struct ConfigSample {
  std::string name;
  OrderedJson config;
};
OrderedJson& language_model(OrderedJson& config) {
  return config.contains("text_config") ? config["text_config"] : config;
}

// Configurations of the folder that can be read, and one of every family that none of them has.
std::vector<ConfigSample> config_samples() {
  std::vector<ConfigSample> out;
  for (const auto& entry : std::filesystem::directory_iterator(kConfigFolder)) {
    if (entry.path().extension() != ".json") continue;
    const auto text = parse_json(*read_text_file(entry.path(), "test"), "test");
    if (read_config(text->dump(), {}))
      out.push_back({entry.path().filename(), OrderedJson::parse(text->dump())});
  }
  out.push_back(
      {"minimax", OrderedJson::parse(R"({"model_type":"minimax","num_hidden_layers":4,"hidden_size":64,
    "num_attention_heads":4,"num_key_value_heads":2,"block_size":16,"layer_types":["linear_attention","linear_attention","full_attention","linear_attention"]})")});
  out.push_back(
      {"step3p5", OrderedJson::parse(R"({"model_type":"step3p5","num_hidden_layers":4,"hidden_size":64,
    "num_attention_heads":4,"sliding_window":8,
    "layer_types":["full_attention","sliding_attention","sliding_attention","full_attention"]})")});
  out.push_back(
      {"minimax_m3_vl_text", OrderedJson::parse(R"({"model_type":"minimax_m3_vl_text","num_hidden_layers":4,
    "hidden_size":64,"num_attention_heads":4,"num_key_value_heads":2,"index_block_size":8,"index_topk_blocks":2,
    "index_n_heads":2,"index_head_dim":16,"index_local_blocks":1,
    "layer_types":["full_attention","minimax_m3_sparse","minimax_m3_sparse","minimax_m3_sparse"]})")});
  out.push_back({"delta_net", OrderedJson::parse(R"({"model_type":"delta_net","num_hidden_layers":4,
    "hidden_size":64,"num_heads":2,"expand_k":1,"expand_v":1,"conv_size":4})")});
  out.push_back({"gated_deltaproduct", OrderedJson::parse(R"({"model_type":"gated_deltaproduct",
    "num_hidden_layers":4,"hidden_size":64,"num_heads":2,"head_dim":8,"expand_v":2,"conv_size":4,
    "num_householder":2})")});
  out.push_back(
      {"mamba_ssm",
       OrderedJson::parse(R"({"d_model":64,"n_layer":4,"ssm_cfg":{"layer":"Mamba2"},"rms_norm":true})")});
  return out;
}

std::size_t layer_count_of(const OrderedJson& config) {
  for (const char* name : {"num_hidden_layers", "n_layers", "n_layer"})
    if (config.contains(name)) return config[name].get<std::size_t>();
  return 0;
}

TEST(LayerFields, every_family_refuses_an_unknown_field_that_describes_layers) {
  std::set<std::string> families;
  for (auto& [name, config] : config_samples()) {
    SCOPED_TRACE(name);
    const std::string before = stack_text_of(config);
    ASSERT_NE(before[0], '[') << before;
    families.insert(model_of(config).model_type);
    const std::size_t n = layer_count_of(language_model(config));
    ASSERT_GT(n, 0u);
    std::string letters;
    for (std::size_t i = 0; i < n; ++i) letters += i % 3 == 0 ? 'X' : 'Y';
    OrderedJson numbered = OrderedJson::object();
    numbered["1"] = {{"mystery", 3}};
    const std::pair<const char*, OrderedJson> unknown[] = {
        {"mystery_of_each", std::vector<int>(n, 1)},              // one entry a layer
        {"mystery_words", std::vector<std::string>(n + 1, "x")},  // and one for multi-token prediction
        {"mystery_letters", letters},                             // one letter a layer
        {"mystery_by_number", numbered},                          // keyed by the layer
        {"mystery_object", {{"each", std::vector<int>(n, 1)}}},
        {"mystery_layers", {0}},
        {"mystery_layer_interval", 3},
        {"layers_of_mystery", 2},
        {"block_mystery", "abc"},
        {"mystery_pattern", "ab"},
        {"attn_mystery", {{"layers", {0}}}},
        {"mystery_attention", true},
        {"mystery_window_size", 7},
        {"num_mystery_kv_heads", 2},
        {"mystery_conv_kernel", 4},
        {"attention_mystery_tokens", 4},
        {"mysteryLayerTypes", {"full"}},
        {"per_layer_config", {{"0", {{"mystery", 3}}}}},
        {"per_layer_config", {{"0", {{"skip", {"attention"}}}}}},
    };
    for (const auto& [field, value] : unknown) {
      OrderedJson changed = config;
      language_model(changed)[field] = value;
      if (n < 4 && value.is_string() && value == letters) continue;
      const std::string said = stack_text_of(changed);
      EXPECT_EQ(said.substr(0, 8), "[config]") << field << ": " << said;
      EXPECT_NE(said.find(field), std::string::npos) << field << ": " << said;
      EXPECT_NE(said.find("not known here"), std::string::npos) << field << ": " << said;
    }
    for (const auto& [field, value] : std::initializer_list<std::pair<const char*, OrderedJson>>{
             {"mystery_token_id", 7},
             {"mystery_token_ids", {1, 2}},
             {"mystery", 3},
             {"rope_mystery", std::vector<double>(n, 1.5)},
             {"attention_mystery_dropout", 0.1},
             {"layer_norm_mystery", 1e-5},
             {"moe_mystery_layers", std::vector<int>(n, 1)},
             {"mystery_layers", OrderedJson::array()},
             {"mystery_pattern", nullptr},
             {"use_mystery_attention", false},
             {"mystery_initializer_range", 0.02},
             {"per_layer_config", OrderedJson::object()}}) {
      OrderedJson changed = config;
      language_model(changed)[field] = value;
      // Gemma 4 says the sizes of its full layers there: none given is something said.
      if (language_model(changed)["model_type"] == "gemma4_text" && std::string(field) == "per_layer_config")
        continue;
      EXPECT_EQ(stack_text_of(changed), before) << field;
    }
  }
  for (const auto type : known_model_types())
    // The file of Bamba is partial; its class is read like that of Granite.
    EXPECT_TRUE(type == "bamba" || families.contains(std::string(type))) << type;
}

TEST(LayerFields, a_field_about_layers_beside_the_language_model_is_refused_too) {
  auto qwen = OrderedJson::parse(*read_text_file(kConfigFolder + "qwen3.5-27b.json", "test"));
  qwen["mystery_layer_types"] = {"full_attention"};
  EXPECT_NE(stack_text_of(qwen).find("\"mystery_layer_types\" describes layers"), std::string::npos)
      << stack_text_of(qwen);
}

TEST(LayerFields, an_object_about_layers_is_read_whole_or_refused) {
  auto kimi =
      OrderedJson::parse(*read_text_file(kConfigFolder + "kimi-linear-48b-a3b-instruct.json", "test"));
  kimi["linear_attn_config"]["mystery"] = 3;
  EXPECT_EQ(
      stack_text_of(kimi),
      "[config] kimi_linear: field \"linear_attn_config.mystery\" describes layers in a way that is not "
      "known here");
  auto m3 = OrderedJson::parse(*read_text_file(kConfigFolder + "minimax-m3.json", "test"));
  m3["sparse_attention_config"]["sparse_score_type"] = "mean";
  EXPECT_EQ(stack_text_of(m3).substr(0, 70),
            "[config] minimax_m3.sparse_attention_config: field \"sparse_score_type\"");
}

// Words of a list, as files wrote them first and as they do now.
TEST(LayerFields, reads_the_newer_names_of_layers) {
  const auto renamed = [](const char* file, const char* field) {
    auto config = OrderedJson::parse(*read_text_file(kConfigFolder + file, "test"));
    const std::string before = stack_text_of(config);
    EXPECT_NE(before[0], '[') << before;
    for (auto& word : config[field]) {
      if (word == "mamba" || word == "conv") word = "linear_attention";
      if (word == "attention") word = "full_attention";
    }
    EXPECT_EQ(stack_text_of(config), before) << file;
    auto moved = config;
    moved[std::string(field) == "layer_types" ? "layers_block_type" : "layer_types"] = config[field];
    EXPECT_EQ(stack_text_of(moved), before) << file;  // both, in agreement
    moved.erase(field);
    EXPECT_EQ(stack_text_of(moved), before) << file;  // the other one alone
    moved[field] = config[field];
    std::swap(moved[field][0], moved[field].back());
    for (auto& word : moved[field])
      if (word != moved[field][0]) {
        std::swap(word, moved[field][0]);
        break;
      }
    EXPECT_NE(stack_text_of(moved).find("describe different layers"), std::string::npos)
        << stack_text_of(moved);
  };
  renamed("granite-4.0-h-micro.partial.json", "layer_types");
  renamed("zamba2-7b.json", "layers_block_type");
  renamed("lfm2-8b-a1b.partial.json", "layer_types");

  const auto agrees = [](const char* file, const char* old_field, const OrderedJson& words) {
    auto config = OrderedJson::parse(*read_text_file(kConfigFolder + file, "test"));
    const std::string before = stack_text_of(config);
    config["layer_types"] = words;
    EXPECT_EQ(stack_text_of(config), before) << file;
    config.erase(old_field);
    EXPECT_EQ(stack_text_of(config), before) << file;
    config["layer_types"][0] = "mystery";
    EXPECT_NE(stack_text_of(config).find("\"mystery\""), std::string::npos) << stack_text_of(config);
  };
  const auto words_for = [](const OrderedJson& list,
                            const std::vector<std::pair<OrderedJson, const char*>>& meaning) {
    OrderedJson out = OrderedJson::array();
    for (const auto& entry : list)
      for (const auto& [from, to] : meaning)
        if (entry == from) out.push_back(to);
    return out;
  };
  const auto file = [](const char* name) {
    return OrderedJson::parse(*read_text_file(kConfigFolder + name, "test"));
  };
  agrees("mimo-v2-flash.json", "hybrid_layer_pattern",
         words_for(file("mimo-v2-flash.json")["hybrid_layer_pattern"],
                   {{0, "full_attention"}, {1, "sliding_attention"}}));
  agrees(
      "deepseek-v4-flash.json", "compress_ratios",
      words_for(file("deepseek-v4-flash.json")["compress_ratios"], {{0, "sliding_attention"},
                                                                    {4, "compressed_sparse_attention"},
                                                                    {128, "heavily_compressed_attention"}}));
  agrees(
      "minimax-m1.json", "attn_type_list",
      words_for(file("minimax-m1.json")["attn_type_list"], {{0, "linear_attention"}, {1, "full_attention"}}));
  OrderedJson nano_words = OrderedJson::array();
  for (const char letter : file("nemotron-3-nano-30b-a3b.json")["hybrid_override_pattern"].get<std::string>())
    nano_words.push_back(letter == 'M' ? "linear_attention" : letter == '*' ? "full_attention" : "moe");
  agrees("nemotron-3-nano-30b-a3b.json", "hybrid_override_pattern", nano_words);

  // The same model in MiniMax-M3's two formats.
  auto old_format = file("minimax-m3.json");
  auto new_format = old_format;
  new_format["model_type"] = "minimax_m3_vl_text";
  const OrderedJson sizes = old_format["sparse_attention_config"];
  new_format["layer_types"] =
      words_for(sizes["sparse_attention_freq"], {{0, "full_attention"}, {1, "minimax_m3_sparse"}});
  new_format.erase("sparse_attention_config");
  new_format["index_block_size"] = sizes["sparse_block_size"];
  new_format["index_topk_blocks"] = sizes["sparse_topk_blocks"];
  new_format["index_n_heads"] = sizes["sparse_num_index_heads"];
  new_format["index_head_dim"] = sizes["sparse_index_dim"];
  EXPECT_EQ(stack_text_of(new_format), stack_text_of(old_format));
}

// Zamba2 hands what the shared attention made of the stream to Mamba-2: one after the other.
TEST(LayerFields, a_hybrid_layer_of_zamba2_is_attention_and_then_a_recurrence) {
  const auto zamba = model_of(OrderedJson::parse(*read_text_file(kConfigFolder + "zamba2-7b.json", "test")));
  const auto out = counted(zamba);
  EXPECT_EQ(out.layers.size(), 81u + 13u);
  EXPECT_EQ(out.pattern.substr(0, 9), "RRRRRRFRR");  // six layers, then a hybrid one
  EXPECT_EQ(out.pattern.find("∥"), std::string::npos);
  EXPECT_EQ(out.layers[6].mixer, "full");
  EXPECT_EQ(out.layers[6].cache_elements, 2 * 32 * 224);
}

const OrderedJson kSmallLlama =
    OrderedJson::parse(R"({"model_type":"llama","num_hidden_layers":4,"hidden_size":64,
  "num_attention_heads":4,"num_key_value_heads":4,"intermediate_size":128})");

TEST(LayerFields, reads_fields_of_single_layers) {
  auto config = kSmallLlama;
  config["per_layer_config"] = OrderedJson::parse(R"({"1":{"num_key_value_heads":2,"intermediate_size":64},
    "3":{"head_dim":8}})");
  EXPECT_EQ(stack_text_of(config),
            "full(heads=4,kv=4,dim=16)+full(heads=4,kv=2,dim=16)+full(heads=4,kv=4,dim=16)+"
            "full(heads=4,kv=4,dim=8)");
  config["per_layer_config"] = OrderedJson::parse(R"({"2":{"skip":["mlp"]}})");
  EXPECT_EQ(stack_text_of(config), stack_text_of(kSmallLlama));
  for (const char* key : {"4", "-1", "x", ""}) {
    config["per_layer_config"] = OrderedJson::object();
    config["per_layer_config"][key] = OrderedJson::object();
    EXPECT_NE(stack_text_of(config).find("expected an object of fields for a layer in 0..3"),
              std::string::npos);
  }
  config["per_layer_config"] = OrderedJson::parse(R"({"0":{"sliding_window":4}})");
  EXPECT_NE(stack_text_of(config).find("per_layer_config.0.sliding_window"), std::string::npos)
      << stack_text_of(config);
  config["num_hidden_layers"] = 2000;
  config["per_layer_config"] = OrderedJson::object();
  for (int i = 0; i < 2000; ++i)
    config["per_layer_config"][std::to_string(i)] = {{"intermediate_size", i + 1}};
  EXPECT_NE(stack_text_of(config).find("at most 256 kinds"), std::string::npos)
      << stack_text_of(config).substr(0, 99);
  config["per_layer_config"] = 3;
  EXPECT_EQ(stack_text_of(config).substr(0, 8), "[config]");
}

const OrderedJson kSmallGemma4 =
    OrderedJson::parse(R"({"model_type":"gemma4_text","num_hidden_layers":6,"hidden_size":64,
  "num_attention_heads":4,"num_key_value_heads":2,"head_dim":16,"global_head_dim":32,"sliding_window":8,
  "layer_types":["sliding_attention","sliding_attention","full_attention","sliding_attention",
                 "sliding_attention","full_attention"]})");

TEST(LayerFields, gemma4_says_the_sizes_of_full_layers_in_two_ways) {
  auto config = kSmallGemma4;
  config.erase("global_head_dim");
  config["per_layer_config"] = OrderedJson::parse(R"({"2":{"head_dim":32},"5":{"head_dim":32}})");
  EXPECT_EQ(stack_text_of(config), stack_text_of(kSmallGemma4));
  config = kSmallGemma4;
  config["num_global_key_value_heads"] = 1;  // counts only where keys are values
  EXPECT_EQ(stack_text_of(config), stack_text_of(kSmallGemma4));
  config["attention_k_eq_v"] = true;
  EXPECT_NE(stack_text_of(config).find("full(heads=4,kv=1,dim=32)"), std::string::npos)
      << stack_text_of(config);
}

TEST(LayerFields, layers_that_share_keys_cache_nothing) {
  auto config = kSmallGemma4;
  config["num_kv_shared_layers"] = 0;
  const auto alone = counted(model_of(config));
  EXPECT_EQ(alone.layers[5].cache_elements, 2 * 2 * 32);
  config["num_kv_shared_layers"] = 3;
  const auto shared = counted(model_of(config));
  EXPECT_EQ(shared.layers[2].cache_elements, 2 * 2 * 32);
  EXPECT_EQ(shared.layers[5].cache_elements, 0);
  EXPECT_EQ(shared.cache_bits_per_token * 2, alone.cache_bits_per_token);
  EXPECT_EQ(shared.pattern, alone.pattern);
  EXPECT_EQ(stack_text_of(config),
            "full(window=8,heads=4,kv=2,dim=16)*2+full(heads=4,kv=2,dim=32)+"
            "full(window=8,heads=4,kv=2,dim=16,keys=earlier)*2+full(heads=4,kv=2,dim=32,keys=earlier)");
  config["num_kv_shared_layers"] = 4;  // no full layer is left to share with
  EXPECT_NE(stack_text_of(config).find("layer 3 shares keys and values"), std::string::npos)
      << stack_text_of(config);
  config["num_kv_shared_layers"] = 6;
  EXPECT_EQ(stack_text_of(config).substr(0, 8), "[config]");
}

TEST(LayerFields, windowed_layers_of_step_have_sizes_of_their_own) {
  auto config = OrderedJson::parse(R"({"model_type":"step3p7","num_hidden_layers":2,"hidden_size":64,
    "num_attention_heads":4,"num_attention_groups":2,"head_dim":16,"sliding_window":8,"num_nextn_predict_layers":1,
    "layer_types":["full_attention","sliding_attention","sliding_attention"],
    "attention_other_setting":{"attention_type":"sliding_attention","num_attention_heads":6,
      "num_attention_groups":3,"head_dim":8,"true_head_dim":8}})");
  EXPECT_EQ(stack_text_of(config), "full(heads=4,kv=2,dim=16)+full(window=8,heads=6,kv=3,dim=8)");
  config["attention_other_setting"]["mystery"] = 1;
  EXPECT_NE(stack_text_of(config).find("attention_other_setting.mystery"), std::string::npos)
      << stack_text_of(config);
  config.erase("attention_other_setting");
  config["num_sliding_attention_heads"] = 8;
  EXPECT_EQ(stack_text_of(config), "full(heads=4,kv=2,dim=16)+full(window=8,heads=8,kv=2,dim=16)");
}

TEST(LayerFields, reads_attention_that_fla_mixes_in) {
  for (const char* type : {"gated_deltanet", "h_gated_deltanet", "kda", "gla"}) {
    SCOPED_TRACE(type);
    OrderedJson config = {{"model_type", type}, {"num_hidden_layers", 4}, {"hidden_size", 64},
                          {"num_heads", 2},     {"head_dim", 32},         {"expand_v", 1},
                          {"expand_k", 1}};
    EXPECT_EQ(counted(model_of(config)).pattern, "RRRR");
    config["attn"] = OrderedJson::parse(
        R"({"layers":[1,3],"num_heads":4,"num_kv_heads":2,"qkv_bias":false,"rope_theta":1e4})");
    EXPECT_EQ(counted(model_of(config)).pattern, "RFRF");
    EXPECT_EQ(counted(model_of(config)).layers[1].text, "full(heads=4,kv=2,dim=16)");
    config["attn"] =
        OrderedJson::parse(R"([{"layers":[1],"num_heads":4},{"layers":[2],"num_heads":2,"window_size":8}])");
    EXPECT_EQ(counted(model_of(config)).pattern, "RFRR");
    EXPECT_EQ(counted(model_of(config)).layers[2].text, "full(window=8,heads=2,kv=2,dim=32)");
    config["attn"][1]["layers"] = {1};
    EXPECT_NE(stack_text_of(config).find("layer 1 is listed twice"), std::string::npos)
        << stack_text_of(config);
    config["attn"] = OrderedJson::parse(R"({"layers":[4],"num_heads":4})");
    EXPECT_NE(stack_text_of(config).find("expected numbers in 0..3"), std::string::npos)
        << stack_text_of(config);
    config["attn"] = OrderedJson::parse(R"({"layers":[1],"num_heads":4,"mystery":1})");
    EXPECT_NE(stack_text_of(config).find("attn.mystery"), std::string::npos) << stack_text_of(config);
    config["attn"] = 3;
    EXPECT_EQ(stack_text_of(config).substr(0, 8), "[config]");
  }
}

TEST(LayerFields, reads_attention_that_mamba_ssm_mixes_in) {
  auto config = OrderedJson::parse(R"({"d_model":256,"d_intermediate":0,"n_layer":4,"vocab_size":50277,
    "ssm_cfg":{"layer":"Mamba2"},"attn_layer_idx":[1,3],
    "attn_cfg":{"causal":true,"d_conv":4,"head_dim":16,"num_heads":6,"out_proj_bias":false,"qkv_proj_bias":false,
      "rotary_emb_dim":8},
    "rms_norm":true,"residual_in_fp32":true,"fused_add_norm":true,"pad_vocab_size_multiple":16,"tie_embeddings":true})");
  EXPECT_EQ(stack_text_of(config),
            "(mamba2(heads=8,dim=64,state=128,groups=1,conv=4)+full(heads=6,kv=6,dim=16,conv=4))*2");
  EXPECT_EQ(counted(model_of(config)).pattern, "RRFRRF");  // the convolution on q, k, v is an R in front
  EXPECT_EQ(model_of(config).model_type, "mamba_ssm");
  config["attn_cfg"]["causal"] = false;
  EXPECT_NE(stack_text_of(config).find("\"causal\""), std::string::npos) << stack_text_of(config);
  config.erase("attn_layer_idx");
  config["ssm_cfg"] = OrderedJson::object();
  config.erase("attn_cfg");
  EXPECT_EQ(stack_text_of(config), "mamba(inner=512,state=16,conv=4)*4");
  config["ssm_cfg"]["layer"] = "Mamba3";
  EXPECT_NE(stack_text_of(config).find("\"layer\""), std::string::npos) << stack_text_of(config);

  // The same fields in a file of the other format.
  auto other = OrderedJson::parse(R"({"model_type":"mamba","num_hidden_layers":3,"n_layer":3,"hidden_size":64,
    "attn_layer_idx":[2],"attn_cfg":{"num_heads":4,"causal":true}})");
  EXPECT_EQ(counted(model_of(other)).pattern, "RRF");
  EXPECT_EQ(counted(model_of(other)).layers[2].text, "full(heads=4,kv=4,dim=16)");
  other["n_layer"] = 4;
  EXPECT_NE(stack_text_of(other).find("describe different layers"), std::string::npos)
      << stack_text_of(other);
}

// Channel mixing keeps a token as well, in attention layers too: a convolution behind every layer.
TEST(LayerFields, rwkv7_is_time_mixing_and_a_token_shift_behind_it) {
  auto config = OrderedJson::parse(R"({"model_type":"rwkv7","num_hidden_layers":3,"hidden_size":128})");
  const auto states_of = [&] {
    std::vector<std::int64_t> states;
    for (const auto& layer : counted(model_of(config)).layers) {
      EXPECT_EQ(layer.conv_elements, 128);
      if (states.size() % 2 == 1) EXPECT_EQ(layer.text, "conv(width=2,channels=128)");
      states.push_back(layer.state_elements);
    }
    return states;
  };
  using States = std::vector<std::int64_t>;
  EXPECT_EQ(states_of(), (States{8192, 0, 8192, 0, 8192, 0}));
  EXPECT_EQ(counted(model_of(config)).layers[0].text, "rwkv7(heads=2,dim=64,vdim=64)");
  EXPECT_EQ(counted(model_of(config)).layers[2].text, "rwkv7(heads=2,dim=64,vdim=64,values=first)");
  config["value_dim"] = 256;
  EXPECT_EQ(states_of(), (States{16384, 0, 16384, 0, 16384, 0}));
  config["value_dim"] = {128, 256, 384};  // values of another size are not mixed in
  EXPECT_EQ(states_of(), (States{8192, 0, 16384, 0, 24576, 0}));
  EXPECT_EQ(counted(model_of(config)).layers[2].text, "rwkv7(heads=2,dim=64,vdim=128)");
  config["value_dim"] = {128, 256};
  EXPECT_NE(stack_text_of(config).find("describes 2 layers"), std::string::npos) << stack_text_of(config);
  config["value_dim"] = 129;
  EXPECT_NE(stack_text_of(config).find("not divisible"), std::string::npos) << stack_text_of(config);
  config.erase("value_dim");
  config["attn"] = OrderedJson::parse(R"({"layers":[1],"num_heads":4})");
  EXPECT_EQ(counted(model_of(config)).pattern, "RRFRRR");
  config["decay_low_rank_dim"] = 8;
  config["v_low_rank_dim"] = 4;
  config["fuse_norm"] = false;
  EXPECT_EQ(counted(model_of(config)).layers[4].text,
            "rwkv7(heads=2,dim=64,vdim=64,rank_w=8,rank_v=4,values=first,key_norm=unit)");
}

// What a layer has around its recurrence stands in the line where the file says it.
TEST(LayerFields, attention_without_positions_is_read) {
  const auto position = [](OrderedJson config) { return model_of(config).architecture.dimensions.position; };
  OrderedJson jamba = {{"model_type", "jamba"}, {"num_hidden_layers", 8}};
  EXPECT_EQ(position(jamba), PositionCode::none);
  OrderedJson granite =
      OrderedJson::parse(*read_text_file(kConfigFolder + "granitemoehybrid-defaults.json", "test"));
  granite["layer_types"] = std::vector<std::string>(32, "attention");
  EXPECT_EQ(position(granite), PositionCode::none);
  granite["position_embedding_type"] = "rope";
  EXPECT_EQ(position(granite), PositionCode::rope);
  const auto shipped = [](const char* name) {
    return OrderedJson::parse(*read_text_file(kConfigFolder + name, "test"));
  };
  OrderedJson kimi = shipped("kimi-linear-48b-a3b-instruct.json");
  EXPECT_EQ(position(kimi), PositionCode::none);
  kimi["mla_use_nope"] = false;
  EXPECT_EQ(position(kimi), PositionCode::rope);
  OrderedJson zamba2 = shipped("zamba2-7b.json");
  EXPECT_EQ(position(zamba2), PositionCode::rope);
  zamba2["use_mem_rope"] = false;
  EXPECT_EQ(position(zamba2), PositionCode::none);
  for (const char* name : {"nemotron-h-56b-base-8k.json", "falcon-mamba-7b.json", "fla-gla-340m.json"})
    EXPECT_EQ(read_config_file(kConfigFolder + name, {})->architecture.dimensions.position,
              PositionCode::none)
        << name;
  EXPECT_EQ(position(shipped("llama-3.1-8b.json")), PositionCode::rope);
}

TEST(LayerFields, gates_norms_and_biases_are_read) {
  OrderedJson config = {{"model_type", "mamba2"}, {"num_hidden_layers", 1}, {"n_groups", 2}};
  const auto form = [&] {
    const auto layers = resolve(model_of(config).architecture);
    EXPECT_TRUE(layers) << layers.error().message;
    return layers->front().mixer.form;
  };
  EXPECT_EQ(form().norm, OutputNorm::after);
  EXPECT_EQ(form().norm_groups, 1);  // transformers normalises all groups together
  EXPECT_TRUE(form().conv_bias && form().step && form().skip == Skip::head);
  config["norm_before_gate"] = true;
  config["use_conv_bias"] = false;
  EXPECT_EQ(form().norm, OutputNorm::after);  // a field that neither library reads
  EXPECT_FALSE(form().conv_bias);
  config = {{"model_type", "falcon_mamba"},
            {"num_hidden_layers", 1},
            {"hidden_size", 64},
            {"state_size", 4},
            {"conv_kernel", 4},
            {"expand", 2},
            {"time_step_rank", 7}};
  EXPECT_EQ(form().inner_norms, InnerNorms::after);
  EXPECT_EQ(form().rank, 7);
  EXPECT_TRUE(form().select_conv && form().gate == Activation::silu);
  config = {{"model_type", "gated_deltanet"}, {"num_hidden_layers", 1}, {"use_gate", false}};
  EXPECT_TRUE(form().gate == Activation::none && form().norm == OutputNorm::before);
  EXPECT_EQ(form().key_norm, KeyNorm::l2);
  config = {{"model_type", "gla"}, {"num_hidden_layers", 1}, {"hidden_size", 64}, {"num_heads", 2},
            {"expand_k", 0.5},     {"expand_v", 1},          {"num_kv_heads", 1}, {"use_output_gate", false}};
  EXPECT_EQ(stack_text_of(config), "gla(heads=2,kv=1,dim=16,vdim=32,gate=none)");
  config = {{"model_type", "kda"}, {"num_hidden_layers", 1}, {"lower_bound", -5}};
  EXPECT_TRUE(form().bounded);
  const auto dsa =
      model_of(OrderedJson::parse(*read_text_file(kConfigFolder + "deepseek-v3.2.json", "test")));
  const MixerShape indexed = resolve(dsa.architecture)->front().mixer;
  EXPECT_TRUE(indexed.signed_weights && indexed.form.index_norm);
  EXPECT_EQ(indexed.form.kv_rank, 512);
  EXPECT_EQ(indexed.form.index_rope, Rope::half);
}

TEST(LayerFields, minimax_m3_scores_tokens_and_caches_an_index_key_of_each) {
  const auto m3 = model_of(OrderedJson::parse(*read_text_file(kConfigFolder + "minimax-m3.json", "test")));
  const auto out = counted(m3);
  EXPECT_EQ(out.layers[0].cache_elements, 1024);
  EXPECT_EQ(out.layers[3].cache_elements, 1152);
  EXPECT_NE(out.layers[3].text.find("score=tokens"), std::string::npos);
  const auto layers = *resolve(m3.architecture);
  EXPECT_TRUE(layers[3].mixer.token_scores);
  EXPECT_EQ(layers[3].mixer.groups, 4);
}

TEST(LayerFields, steps_of_the_delta_rule_beyond_one_are_read) {
  OrderedJson kda = {{"model_type", "kda"}, {"num_hidden_layers", 1}};
  EXPECT_FALSE(model_of(kda).architecture.stack.layers[0].number("range"));
  kda["allow_neg_eigval"] = true;
  EXPECT_EQ(model_of(kda).architecture.stack.layers[0].number("range"), 2);
  OrderedJson config = {{"model_type", "gated_deltanet"}, {"num_hidden_layers", 1}};
  EXPECT_FALSE(model_of(config).architecture.stack.layers[0].number("range"));
  config["allow_neg_eigval"] = true;
  EXPECT_EQ(model_of(config).architecture.stack.layers[0].number("range"), 2);
  OrderedJson plain = {
      {"model_type", "delta_net"}, {"num_hidden_layers", 1}, {"hidden_size", 64}, {"num_heads", 2},
      {"expand_k", 0.5},           {"expand_v", 1},          {"conv_size", 4},    {"qk_activation", "elu"},
      {"qk_norm", "sum"}};
  const std::string sizes = "delta(heads=2,kv=2,dim=16,vdim=32,conv=4";
  EXPECT_EQ(stack_text_of(plain), sizes + ",qk_act=elu1,qk_norm=sum)");
  plain["allow_neg_eigval"] = plain["use_gate"] = true;
  plain["use_beta"] = false;
  EXPECT_EQ(stack_text_of(plain), sizes + ",range=2,qk_act=elu1,qk_norm=sum,beta=no,gate=silu)");
  OrderedJson product = {{"model_type", "gated_deltaproduct"},
                         {"num_hidden_layers", 1},
                         {"num_heads", 2},
                         {"head_dim", 8},
                         {"expand_v", 2},
                         {"conv_size", 4},
                         {"hidden_size", 16},
                         {"num_householder", 1}};
  EXPECT_EQ(stack_text_of(product), "delta(heads=2,kv=2,dim=8,vdim=16,conv=4,gate=silu)");
  product["use_forget_gate"] = product["allow_neg_eigval"] = true;
  EXPECT_EQ(stack_text_of(product), "gdelta(heads=2,kv=2,dim=8,vdim=16,conv=4,range=2)");
  // Several writes a token: a state of 2·8·16, and three cached inputs of q, 2 k and 2 v.
  product["num_householder"] = 2;
  EXPECT_EQ(stack_text_of(product), "recurrent(kind=deltaproduct,elements=256,conv=336)");
  product["num_householder"] = std::int64_t{1} << 45;
  EXPECT_NE(stack_text_of(product).find("\"num_householder\""), std::string::npos) << stack_text_of(product);
  product["num_householder"] = std::int64_t{1} << 31;
  product["head_dim"] = 1 << 16;
  EXPECT_NE(stack_text_of(product).find("more than 2^50 elements"), std::string::npos)
      << stack_text_of(product);
  product.erase("num_householder");
  EXPECT_NE(stack_text_of(product).find("num_householder"), std::string::npos);
  const auto olmo =
      model_of(OrderedJson::parse(*read_text_file(kConfigFolder + "olmo_hybrid-defaults.json", "test")));
  const auto& layers = olmo.architecture.stack.layers;
  EXPECT_TRUE(std::any_of(layers.begin(), layers.end(),
                          [](const Mixer& mixer) { return mixer.number("range") == 2; }));
}

}  // namespace
}  // namespace rung
