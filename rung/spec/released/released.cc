#include "rung/spec/released/released.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "rung/spec/checked_size.h"
#include "rung/spec/json_text.h"
#include "rung/spec/nearest_word.h"
#include "rung/spec/released/class_defaults.h"
#include "rung/spec/released/families.h"
#include "rung/spec/require.h"

namespace rung {
namespace {

using Json = nlohmann::json;
constexpr int kConventionBits = 16;  // the activation type of released models where a file names none

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
  std::map<std::string, Mixer> known;
  Stack stack;
  for (const auto& text : texts) {
    auto found = known.find(text);
    if (found == known.end()) {
      auto parsed = parse_stack(text);
      if (!parsed)
        return fields.refused(parsed.error().code, fmt::format("layer {}: {}", text, parsed.error().message));
      found = known.emplace(text, parsed->layers.front()).first;
    }
    stack.layers.push_back(found->second);
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

Result<void> set_storage(const ConfigFields& fields, const Json& document, bool has_state,
                         ReleasedModel& model) {
  RUNG_TRY(const auto dtype, model_dtype(fields, document));
  int activation = kConventionBits;
  std::string convention = "16 bits by convention (no dtype in the file)";
  if (dtype) {
    RUNG_TRY(activation, parse_dtype(*dtype));
    convention = fmt::format("the model's type {}", *dtype);
    const std::string_view word = *dtype == "bfloat16"  ? "bf16"
                                  : *dtype == "float16" ? "fp16"
                                  : *dtype == "float32" ? "fp32"
                                                        : std::string_view(*dtype);
    if (auto precision = parse_precision(word)) model.architecture.dimensions.precision = *precision;
    if (activation < kConventionBits) {
      activation = kConventionBits;
      convention = fmt::format("16 bits by convention ({} names the weights)", *dtype);
    }
  }
  model.bits = {.state = activation, .conv = activation, .cache = activation};
  for (const char* name : {"mamba_ssm_dtype", "mamba_ssm_cache_dtype", "inference_state_dtype"})
    if (const auto text = fields.stated_text(name)) {
      RUNG_TRY(model.bits.state, parse_dtype(*text));
      if (has_state)
        model.storage_note =
            fmt::format("state in {} ({}); convolution and window in {}", *text, name, convention);
      return {};
    }
  if (has_state)
    model.storage_note =
        fmt::format("the file names no state dtype: counted in {}; --state-dtype says otherwise", convention);
  else if (convention.starts_with("16 bits"))
    model.storage_note = fmt::format(
        "what is stored is counted in {}; --conv-dtype and --cache-dtype say otherwise", convention);
  return {};
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
  RUNG_CHECK(read("width", {"hidden_size", "dim"}, d.width));
  RUNG_CHECK(read("heads", {"num_attention_heads", "num_heads", "n_heads"}, d.heads));
  RUNG_CHECK(read("vocabulary", {"vocab_size"}, d.vocabulary));
  RUNG_CHECK(read("context", {"max_position_embeddings", "model_max_length"}, d.context));
  std::int64_t hidden = 0;
  RUNG_CHECK(read("mlp", {"intermediate_size", "inter_dim"}, hidden));
  d.mlp_given = true;
  if (hidden > 0) d.mlp = {hidden};
  d.position = PositionCode::rope;
  d.norm = Norm::rms;
  d.activation = MlpActivation::silu;
  return {};
}

// Llama and Qwen3: RMS norms, gated MLP, projections with optional biases; Qwen3 also normalises q and k.
void count_parameters(const ConfigFields& fields, const std::vector<LayerShape>& layers,
                      ReleasedModel& model) {
  const Dimensions& d = model.architecture.dimensions;
  const bool qwen3 = fields.model_type() == "qwen3";
  if ((!qwen3 && fields.model_type() != "llama") || !model.unknown.empty() || d.mlp.size() != 1 ||
      !fields.stated_flag("tie_word_embeddings"))
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

bool is_deepseek_native(const Json& object) {
  return object.contains("n_layers") && object.contains("n_heads") && object.contains("kv_lora_rank") &&
         object.contains("qk_rope_head_dim");
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
    if (!is_deepseek_native(*inner.object)) return no_model_type(*inner.object);
    inner.model_type = "deepseek-native";
    family = {"deepseek-native", "", read_deepseek_native};
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
  RUNG_TRY(const LayerTexts texts, family.layers(fields));
  ReleasedModel model;
  model.model_type = inner.model_type;
  RUNG_CHECK(set_dimensions(fields, model));
  RUNG_TRY(model.architecture.stack, parse_layers(fields, texts));
  auto layers = resolve(model.architecture);
  if (!layers) return fields.refused(layers.error().code, layers.error().message);
  const auto counted = account(model.architecture, *layers, {});
  const bool has_state = std::any_of(counted.layers.begin(), counted.layers.end(),
                                     [](const LayerAccount& layer) { return layer.state_elements > 0; });
  RUNG_CHECK(set_storage(fields, document, has_state, model));
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
  const bool overridden =
      bits.state != model.bits.state || bits.conv != model.bits.conv || bits.cache != model.bits.cache;
  if (!overridden && !model.storage_note.empty()) out.notes.push_back(model.storage_note);
  return out;
}

}  // namespace rung
