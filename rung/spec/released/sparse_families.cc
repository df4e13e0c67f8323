// Attention that selects or compresses: token top-k, block-sparse, compressed blocks.
#include "rung/spec/released/families.h"

namespace rung {
namespace {

std::string topk_text(std::int64_t k, std::int64_t index_heads, std::int64_t index_dim,
                      const AttentionSizes& a) {
  return fmt::format("topk(k={},heads={},kv={},dim={},vdim={},index_heads={},index_dim={},cache={})", k,
                     a.heads, a.kv, a.dim, a.vdim, index_heads, index_dim, a.cache);
}

Result<std::string> selecting(ConfigFields& f, const AttentionSizes& sizes) {
  RUNG_TRY(const std::int64_t k, f.size("index_topk"));
  RUNG_TRY(const std::int64_t heads, f.size("index_n_heads"));
  RUNG_TRY(const std::int64_t dim, f.size("index_head_dim"));
  return topk_text(k, heads, dim, sizes);
}

// Every layer selects tokens with an indexer, over one cached latent.
Result<LayerTexts> token_selection(ConfigFields& f) {
  RUNG_TRY(const auto sizes, latent_sizes(f));
  RUNG_TRY(const auto text, selecting(f, sizes));
  return repeat(f, text);
}

// compress_ratios: 0 window, 4 compressed sparse, 128 heavily compressed; the entries after num_hidden_layers
// belong to multi-token prediction. One vector of head_dim is key and value at once; every layer keeps the
// window.
Result<LayerTexts> deepseek_v4(ConfigFields& f) {
  RUNG_TRY(const std::int64_t layers, f.layers());
  RUNG_TRY(AttentionSizes a, attention_sizes(f));
  a.cache = a.kv * a.dim;
  RUNG_TRY(const std::int64_t window, f.size("sliding_window"));
  RUNG_TRY(const std::int64_t index_dim, f.size("index_head_dim"));
  RUNG_TRY(auto ratios, f.numbers("compress_ratios", 0, kMaxSize));
  RUNG_TRY(const auto predicted, f.stated("num_nextn_predict_layers"));
  if (static_cast<std::int64_t>(ratios.size()) == layers + predicted.value_or(0))
    ratios.resize(static_cast<std::size_t>(layers));
  RUNG_CHECK(f.same_length("compress_ratios", ratios.size(), layers));
  f.note(
      "keys and values are one vector of head_dim; the pending block of a compressed layer is not counted");
  LayerTexts out;
  for (const auto ratio : ratios) {
    if (ratio == 0)
      out.push_back(window_text(window, a));
    else if (ratio == 4)  // its entries carry an index key
      out.push_back(fmt::format("compressed(kind=csa,ratio=4,entry={},window={},cache={})",
                                a.cache + index_dim, window, a.cache));
    else if (ratio == 128)
      out.push_back(fmt::format("compressed(kind=hca,ratio=128,entry={},window={})", a.cache, window));
    else
      return f.refused(ErrorCode::unsupported,
                       fmt::format("compress_ratios holds {}; expected 0, 4 or 128", ratio));
  }
  return out;
}

// sparse_attention_config: blocks of sparse_block_size, sparse_topk_blocks of them, in the layers marked 1.
Result<LayerTexts> minimax_m3(ConfigFields& f) {
  RUNG_TRY(const std::int64_t layers, f.layers());
  RUNG_TRY(const auto a, attention_sizes(f));
  RUNG_TRY(auto sparse, f.object("sparse_attention_config"));
  RUNG_TRY(const std::int64_t block, sparse.size("sparse_block_size"));
  RUNG_TRY(const std::int64_t k, sparse.size("sparse_topk_blocks"));
  RUNG_TRY(const auto marks, sparse.numbers("sparse_attention_freq", 0, 1));
  RUNG_CHECK(f.same_length("sparse_attention_config.sparse_attention_freq", marks.size(), layers));
  f.note("sparse: the closest (B,k) of the language; the indexer's own cache is not counted");
  LayerTexts out;
  for (const auto mark : marks)
    out.push_back(
        mark == 0 ? full_text(a)
                  : fmt::format("sparse(B={},k={},heads={},kv={},dim={})", block, k, a.heads, a.kv, a.dim));
  return out;
}

Result<LayerTexts> nsa(ConfigFields& f) {
  RUNG_TRY(const auto a, attention_sizes(f, "num_heads", "num_kv_heads"));
  RUNG_TRY(const std::int64_t block, f.size("block_size"));
  RUNG_TRY(const std::int64_t k, f.size("block_counts"));
  RUNG_TRY(const std::int64_t window, f.size("window_size"));
  return repeat(f, fmt::format("sparse(B={},k={},window={},heads={},kv={},dim={})", block, k, window, a.heads,
                               a.kv, a.dim));
}

}  // namespace

Result<LayerTexts> read_deepseek_native(ConfigFields& f) {
  RUNG_TRY(const std::int64_t layers, f.size("n_layers"));
  if (layers > kMaxLayers) return f.wrong("n_layers", fmt::format("at most {}", kMaxLayers));
  RUNG_TRY(const auto sizes, latent_sizes(f, "n_heads"));
  if (!f.has("index_topk")) return LayerTexts(static_cast<std::size_t>(layers), full_text(sizes));
  RUNG_TRY(const auto text, selecting(f, sizes));
  return LayerTexts(static_cast<std::size_t>(layers), text);
}

std::vector<Family> sparse_families() {
  return {{"deepseek_v32", "deepseek_v32", token_selection},
          {"glm_moe_dsa", "", token_selection},
          {"deepseek_v4", "", deepseek_v4},
          {"minimax_m3", "", minimax_m3},
          {"nsa", "fla-nsa", nsa}};
}

}  // namespace rung
