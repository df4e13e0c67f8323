// Attention that selects or compresses: token top-k, block-sparse, compressed blocks.
#include "rung/released/families.h"

namespace rung {
namespace {

// Index weights have their sign, index keys a layer norm and rotary positions of their own; queries, keys and values
// come from latents.
Result<std::string> selecting(ConfigFields& f, const AttentionSizes& a) {
  RUNG_TRY(const std::int64_t k, f.size("index_topk"));
  RUNG_TRY(const std::int64_t heads, f.size("index_n_heads"));
  RUNG_TRY(const std::int64_t dim, f.size("index_head_dim"));
  RUNG_TRY(const std::int64_t kv_rank, f.size("kv_lora_rank"));
  RUNG_TRY(const std::int64_t turned, f.size("qk_rope_head_dim"));
  RUNG_TRY(const auto q_rank, f.stated("q_lora_rank"));
  RUNG_TRY(const bool pairs, f.flag("indexer_rope_interleave", false));
  std::string form = ",form=plain,weights=signed";
  if (q_rank && turned % 2 == 0 && turned <= dim)
    form = fmt::format(",form=released,q_rank={},kv_rank={},rope=interleaved,rope_dim={},index_rope={}",
                       *q_rank, kv_rank, turned, pairs ? "interleaved" : "half");
  return fmt::format("topk(k={},heads={},kv={},dim={},vdim={},index_heads={},index_dim={},cache={}{})", k,
                     a.heads, a.kv, a.dim, a.vdim, heads, dim, a.cache, form);
}

// Every layer selects tokens with an indexer, over one cached latent. index_topk_freq above 1 lets layers use
// the selection of an earlier one, which no mixer here describes.
Result<LayerTexts> token_selection(ConfigFields& f) {
  RUNG_TRY(const auto sizes, latent_sizes(f));
  RUNG_TRY(const auto text, selecting(f, sizes));
  RUNG_TRY(const auto every, f.stated("index_topk_freq"));
  if (every.value_or(1) != 1) return f.wrong("index_topk_freq", "1: every layer selects for itself");
  f.passed_over({"index_skip_topk_offset"});
  if (f.has("indexer_types")) RUNG_CHECK(by_word(f, "indexer_types", {{"full", text}}));
  if (f.has("layer_types")) return by_word(f, "layer_types", {{"deepseek_sparse_attention", text}});
  return repeat(f, text);
}

// compress_ratios: 0 window, 4 compressed sparse, 128 heavily compressed; the entries after num_hidden_layers
// belong to multi-token prediction. Newer files write layer_types and compress_rates. One vector of head_dim
// is key and value at once; every layer keeps the window.
Result<LayerTexts> deepseek_v4(ConfigFields& f) {
  RUNG_TRY(const std::int64_t layers, f.layers());
  RUNG_TRY(AttentionSizes a, attention_sizes(f));
  a.cache = a.kv * a.dim;
  RUNG_TRY(const std::int64_t window, f.size("sliding_window"));
  RUNG_TRY(const std::int64_t index_dim, f.size("index_head_dim"));
  f.passed_over({"index_topk", "index_n_heads"});  // which entries are read; none is kept for it
  std::int64_t sparse_rate = 4, heavy_rate = 128;
  if (f.has("compress_rates")) {
    RUNG_TRY(auto rates, f.object("compress_rates"));
    RUNG_TRY(sparse_rate, rates.size_or("compressed_sparse_attention", sparse_rate));
    RUNG_TRY(heavy_rate, rates.size_or("heavily_compressed_attention", heavy_rate));
  }
  const std::string local = window_text(window, a);
  // The entries of the first kind carry an index key.
  const std::string sparse = fmt::format("compressed(kind=csa,ratio={},entry={},window={},cache={})",
                                         sparse_rate, a.cache + index_dim, window, a.cache);
  const std::string heavy =
      fmt::format("compressed(kind=hca,ratio={},entry={},window={})", heavy_rate, a.cache, window);
  f.note(
      "keys and values are one vector of head_dim; the pending block of a compressed layer is not counted");
  RUNG_TRY(auto listings, listed(f, {{"sliding_attention", local},
                                     {"compressed_sparse_attention", sparse},
                                     {"heavily_compressed_attention", heavy}}));
  if (f.has("compress_ratios") || listings.empty()) {
    RUNG_TRY(auto ratios, f.numbers("compress_ratios", 0, kMaxSize));
    RUNG_TRY(const std::int64_t predicted, f.stated_count("num_nextn_predict_layers"));
    if (static_cast<std::int64_t>(ratios.size()) == layers + predicted)
      ratios.resize(static_cast<std::size_t>(layers));
    RUNG_CHECK(f.same_length("compress_ratios", ratios.size(), layers));
    LayerListing marked{"compress_ratios", {}};
    for (const auto ratio : ratios) {
      if (ratio != 0 && ratio != sparse_rate && ratio != heavy_rate)
        return f.refused(ErrorCode::unsupported, fmt::format("compress_ratios holds {}; expected 0, {} or {}",
                                                             ratio, sparse_rate, heavy_rate));
      marked.texts.push_back(ratio == 0 ? local : ratio == sparse_rate ? sparse : heavy);
    }
    listings.push_back(std::move(marked));
  }
  return agreed(f, listings);
}

// Blocks of tokens, the best of which are read whole. A block's score is the best index score of its tokens:
// nothing is compressed, and an index key of every token is cached. sparse_attention_config holds the sizes
// and marks the layers; newer files write index_* fields and layer_types.
Result<LayerTexts> minimax_m3(ConfigFields& f) {
  RUNG_TRY(const std::int64_t layers, f.layers());
  RUNG_TRY(const auto a, attention_sizes(f));
  const bool nested = f.has("sparse_attention_config");
  if (!nested && !f.has("layer_types"))
    return f.missing("sparse_attention_config",
                     "nor is \"layer_types\" there, and the layer list is never guessed");
  RUNG_TRY(auto sizes, nested ? f.object("sparse_attention_config") : Result<ConfigFields>(f));
  const auto read = [&](const char* old_name, const char* new_name) {
    return sizes.size(nested ? old_name : new_name);
  };
  RUNG_TRY(const std::int64_t block, read("sparse_block_size", "index_block_size"));
  RUNG_TRY(const std::int64_t k, read("sparse_topk_blocks", "index_topk_blocks"));
  RUNG_TRY(const std::int64_t index_heads, read("sparse_num_index_heads", "index_n_heads"));
  RUNG_TRY(const std::int64_t index_dim, read("sparse_index_dim", "index_head_dim"));
  // Blocks that are always read come first among the k.
  sizes.passed_over({"sparse_init_block", "sparse_local_block", "index_local_blocks"});
  const std::string full = full_text(a);
  const std::string sparse =
      fmt::format("sparse(B={},k={},groups={},heads={},kv={},dim={},score=tokens,index_dim={})", block, k,
                  index_heads, a.heads, a.kv, a.dim, index_dim);
  RUNG_TRY(auto listings, listed(f, {{"full_attention", full}, {"minimax_m3_sparse", sparse}}));
  if (!nested) return agreed(f, listings);
  if (const auto type = sizes.stated_text("sparse_score_type"); type && type != "max")
    return sizes.wrong("sparse_score_type", "\"max\", the best score of a token in the block");
  RUNG_TRY(const bool used, sizes.flag("use_sparse_attention", true));
  RUNG_TRY(const auto marks, sizes.numbers("sparse_attention_freq", 0, 1));
  RUNG_CHECK(f.same_length("sparse_attention_config.sparse_attention_freq", marks.size(), layers));
  if (sizes.has("sparse_disable_index_value")) {
    RUNG_TRY(const auto selects_only, sizes.numbers("sparse_disable_index_value", 0, 1));
    for (std::size_t i = 0; i < marks.size(); ++i)
      if (marks[i] == 1 && (i >= selects_only.size() || selects_only[i] == 0))
        return sizes.wrong("sparse_disable_index_value", "1 in every sparse layer: the index has no values");
  }
  LayerListing marked{"sparse_attention_config.sparse_attention_freq", {}};
  for (const auto mark : marks) marked.texts.push_back(mark == 1 && used ? sparse : full);
  listings.push_back(std::move(marked));
  return agreed(f, listings);
}

Result<LayerTexts> nsa(ConfigFields& f) {
  RUNG_TRY(const auto a, attention_sizes(f, "num_heads", "num_kv_heads"));
  RUNG_TRY(const std::int64_t block, f.size("block_size"));
  RUNG_TRY(const std::int64_t k, f.size("block_counts"));
  RUNG_TRY(const std::int64_t window, f.size("window_size"));
  return repeat(f, fmt::format("sparse(B={},k={},window={},heads={},kv={},dim={},form=released)", block, k,
                               window, a.heads, a.kv, a.dim));
}

}  // namespace

Result<LayerTexts> read_deepseek_native(ConfigFields& f) {
  RUNG_TRY(const std::int64_t layers, f.layers("n_layers"));
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
          {"minimax_m3_vl_text", "", minimax_m3},
          {"nsa", "fla-nsa", nsa}};
}

}  // namespace rung
