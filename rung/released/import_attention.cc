// The tensor names of released attention layers (docs/parity.md): Llama's, native sparse attention (fla), DeepSeek
// sparse attention. Conventions that weights absorb: the score scale is score.tau; the index scales D^(-1/2) and
// H^(-1/2) are in index_q and index_mix.
#include <cmath>

#include "rung/released/layer_tensors.h"

namespace rung {
namespace {

double root(std::int64_t x) { return std::sqrt(static_cast<double>(x)); }

// rope_theta, under its own name or in rope_parameters; angles that are stretched are refused.
std::int64_t plain_theta(LayerTensors& in) {
  const auto parameters = in.config().find("rope_parameters");
  double theta = in.number("rope_theta", 10000);
  if (parameters != in.config().end() && parameters->is_object()) {
    const auto own = parameters->find("rope_theta");
    if (own != parameters->end() && own->is_number()) theta = own->get<double>();
    const auto type = parameters->find("rope_type");
    if (type != parameters->end() && *type != "default")
      in.refuse(fail(ErrorCode::unsupported,
                     "[import] config.json: rope_type {} is not mapped; only default angles are",
                     type->dump()));
  }
  in.expect("rope_scaling", nullptr);
  in.expect("partial_rotary_factor", 1.0);
  if (theta < 1 || theta != std::floor(theta) || theta > static_cast<double>(kMaxSize))
    in.refuse(fail(ErrorCode::range,
                   "[import] config.json: rope_theta = {}; a whole number in 1..2^31 expected", theta));
  return static_cast<std::int64_t>(theta);
}

void refuse_key_norms(LayerTensors& in) {
  for (const char* name : {"q_norm.weight", "k_norm.weight"})
    if (in.has(name))
      in.refuse(fail(ErrorCode::unsupported,
                     "[import] tensor \"{}{}\": norms of q and k in softmax attention are not mapped",
                     in.prefix(), name));
}

std::string put_llama(LayerTensors& in, std::int64_t heads, std::int64_t kv, std::int64_t dim,
                      std::optional<std::int64_t> window) {
  const std::int64_t width = in.size("hidden_size"), theta = plain_theta(in);
  refuse_key_norms(in);
  if (heads % kv != 0)
    in.refuse(fail(ErrorCode::range, "[import] config.json: {} key heads do not divide {} heads", kv, heads));
  in.move("q_proj", "q", heads * dim, width);
  in.move("k_proj", "k", kv * dim, width);
  in.move("v_proj", "v", kv * dim, width);
  in.move("o_proj", "o", width, heads * dim);
  in.put_real("score.tau", 1 / root(dim));
  return fmt::format("full({}heads={},kv={},dim={},rope=half,theta={})",
                     window ? fmt::format("window={},", *window) : "", heads, kv, dim, theta);
}
std::string put_softmax(LayerTensors& in, std::optional<std::int64_t> window) {
  const std::int64_t heads = in.size("num_attention_heads");
  const std::int64_t kv = in.size("num_key_value_heads", heads);
  const std::int64_t dim = in.size("head_dim", in.size("hidden_size") / heads);
  return put_llama(in, heads, kv, dim, window);
}
std::string import_llama(LayerTensors& in) {
  return put_softmax(in, std::nullopt);
}  // the class has no window
std::string import_mistral(LayerTensors& in) {
  std::optional<std::int64_t> window;
  if (in.has_field("sliding_window")) window = in.size("sliding_window");
  return put_softmax(in, window);
}
// Windows are off unless a flag says so, and then only from a layer on.
std::string import_qwen2(LayerTensors& in) {
  std::optional<std::int64_t> window;
  if (in.flag("use_sliding_window", false) && in.has_field("sliding_window")) {
    if (in.has_field("layer_types"))
      in.refuse(fail(ErrorCode::unsupported,
                     "[import] config.json: layer_types beside use_sliding_window is not mapped"));
    if (static_cast<double>(in.layer()) >= in.number("max_window_layers", 28))
      window = in.size("sliding_window");
  }
  return put_softmax(in, window);
}
std::string import_transformer(LayerTensors& in) {
  const std::int64_t heads = in.size("num_heads", 32), kv = in.size("num_kv_heads", heads);
  std::optional<std::int64_t> window;
  if (in.has_field("window_size")) window = in.size("window_size");
  return put_llama(in, heads, kv, in.size("hidden_size") / heads, window);
}

// fla's native sparse attention: means of rotated keys; the first, the previous and the own block come first.
std::string import_nsa(LayerTensors& in) {
  const std::int64_t width = in.size("hidden_size"), heads = in.size("num_heads", 64),
                     kv = in.size("num_kv_heads", 4);
  const std::int64_t dim = in.size("head_dim", 32), block = in.size("block_size", 64),
                     count = in.size("block_counts", 16);
  const std::int64_t window = in.size("window_size", 512), theta = plain_theta(in);
  in.move("q_proj", "q", heads * dim, width);
  in.move("k_proj", "k", kv * dim, width);
  in.move("v_proj", "v", kv * dim, width);
  in.move("g_proj", "mix", heads * 3, width);
  in.move("o_proj", "o", width, heads * dim);
  in.put_real("score.tau", 1 / root(dim));
  return fmt::format("sparse(form=released,B={},k={},window={},heads={},kv={},dim={},theta={})", block, count,
                     window, heads, kv, dim, theta);
}

// DeepSeek-V3.2: multi-head latent attention with an indexer.
std::string import_deepseek_v32(LayerTensors& in) {
  const std::int64_t width = in.size("hidden_size"), heads = in.size("num_attention_heads");
  const std::int64_t nope = in.size("qk_nope_head_dim"), rope = in.size("qk_rope_head_dim"),
                     vdim = in.size("v_head_dim");
  const std::int64_t q_rank = in.size("q_lora_rank"), kv_rank = in.size("kv_lora_rank");
  const std::int64_t index_heads = in.size("index_n_heads"), index_dim = in.size("index_head_dim");
  const std::int64_t select = in.size("index_topk", 2048), theta = plain_theta(in);
  const double epsilon = in.number("rms_norm_eps", 1e-6);
  in.move("q_a_proj", "q_low", q_rank, width);
  in.put("q_norm.gain", in.take("q_a_layernorm.weight", {q_rank}));
  in.put_real("q_norm.epsilon", epsilon);
  in.move("q_b_proj", "q", heads * (nope + rope), q_rank);
  in.move("kv_a_proj_with_mqa", "kv_low", kv_rank + rope, width);
  in.put("kv_norm.gain", in.take("kv_a_layernorm.weight", {kv_rank}));
  in.put_real("kv_norm.epsilon", epsilon);
  const Tensor both = in.take("kv_b_proj.weight", {heads * (nope + vdim), kv_rank});
  in.move("o_proj", "o", width, heads * vdim);
  const Tensor index_q = in.take("indexer.wq_b.weight", {index_heads * index_dim, q_rank});
  in.move("indexer.wk", "index_k", index_dim, width);
  in.put("index_norm.gain", in.take("indexer.k_norm.weight", {index_dim}));
  in.put("index_norm.bias", in.take("indexer.k_norm.bias", {index_dim}));
  in.put_real("index_norm.epsilon", 1e-6);
  const Tensor mix = in.take("indexer.weights_proj.weight", {index_heads, width});
  if (in.error()) return "";
  const auto cut = [&](std::int64_t first, std::int64_t count) {
    std::vector<std::int64_t> rows;
    for (std::int64_t h = 0; h < heads; ++h)
      for (std::int64_t i = 0; i < count; ++i) rows.push_back(h * (nope + vdim) + first + i);
    return gathered_rows(both, rows);
  };
  in.put("k.weight", cut(0, nope));
  in.put("v.weight", cut(nope, vdim));
  in.put("index_q.weight", mapped(index_q, [&](double x) { return x / root(index_dim); }));
  in.put("index_mix.weight", mapped(mix, [&](double x) { return x / root(index_heads); }));
  in.put_real("score.tau", 1 / root(nope + rope));
  return fmt::format(
      "topk(k={},heads={},dim={},vdim={},index_heads={},index_dim={},weights=signed,q_rank={},kv_rank={},"
      "rope=interleaved,rope_dim={},theta={},index_rope=half,index_norm=yes)",
      select, heads, nope + rope, vdim, index_heads, index_dim, q_rank, kv_rank, rope, theta);
}

}  // namespace

std::vector<ImportFamily> attention_imports() {
  const auto llama = [](std::string_view type, MapLayer map) {
    return ImportFamily{type,
                        false,
                        "model.layers.{}.self_attn.",
                        "model.layers.{}.input_layernorm",
                        "model.embed_tokens",
                        "model.norm",
                        map,
                        "rms_norm_eps",
                        1e-6};
  };
  const auto fla = [](std::string_view type, MapLayer map) {
    return ImportFamily{
        type,         true, "model.layers.{}.attn.", "model.layers.{}.attn_norm", "model.embeddings",
        "model.norm", map};
  };
  return {llama("llama", import_llama),           llama("mistral", import_mistral),
          llama("qwen2", import_qwen2),           llama("deepseek_v32", import_deepseek_v32),
          fla("transformer", import_transformer), fla("nsa", import_nsa)};
}

}  // namespace rung
