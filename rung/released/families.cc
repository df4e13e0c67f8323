#include "rung/released/families.h"

#include "rung/base/checked_size.h"
#include "rung/base/nearest_word.h"
#include "rung/base/require.h"

namespace rung {
namespace {

std::string sizes_text(const AttentionSizes& sizes) {
  std::string out = fmt::format("heads={},kv={},dim={}", sizes.heads, sizes.kv, sizes.dim);
  if (sizes.vdim > 0 && sizes.vdim != sizes.dim) out += fmt::format(",vdim={}", sizes.vdim);
  if (sizes.cache > 0) out += fmt::format(",cache={}", sizes.cache);
  if (sizes.earlier_keys) out += ",keys=earlier";
  return out;
}

}  // namespace

std::string full_text(const AttentionSizes& sizes) { return fmt::format("full({})", sizes_text(sizes)); }

std::string window_text(std::int64_t window, const AttentionSizes& sizes) {
  return fmt::format("full(window={},{})", window, sizes_text(sizes));
}

Result<AttentionSizes> attention_sizes(ConfigFields& fields, std::string_view heads, std::string_view kv,
                                       std::string_view dim) {
  AttentionSizes out;
  RUNG_TRY(out.heads, fields.size(heads));
  RUNG_TRY(out.kv, fields.size_or(kv, out.heads));
  RUNG_TRY(out.dim, fields.size_or(dim, 0));
  if (out.dim == 0) {
    RUNG_TRY(const std::int64_t hidden, fields.size("hidden_size"));
    RUNG_TRY(out.dim, fields.quotient("hidden_size", hidden, heads, out.heads));
  }
  return out;
}

Result<AttentionSizes> latent_sizes(ConfigFields& fields, std::string_view heads) {
  AttentionSizes out;
  RUNG_TRY(out.heads, fields.size(heads));
  RUNG_TRY(const std::int64_t latent, fields.size("kv_lora_rank"));
  RUNG_TRY(const std::int64_t plain, fields.size("qk_nope_head_dim"));
  RUNG_TRY(const std::int64_t rotary, fields.size("qk_rope_head_dim"));
  RUNG_TRY(out.vdim, fields.size("v_head_dim"));
  out.kv = out.heads;
  out.dim = plain + rotary;
  out.cache = latent + rotary;
  return out;
}

std::string activation_word(const std::string& fla) {
  return fla == "elu" ? "elu1" : fla == "identity" ? "none" : fla;
}

std::string recurrent_text(std::string_view kind, std::int64_t elements, std::int64_t conv_elements) {
  return conv_elements > 0
             ? fmt::format("recurrent(kind={},elements={},conv={})", kind, elements, conv_elements)
             : fmt::format("recurrent(kind={},elements={})", kind, elements);
}

WordTexts hybrid_words(const std::string& recurrent, const std::string& full) {
  return {
      {"mamba", recurrent}, {"linear_attention", recurrent}, {"attention", full}, {"full_attention", full}};
}

Result<LayerTexts> agreed(const ConfigFields& fields, const std::vector<LayerListing>& listings) {
  RUNG_REQUIRE(!listings.empty(), "no listing of the layers of {}", fields.model_type());
  for (const auto& listing : listings)
    if (listing.texts != listings.front().texts)
      return fields.disagree(listings.front().field, listing.field);
  return listings.front().texts;
}

Result<std::vector<LayerListing>> listed(ConfigFields& fields, const WordTexts& texts) {
  std::vector<LayerListing> out;
  for (const char* name : {"layer_types", "layers_block_type"}) {
    if (!fields.has(name)) continue;
    RUNG_TRY(LayerTexts layers, by_word(fields, name, texts));
    out.push_back({name, std::move(layers)});
  }
  return out;
}

Result<LayerTexts> by_index(ConfigFields& fields, std::string_view name, const std::string& chosen,
                            const std::string& rest) {
  RUNG_TRY(const std::int64_t layers, fields.layers());
  RUNG_TRY(const auto indices, fields.numbers(name, 0, layers - 1));
  LayerTexts out(static_cast<std::size_t>(layers), rest);
  for (const auto i : indices) out[static_cast<std::size_t>(i)] = chosen;
  return out;
}

Result<LayerTexts> by_word(ConfigFields& fields, std::string_view name, const WordTexts& texts) {
  RUNG_TRY(const std::int64_t layers, fields.layers());
  RUNG_TRY(auto words, fields.words(name));
  RUNG_TRY(const auto predicting, fields.stated_count("num_nextn_predict_layers"));
  if (static_cast<std::int64_t>(words.size()) ==
      layers + predicting)  // multi-token prediction's own, at the end
    words.resize(static_cast<std::size_t>(layers));
  RUNG_CHECK(fields.same_length(name, words.size(), layers));
  LayerTexts out;
  for (const auto& word : words) {
    const auto found = texts.find(word);
    if (found == texts.end()) {
      std::vector<std::string_view> known;
      for (const auto& [text, ignored] : texts) known.push_back(text);
      return fields.refused(ErrorCode::unsupported, fmt::format("field \"{}\" holds {}; {}", name,
                                                                rung::quoted(word), suggest(word, known)));
    }
    out.push_back(found->second);
  }
  return out;
}

Result<LayerTexts> repeat(ConfigFields& fields, const std::string& text) {
  RUNG_TRY(const std::int64_t layers, fields.layers());
  return LayerTexts(static_cast<std::size_t>(layers), text);
}

}  // namespace rung
