#include "tests/parity/released_case.h"

#include <algorithm>
#include <cmath>
#include <fstream>

#include <gtest/gtest.h>

#include "rung/spec/safetensors.h"

namespace rung::parity {
namespace {

using nlohmann::json;

void append(const json& value, std::vector<double>& out) {
  if (value.is_array())
    for (const auto& entry : value) append(entry, out);
  else
    out.push_back(value.is_null() ? -INFINITY : value.get<double>());
}

Tensor tensor_of(const json& array) {
  std::vector<std::int64_t> shape;
  for (const json* at = &array; at->is_array(); at = &(*at)[0])
    shape.push_back(static_cast<std::int64_t>(at->size()));
  return real_tensor(shape, flat(array), DType::f64);
}

// Where a library keeps a layer, and the fields that say what it is.
struct Layout {
  TensorNaming from = TensorNaming::transformers;
  std::string mixer, norm, embedding, final_norm;
  json config;
};

Layout fla(const std::string& type) {
  return {TensorNaming::fla, "model.layers.{}.attn.", "model.layers.{}.attn_norm", "model.embeddings",
          "model.norm",      {{"model_type", type}}};
}
Layout backbone(TensorNaming from, const std::string& type, const std::string& norm = "norm") {
  return {from,
          "backbone.layers.{}.mixer.",
          "backbone.layers.{}." + norm,
          "backbone.embeddings",
          "backbone.norm_f",
          {{"model_type", type}}};
}
Layout transformers(const std::string& type, const std::string& mixer) {
  return {TensorNaming::transformers,
          "model.layers.{}." + mixer + ".",
          "model.layers.{}.input_layernorm",
          "model.embed_tokens",
          "model.norm",
          {{"model_type", type}}};
}

double ratio(const json& a, const json& b) { return a.get<double>() / b.get<double>(); }

Layout layout_of(const ReleasedCase& one) {
  const std::string family = one.content["family"];
  const json& d = one.content["dims"];
  const auto begins = [&](const char* text) { return family.starts_with(text); };
  Layout out;
  if (begins("Mamba-1")) {
    out = backbone(TensorNaming::transformers, "mamba");
    out.config.update({{"state_size", d["d_state"]}, {"conv_kernel", d["conv_width"]}});
  } else if (begins("FalconMamba")) {
    out = backbone(TensorNaming::transformers, "falcon_mamba");
    out.config.update({{"state_size", d["d_state"]}, {"conv_kernel", d["conv_width"]}});
  } else if (begins("Mamba-2") || begins("Log-linear attention over Mamba-2")) {
    const bool levels = begins("Log");
    out = levels ? backbone(TensorNaming::fla, "hattention", "mixer_norm")
                 : backbone(d.value("n_groups", 1) > 1 ? TensorNaming::fla : TensorNaming::transformers,
                            "mamba2");
    out.config.update({{"n_groups", d["n_groups"]},
                       {"conv_kernel", d["conv_width"]},
                       {"layer_norm_epsilon", d["norm_eps"]},
                       {"norm_eps", d["norm_eps"]}});
    if (d.contains("time_step_limit")) out.config["time_step_limit"] = d["time_step_limit"];
  } else if (begins("Gated DeltaNet (Qwen3-Next)")) {
    out = transformers("qwen3_next", "linear_attn");
    out.config.update({{"linear_num_key_heads", d["n_k_heads"]},
                       {"linear_num_value_heads", d["n_v_heads"]},
                       {"linear_key_head_dim", d["head_k_dim"]},
                       {"linear_value_head_dim", d["head_v_dim"]},
                       {"linear_conv_kernel_dim", d["conv_width"]},
                       {"rms_norm_eps", d["norm_eps"]}});
  } else if (begins("Gated DeltaNet") || begins("Log-linear attention over Gated DeltaNet") ||
             begins("Kimi")) {
    out = fla(begins("Kimi") ? "kda" : begins("Log") ? "h_gated_deltanet" : "gated_deltanet");
    out.config.update({{"num_heads", d["n_heads"]},
                       {"num_v_heads", d.value("n_v_heads", d["n_heads"].get<int>())},
                       {"head_dim", d["head_k_dim"]},
                       {"expand_v", ratio(d["head_v_dim"], d["head_k_dim"])},
                       {"conv_size", d["conv_width"]},
                       {"norm_eps", d["norm_eps"]},
                       {"allow_neg_eigval", d.value("allow_neg_eigval", false)}});
    if (d.contains("lower_bound") && !d["lower_bound"].is_null())
      out.config["lower_bound"] = d["lower_bound"];
  } else if (begins("DeltaNet") || begins("GLA")) {
    const double heads = d["n_heads"].get<double>();
    out = fla(begins("GLA") ? "gla" : "delta_net");
    out.config.update({{"num_heads", d["n_heads"]},
                       {"expand_k", heads * ratio(d["head_k_dim"], d["d_model"])},
                       {"expand_v", heads * ratio(d["head_v_dim"], d["d_model"])},
                       {"norm_eps", d["norm_eps"]},
                       {"allow_neg_eigval", d.value("allow_neg_eigval", false)}});
    if (d.contains("gate_logit_normalizer")) out.config["gate_logit_normalizer"] = d["gate_logit_normalizer"];
    if (d.contains("n_kv_heads")) out.config["num_kv_heads"] = d["n_kv_heads"];
    for (const char* name :
         {"use_short_conv", "qk_activation", "qk_norm", "use_gate", "clamp_min", "use_beta"})
      if (d.contains(name)) out.config[name] = d[name];
    if (d.contains("conv_width")) out.config["conv_size"] = d["conv_width"];
  } else if (begins("RWKV-7")) {
    out = fla("rwkv7");
    out.config.update(
        {{"head_dim", d["head_dim"]}, {"norm_eps", d["norm_eps"]}, {"fuse_norm", d["fuse_norm"]}});
  } else if (begins("NSA")) {
    out = fla("nsa");
    out.config.update({{"num_heads", d["n_heads"]},
                       {"num_kv_heads", d["n_kv_heads"]},
                       {"head_dim", d["head_dim"]},
                       {"block_size", d["block_size"]},
                       {"block_counts", d["block_counts"]},
                       {"window_size", d["window_size"]},
                       {"rope_theta", d["rope_theta"]}});
  } else if (begins("DSA")) {
    out = transformers("deepseek_v32", "self_attn");
    for (const char* name : {"qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim", "q_lora_rank",
                             "kv_lora_rank", "index_n_heads", "index_head_dim", "index_topk", "rope_theta"})
      out.config[name] = d[name];
    out.config.update({{"num_attention_heads", d["n_heads"]}, {"rms_norm_eps", d["norm_eps"]}});
  } else {
    out = transformers("llama", "self_attn");
    out.config.update({{"num_attention_heads", d["n_heads"]},
                       {"num_key_value_heads", d["n_kv_heads"]},
                       {"head_dim", d["head_dim"]},
                       {"rope_theta", d["rope_theta"]}});
  }
  out.config["hidden_size"] = d["d_model"];
  return out;
}

std::string at_layer(std::string pattern, std::int64_t layer) {
  return pattern.replace(pattern.find("{}"), 2, std::to_string(layer));
}

}  // namespace

std::vector<double> flat(const json& array) {
  std::vector<double> out;
  append(array, out);
  return out;
}

std::vector<double> ReleasedCase::numbers(const char* key) const { return flat(content.at(key)); }
std::vector<double> ReleasedCase::state(const char* key) const {
  return flat(content.at("final_state").at(key));
}

void PrintTo(const ReleasedCase& one, std::ostream* out) { *out << one.name; }

std::vector<ReleasedCase> released_cases() {
  std::vector<ReleasedCase> all;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(RUNG_SOURCE_DIR) + "/tests/cases/parity"))
    if (entry.path().extension() == ".json") {
      std::ifstream in(entry.path());
      all.push_back({entry.path().stem().string(), json::parse(in)});
    }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return all;
}

ReleasedModelDirectory write_model(const ReleasedCase& one, const std::filesystem::path& folder,
                                   const ChangeModel& change) {
  Layout layout = layout_of(one);
  const std::int64_t layer = one.content["dims"].value("layer_idx", 0);
  std::map<std::string, Tensor> all;
  for (const auto& [name, array] : one.content["weights"].items())
    all[at_layer(layout.mixer, layer) + name] = tensor_of(array);
  std::vector<double> ones(static_cast<std::size_t>(one.width()), 1.0);
  for (const auto& name : {at_layer(layout.norm, layer), layout.final_norm})
    all[name + ".weight"] = real_tensor({one.width()}, ones, DType::f64);
  all[layout.embedding + ".weight"] = all["lm_head.weight"] = tensor_of(one.content["input"]);
  // What an import leaves out: a part of the MLP.
  all[layout.norm.substr(0, layout.norm.find("{}")) + std::to_string(layer) + ".mlp.up_proj.weight"] =
      real_tensor({one.width()}, ones, DType::f32);
  if (change) change(layout.config, all);
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "config.json") << layout.config.dump(1);
  TensorFile first, second;  // two shards
  for (auto& [name, tensor] : all)
    (first.tensors.size() <= all.size() / 2 ? first : second).tensors[name] = tensor;
  EXPECT_TRUE(write_safetensors((folder / "model-00001-of-00002.safetensors").string(), first));
  EXPECT_TRUE(write_safetensors((folder / "model-00002-of-00002.safetensors").string(), second));
  return {folder, layout.from, layer};
}

}  // namespace rung::parity
