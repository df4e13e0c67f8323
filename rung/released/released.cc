#include "rung/released/released.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>

#include "rung/base/checked_size.h"
#include "rung/base/json_text.h"
#include "rung/base/nearest_word.h"
#include "rung/base/require.h"
#include "rung/released/class_defaults.h"
#include "rung/released/families.h"
#include "rung/released/layer_fields.h"

namespace rung {
namespace {

using Json = nlohmann::json;
constexpr std::size_t kMostLayerKinds = 256;  // in per_layer_config: each kind is a reading of the whole file
constexpr int kCacheBits = 16;                // what is cached where the file's type names the weights alone
constexpr int kWidestBits = 32;  // a number where the file names no type: no type in use is wider
constexpr int kStateBits = 32;  // recurrent state where the file names no type: reference caches keep float32

std::vector<Family> families() {
  std::vector<Family> out;
  for (auto list : {attention_families(), sparse_families(), linear_families(), state_space_families()})
    out.insert(out.end(), list.begin(), list.end());
  return out;
}

// The language model inside: `text_config` where there is one, with the model type to look up.
struct Unwrapped {
  const Json* object = nullptr;
  std::string model_type;  // empty: the file names none
};
Result<Unwrapped> unwrap(const Json& document) {
  if (!document.is_object())
    return fail(ErrorCode::format, "[config] the file holds {}; expected an object of fields",
                document.type_name());
  Unwrapped out{&document, {}};
  const auto text = document.find("text_config");
  if (text != document.end() && text->is_object()) out.object = &*text;
  for (const Json* place : {out.object, &document}) {
    const auto type = place->find("model_type");
    if (type == place->end() || type->is_null()) continue;
    if (!type->is_string())
      return fail(ErrorCode::format, "[config] model_type is {}; expected a text", type->type_name());
    out.model_type = type->get<std::string>();
    break;
  }
  return out;
}

// Mixer texts to mixers, each distinct text parsed once.
Result<Stack> parse_layers(const ConfigFields& fields, const LayerTexts& texts) {
  std::map<std::string, std::vector<Mixer>> known;
  Stack stack;
  for (const auto& text : texts) {
    auto found = known.find(text);
    if (found == known.end()) {
      auto parsed = parse_stack(text);
      if (!parsed)
        return fields.refused(parsed.error().code, fmt::format("layer {}: {}", text, parsed.error().message));
      found = known.emplace(text, std::move(parsed->layers)).first;
    }
    stack.layers.insert(stack.layers.end(), found->second.begin(), found->second.end());
  }
  return stack;
}

// The type of activations: dtype or torch_dtype, of the text model or of the whole.
Result<std::optional<std::string>> model_dtype(const ConfigFields& fields, const Json& document) {
  for (const char* name : {"dtype", "torch_dtype"}) {
    if (const auto text = fields.stated_text(name)) return text;
    const auto outer = document.find(name);
    if (outer != document.end() && outer->is_string()) return std::optional(outer->get<std::string>());
  }
  return std::optional<std::string>();
}

// Widths of what is stored. A type that the file does not name is taken so wide that no bound from it is
// false: 32 bits, and float32 for recurrent state, as the reference caches keep it.
Result<void> set_storage(const ConfigFields& fields, const Json& document, bool has_state,
                         ReleasedModel& model) {
  RUNG_TRY(const auto dtype, model_dtype(fields, document));
  int activation = kWidestBits;
  StorageOrigin origin{"32 bits, the widest type in use (the file names no number format)", true};
  model.architecture.dimensions.precision = {NumberFormat::unknown, kWidestBits, 0};
  if (dtype) {
    RUNG_TRY(activation, parse_dtype(*dtype));
    origin = {fmt::format("the model's type {}", *dtype), false};
    // Narrower types name the weights alone; integers are no arithmetic that a released model computes in.
    if (auto precision = parse_precision(*dtype);
        precision && precision->format != NumberFormat::fixed && precision->bits >= kCacheBits)
      model.architecture.dimensions.precision = *precision;
    if (activation < kCacheBits) {
      activation = kCacheBits;
      origin = {fmt::format("16 bits by convention ({} names the weights)", *dtype), true};
    }
  }
  model.bits = {.state = activation, .conv = activation, .cache = activation};
  if (has_state || origin.assumed) model.conv_origin = model.cache_origin = origin;
  if (!has_state) return {};
  for (const char* name : {"mamba_ssm_dtype", "mamba_ssm_cache_dtype", "inference_state_dtype"})
    if (const auto text = fields.stated_text(name)) {
      RUNG_TRY(model.bits.state, parse_dtype(*text));
      model.state_origin = {fmt::format("{} ({})", *text, name), false};
      return {};
    }
  model.bits.state = std::max(activation, kStateBits);
  model.state_origin = {fmt::format("{} bits, as the reference caches keep it (the file names no state type)",
                                    *model.bits.state),
                        true};
  return {};
}

// per_layer_config: fields that differ in some layers, keyed by the layer's number. A layer is read anew with
// its own fields in place of the model's.
Result<void> apply_overrides(const Family& family, const ConfigFields& fields, const Json& object,
                             const ConfigOptions& options, LayerTexts& texts) {
  const auto found = object.find("per_layer_config");
  if (found == object.end() || is_off(*found)) return {};
  if (!fields.has("per_layer_config") || !found->is_object())
    return fields.wrong("per_layer_config", "an object keyed by layer numbers");
  std::map<std::string, LayerTexts> read;  // by what is overridden
  for (const auto& [key, overrides] : found->items()) {
    std::size_t layer = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), layer);
    if (error != std::errc() || end != key.data() + key.size() || layer >= texts.size() ||
        !overrides.is_object())
      return fields.refused(ErrorCode::format,
                            fmt::format("field \"per_layer_config\" has an entry {}; expected an object of "
                                        "fields for a layer in 0..{}",
                                        rung::quoted(key), texts.size() - 1));
    const auto [place, fresh] = read.try_emplace(overrides.dump());
    if (read.size() > kMostLayerKinds)
      return fields.wrong("per_layer_config", fmt::format("at most {} kinds of layers", kMostLayerKinds));
    if (fresh) {
      Json patched = object;
      for (const auto& [name, value] : overrides.items())
        if (name != "skip" || value != Json::array({"mlp"})) patched[name] = value;
      ConfigFields own(fields.model_type(), patched, class_defaults(family.defaults), options);
      RUNG_TRY(place->second, family.layers(own));
      for (const auto& [name, value] : overrides.items())
        if ((value.is_structured() && !is_off(value) && name != "skip") ||
            (patched.contains(name) && !own.was_read(name) && !is_off(value) && !is_position_wise(name)))
          return fields.unknown(fmt::format("per_layer_config.{}.{}", key, name));
    }
    if (place->second.size() != texts.size())
      return fields.wrong("per_layer_config", "fields of one layer, which leave the others alone");
    texts[layer] = place->second[layer];
  }
  return {};
}

// Attention turns its keys by their positions but in families that have none, or say so in a field.
PositionCode positions(const ConfigFields& fields, const Account& counted) {
  const bool attends = std::any_of(
      counted.layers.begin(), counted.layers.end(),
      [](const LayerAccount& layer) { return layer.cache_elements > 0 || layer.window_elements > 0; });
  const std::string& type = fields.model_type();
  const bool turns = type == "jamba" || type == "nemotron_h" ? false
                     : type == "granitemoehybrid" ? fields.stated_text("position_embedding_type") == "rope"
                     : type == "zamba2"           ? fields.stated_flag("use_mem_rope").value_or(false)
                     : type == "kimi_linear"      ? !fields.stated_flag("mla_use_nope").value_or(false)
                                                  : true;
  return attends && turns ? PositionCode::rope : PositionCode::none;
}

Result<void> set_dimensions(const ConfigFields& fields, ReleasedModel& model) {
  Dimensions& d = model.architecture.dimensions;
  const auto read = [&](const char* label, std::initializer_list<const char*> names,
                        std::int64_t& target) -> Result<void> {
    for (const char* name : names) {
      RUNG_TRY(const auto number, fields.stated(name));
      if (!number) continue;
      target = *number;
      return {};
    }
    model.unknown.push_back(label);
    return {};
  };
  RUNG_CHECK(read("width", {"hidden_size", "dim", "d_model"}, d.width));
  RUNG_CHECK(read("heads", {"num_attention_heads", "num_heads", "n_heads"}, d.heads));
  RUNG_CHECK(read("vocabulary", {"vocab_size"}, d.vocabulary));
  RUNG_CHECK(read("context", {"max_position_embeddings", "model_max_length"}, d.context));
  std::int64_t hidden = 0;
  RUNG_CHECK(read("mlp", {"intermediate_size", "inter_dim"}, hidden));
  d.mlp_given = true;
  if (hidden > 0) d.mlp = {hidden};
  d.norm = Norm::rms;
  d.activation = MlpActivation::silu;
  return {};
}

// Llama and Qwen3: RMS norms, gated MLP, projections with optional biases; Qwen3 also normalises q and k.
void count_parameters(const ConfigFields& fields, const std::vector<LayerShape>& layers,
                      ReleasedModel& model) {
  const Dimensions& d = model.architecture.dimensions;
  const bool qwen3 = fields.model_type() == "qwen3";
  if ((!qwen3 && fields.model_type() != "llama") || fields.was_read("per_layer_config") ||
      !model.unknown.empty() || d.mlp.size() != 1 || !fields.stated_flag("tie_word_embeddings"))
    return;
  const auto is_true = [&](const char* name) { return fields.stated_flag(name).value_or(false); };
  const MixerShape& m = layers.front().mixer;
  const CheckedSize w = d.width, q = CheckedSize(m.heads) * m.key_dim,
                    kv = CheckedSize(m.kv_heads) * m.key_dim;
  CheckedSize layer = w * (q + q + kv + kv) + w * 3 * d.mlp[0] + w * 2;
  if (is_true("attention_bias")) layer += q + kv + kv + w;
  if (is_true("mlp_bias")) layer += CheckedSize(2) * d.mlp[0] + w;
  if (qwen3) layer += CheckedSize(2) * m.key_dim;
  const CheckedSize tables = CheckedSize(d.vocabulary) * w * (is_true("tie_word_embeddings") ? 1 : 2);
  const CheckedSize total = tables + w + layer * static_cast<std::int64_t>(layers.size());
  if (!total.ok()) return;
  model.layer_parameters = layer.value();
  model.parameters = total.value();
}

Error no_model_type(const Json& document) {
  std::string fields;
  for (const auto& [name, value] : document.items()) {
    if (fields.size() > 60) {
      fields += ", ...";
      break;
    }
    fields += (fields.empty() ? "" : ", ") + rung::quoted(name);
  }
  return fail(ErrorCode::missing,
              "[config] field \"model_type\" is missing; the kinds of its layers cannot be derived from {}",
              fields.empty() ? "an empty object" : fields);
}

// Formats without a model_type, by the fields that only they have.
std::optional<Family> native_format(const Json& object) {
  const auto has = [&](std::initializer_list<const char*> names) {
    return std::all_of(names.begin(), names.end(), [&](const char* name) { return object.contains(name); });
  };
  if (has({"n_layers", "n_heads", "kv_lora_rank", "qk_rope_head_dim"}))
    return Family{"deepseek-native", "", read_deepseek_native};
  if (has({"d_model", "n_layer", "ssm_cfg"})) return Family{"mamba_ssm", "", read_mamba_native};
  return std::nullopt;
}

}  // namespace

std::vector<std::string_view> known_model_types() {
  std::vector<std::string_view> out;
  for (const auto& family : families()) out.push_back(family.model_type);
  std::sort(out.begin(), out.end());
  return out;
}

Result<ReleasedModel> read_config(std::string_view json, const ConfigOptions& options) {
  RUNG_TRY(const Json document, parse_json(json, "config"));
  RUNG_TRY(Unwrapped inner, unwrap(document));
  Family family{};
  if (inner.model_type.empty()) {
    const auto native = native_format(*inner.object);
    if (!native) return no_model_type(*inner.object);
    family = *native;
    inner.model_type = family.model_type;
  } else {
    const auto list = families();
    const auto found = std::find_if(list.begin(), list.end(),
                                    [&](const Family& f) { return f.model_type == inner.model_type; });
    if (found == list.end())
      return fail(ErrorCode::unsupported, "[config] unknown model_type {}; {}",
                  rung::quoted(inner.model_type), suggest(inner.model_type, known_model_types()));
    family = *found;
  }
  ConfigFields fields(inner.model_type, *inner.object, class_defaults(family.defaults), options);
  RUNG_TRY(LayerTexts texts, family.layers(fields));
  RUNG_CHECK(apply_overrides(family, fields, *inner.object, options, texts));
  ReleasedModel model;
  model.model_type = inner.model_type;
  RUNG_CHECK(set_dimensions(fields, model));
  RUNG_TRY(model.architecture.stack, parse_layers(fields, texts));
  auto layers = resolve(model.architecture);
  if (!layers) return fields.refused(layers.error().code, layers.error().message);
  const auto counted = account(model.architecture, *layers, {});
  model.architecture.dimensions.position = positions(fields, counted);
  const bool has_state = std::any_of(counted.layers.begin(), counted.layers.end(),
                                     [](const LayerAccount& layer) { return layer.state_elements > 0; });
  RUNG_CHECK(set_storage(fields, document, has_state, model));
  RUNG_CHECK(fields.refuse_unread(texts.size()));
  if (inner.object != &document)  // beside the language model: towers with layers of their own, and no others
    for (const auto& [name, value] : document.items())
      if (!name.ends_with("_config") && describes_layers(name, value, texts.size()))
        return fields.unknown(name);
  count_parameters(fields, *layers, model);
  model.notes = fields.notes();
  return model;
}

Result<ReleasedModel> read_config_file(const std::string& path, const ConfigOptions& options) {
  RUNG_TRY(const std::string text, read_text_file(path, "config"));
  ConfigOptions chosen = options;
  chosen.partial = path.ends_with(".partial.json");
  return read_config(text, chosen);
}

std::string ReleasedModel::storage_note() const {
  std::string out;
  const auto add = [&](const std::string& what, const StorageOrigin& origin) {
    if (!origin.text.empty()) out += fmt::format("{}{} in {}", out.empty() ? "" : "; ", what, origin.text);
  };
  add("state", state_origin);
  if (conv_origin.text == cache_origin.text) {
    add(state_origin.text.empty() ? "what is stored" : "convolution and window", conv_origin);
  } else {
    add("convolution", conv_origin);
    add("window and cache", cache_origin);
  }
  return out;
}

std::vector<std::string> ReleasedModel::storage_assumptions() const {
  std::vector<std::string> out;
  if (state_origin.assumed) out.push_back("recurrent state in " + state_origin.text);
  for (const auto* origin : {&conv_origin, &cache_origin})
    if (origin->assumed && (out.empty() || out.back() != "stored numbers in " + origin->text))
      out.push_back("stored numbers in " + origin->text);
  return out;
}

Account account_released(const ReleasedModel& model, const std::vector<LayerShape>& layers,
                         const StorageBits& bits) {
  Account out = account(model.architecture, layers, bits);
  const char* reason = "the fields of this family do not determine every tensor";
  out.parameters = model.parameters;
  out.parameters_reason = model.parameters ? "" : reason;
  for (auto& layer : out.layers) {
    layer.parameters = model.layer_parameters;
    layer.parameters_reason = model.layer_parameters ? "" : reason;
  }
  std::erase_if(out.notes, [](const std::string& note) { return note.starts_with("parameters "); });
  out.notes.insert(out.notes.begin(), model.notes.begin(), model.notes.end());
  if (const auto note = model.storage_note(); !note.empty()) out.notes.push_back(note);
  return out;
}

}  // namespace rung
