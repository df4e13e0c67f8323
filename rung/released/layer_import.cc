#include "rung/released/layer_import.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "rung/base/json_text.h"
#include "rung/base/nearest_word.h"
#include "rung/released/layer_tensors.h"

namespace rung {
namespace {

std::vector<ImportFamily> import_families() {
  auto all = recurrent_imports();
  for (auto& family : attention_imports()) all.push_back(family);
  return all;
}

std::string with_layer(std::string_view pattern, std::int64_t layer) {
  std::string out(pattern);
  if (const auto at = out.find("{}"); at != std::string::npos) out.replace(at, 2, std::to_string(layer));
  return out;
}

Result<std::string> whole_file(const std::filesystem::path& path) {
  constexpr std::uintmax_t kMostConfigBytes = 16 << 20;
  std::error_code error;
  if (const auto size = std::filesystem::file_size(path, error); !error && size > kMostConfigBytes)
    return fail(ErrorCode::resource, "[import] {}: {} bytes; at most {} are read", path.string(), size,
                kMostConfigBytes);
  std::ifstream in(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (!in) return fail(ErrorCode::io, "[import] {}: cannot be read", path.string());
  return text;
}

// Whether the files are there that an index names for a layer and for what belongs to none: without them a table of
// outputs would be taken for one that the model does not have. Shards of other layers may be missing.
Result<void> holds_named_shards(const std::filesystem::path& directory, std::int64_t layer) {
  const auto index = directory / "model.safetensors.index.json";
  if (!std::filesystem::exists(index)) return {};
  RUNG_TRY(const std::string text, whole_file(index));
  RUNG_TRY(const nlohmann::json document, parse_json(text, "import"));
  const auto map = document.is_object() ? document.find("weight_map") : document.end();
  if (map == document.end() || !map->is_object())
    return fail(ErrorCode::format, "[import] {} holds no \"weight_map\"", index.string());
  for (const auto& [tensor, shard] : map->items()) {
    const bool of_another = tensor.find("layers.") != std::string::npos &&
                            tensor.find(fmt::format("layers.{}.", layer)) == std::string::npos;
    if (of_another) continue;
    if (!shard.is_string() || !std::filesystem::exists(directory / shard.get<std::string>()))
      return fail(ErrorCode::missing, "[import] {}: tensor {} is said to be in {}, which is not there",
                  index.string(), rung::quoted(tensor), shard.dump());
  }
  return {};
}

// The names of a text model inside a larger one, as it has them alone.
std::map<std::string, Tensor> of_text_model(std::map<std::string, Tensor> tensors) {
  std::map<std::string, Tensor> out;
  while (!tensors.empty()) {
    auto one = tensors.extract(tensors.begin());
    for (const std::string_view inside : {"model.language_model.", "language_model.model."})
      if (one.key().starts_with(inside)) one.key() = "model." + one.key().substr(inside.size());
    out.insert(std::move(one));
  }
  return out;
}

// The tensors of all shards, mapped.
Result<std::map<std::string, Tensor>> map_shards(const std::filesystem::path& directory, std::int64_t layer) {
  std::vector<std::filesystem::path> shards;
  std::error_code error;
  for (std::filesystem::directory_iterator at(directory, error), end; !error && at != end;
       at.increment(error))
    if (at->path().extension() == ".safetensors") shards.push_back(at->path());
  if (error) return fail(ErrorCode::io, "[import] {}: {}", directory.string(), error.message());
  if (shards.empty())
    return fail(ErrorCode::missing, "[import] {} holds no *.safetensors", directory.string());
  std::sort(shards.begin(), shards.end());
  RUNG_CHECK(holds_named_shards(directory, layer));
  std::map<std::string, Tensor> all;
  for (const auto& shard : shards) {
    RUNG_TRY(TensorFile file, read_safetensors(shard.string()));
    for (auto& [name, tensor] : file.tensors)
      if (!all.emplace(name, std::move(tensor)).second)
        return fail(ErrorCode::format, "[import] tensor {} stands in two files of {}", rung::quoted(name),
                    directory.string());
  }
  return all;
}

// A norm's gain, with its bias where it is a layer norm.
void put_row_norm(LayerTensors& in, const ImportFamily& family, const std::string& from,
                  const std::string& to, std::int64_t width) {
  auto& tensors = in.weights().tensors;
  const Tensor* gain = in.model(from + ".weight");
  if (!gain || gain->shape != std::vector<std::int64_t>{width} || gain->is_integer()) {
    in.refuse(fail(ErrorCode::missing, "[import] tensor \"{}.weight\" of {} floats is missing", from, width));
    return;
  }
  tensors[to + ".gain"] = family.gain_plus_one ? mapped(*gain, [](double x) { return 1 + x; }) : *gain;
  const double epsilon = in.number(std::string(family.epsilon).c_str(), family.epsilon_default);
  tensors[to + ".epsilon"] = real_tensor({}, std::span(&epsilon, 1), DType::f64);
  if (const Tensor* bias = in.model(from + ".bias"); bias && bias->shape == gain->shape)
    tensors[to + ".bias"] = *bias;
}

// Embedding and output table, all rows or the first of them.
void put_tables(LayerTensors& in, const ImportFamily& family, std::int64_t width,
                std::optional<std::int64_t> tokens, std::vector<std::string>& notes) {
  Weights& weights = in.weights();
  const Tensor* embedding = in.model(std::string(family.embedding) + ".weight");
  if (!embedding || embedding->shape.size() != 2 || embedding->shape[1] != width || embedding->shape[0] < 1) {
    in.refuse(fail(ErrorCode::missing, "[import] tensor \"{}.weight\" of rows of {} floats is missing",
                   family.embedding, width));
    return;
  }
  const std::int64_t all = embedding->shape[0], kept = tokens.value_or(all);
  if (kept > all) {
    in.refuse(fail(ErrorCode::range, "[import] {} tokens asked for; tensor \"{}.weight\" has {} rows", kept,
                   family.embedding, all));
    return;
  }
  const Tensor* head = in.model("lm_head.weight");
  if (!head || head->shape != embedding->shape) {
    head = embedding;
    notes.push_back("the output table is the embedding (no lm_head.weight of its shape)");
  }
  if (kept < all) notes.push_back(fmt::format("the first {} of {} tokens", kept, all));
  weights.tensors["embed.token.table"] = rows_of(*embedding, 0, kept);
  weights.tensors["out.table"] = rows_of(*head, 0, kept);
  weights.fields = {{.name = "token", .size = kept}};
  weights.output = {OutputSpec::Kind::logits, kept, 0};
  weights.architecture.dimensions.vocabulary = kept;
}

}  // namespace

std::vector<std::string> importable_types(TensorNaming from) {
  std::vector<std::string> types;
  for (const auto& family : import_families())
    if (family.fla == (from == TensorNaming::fla)) types.emplace_back(family.model_type);
  std::sort(types.begin(), types.end());
  return types;
}

Result<ImportedLayer> import_layer(const LayerImport& wanted) {
  const std::filesystem::path directory(wanted.directory);
  RUNG_TRY(const std::string text, whole_file(directory / "config.json"));
  RUNG_TRY(const nlohmann::json document, parse_json(text, "import"));
  if (!document.is_object()) return fail(ErrorCode::format, "[import] config.json holds no object");
  const auto inner = document.find("text_config");
  const nlohmann::json& config = inner != document.end() && inner->is_object() ? *inner : document;
  const nlohmann::json& typed = config.contains("model_type") ? config : document;
  const auto type = typed.find("model_type");
  if (type == typed.end() || !type->is_string())
    return fail(ErrorCode::missing, "[import] config.json has no \"model_type\"");
  const bool fla = wanted.from == TensorNaming::fla;
  const auto families = import_families();
  const auto family = std::find_if(families.begin(), families.end(), [&](const ImportFamily& candidate) {
    return candidate.fla == fla && candidate.model_type == type->get<std::string>();
  });
  if (family == families.end()) {
    const auto known = importable_types(wanted.from);
    const std::vector<std::string_view> names(known.begin(), known.end());
    return fail(ErrorCode::unsupported, "[import] layers of model_type {} are not mapped from {}; {}",
                rung::quoted(type->get<std::string>()), fla ? "fla" : "transformers",
                suggest(type->get<std::string>(), names));
  }
  RUNG_TRY(auto tensors, map_shards(directory, wanted.layer));
  if (&config != &document) tensors = of_text_model(std::move(tensors));

  ImportedLayer out;
  Weights& weights = out.weights;
  weights.mode = WeightMode::real;
  out.prefix = with_layer(family->mixer, wanted.layer);
  LayerTensors in(config, tensors, out.prefix, wanted.layer, weights);
  if (const auto first = tensors.lower_bound(out.prefix);
      first == tensors.end() || !first->first.starts_with(out.prefix))
    return fail(ErrorCode::missing,
                "[import] {} holds no tensor \"{}...\"; layer {} is of another kind or not there",
                wanted.directory, out.prefix, wanted.layer);
  if (in.has_field("num_hidden_layers") && in.size("num_hidden_layers") <= wanted.layer)
    in.refuse(fail(ErrorCode::range,
                   "[import] config.json: \"num_hidden_layers\" is {}, and tensors of layer {} are there",
                   in.size("num_hidden_layers"), wanted.layer));
  Dimensions& d = weights.architecture.dimensions;
  d.width = in.size("hidden_size");
  d.mlp_given = true;
  d.norm = Norm::rms;
  d.position = PositionCode::none;
  d.precision = {NumberFormat::fp32, 32, 0};
  const std::string line = family->map(in);
  if (!in.error())
    put_row_norm(in, *family, with_layer(family->norm, wanted.layer), "layers.0.norm1", d.width);
  if (!in.error()) put_row_norm(in, *family, std::string(family->final_norm), "norm", d.width);
  if (!in.error()) put_tables(in, *family, d.width, wanted.tokens, out.notes);
  if (!in.error() && !in.left().empty())
    in.refuse(fail(ErrorCode::unsupported, "[import] tensor {} of the layer is mapped to nothing",
                   rung::quoted(in.left()[0])));
  if (in.error()) return *in.error();
  RUNG_TRY(weights.architecture.stack, parse_stack(line));
  RUNG_CHECK(resolve(weights.architecture));

  // What else the layer has: its MLP and the norm before it.
  const std::string whole = with_layer(family->mixer, wanted.layer);
  const std::string layer_prefix = whole.substr(0, whole.rfind('.', whole.size() - 2) + 1);
  for (auto at = tensors.lower_bound(layer_prefix);
       at != tensors.end() && at->first.starts_with(layer_prefix); ++at)
    if (!at->first.starts_with(out.prefix) &&
        !at->first.starts_with(with_layer(family->norm, wanted.layer) + "."))
      out.left_out.push_back(at->first);
  weights.notes["imported_from"] =
      fmt::format("{} {} layer {}", fla ? "fla" : "transformers", family->model_type, wanted.layer);
  return out;
}

}  // namespace rung
