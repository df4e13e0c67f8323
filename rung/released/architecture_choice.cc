#include "rung/released/architecture_choice.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "rung/base/json_text.h"
#include "rung/base/nearest_word.h"
#include "rung/released/embedded_config.h"
#include "rung/spec/dimensions_file.h"

namespace rung {
namespace {

bool names_a_file(const std::string& text) { return text.ends_with(".json") || text.ends_with(".toml"); }

// A checkpoint's folder stands for its config.json. A line that a folder happens to be called stays a line.
Result<std::string> file_of_folder(const std::string& text) {
  std::error_code error;
  if (!std::filesystem::is_directory(text, error)) return text;
  if (text.find('/') == std::string::npos && parse_stack(text)) return text;
  const std::string file = (std::filesystem::path(text) / "config.json").string();
  if (std::filesystem::exists(file, error)) return file;
  return fail(
      ErrorCode::missing,
      "[arch] {} is a folder without a config.json; expected a line such as (gdelta*3+full)*12, or a file",
      rung::quoted(text));
}

// A configuration that the program carries: "qwen3.5-27b". A file of that name comes first, and so does a line.
const EmbeddedConfig* carried_config(const std::string& text) {
  std::error_code error;
  if (std::filesystem::exists(text, error)) return nullptr;
  for (const EmbeddedConfig& config : kReleasedConfigs)
    for (const std::string_view ending : {"", ".json", ".partial.json", ".native.json"})
      if (config.name == text + std::string(ending) && !parse_stack(text)) return &config;
  return nullptr;
}

// A document with "arch" is ours; every other one is taken for a model's configuration.
Result<bool> is_architecture_document(const std::string& text) {
  RUNG_TRY(const nlohmann::json document, parse_json(text, "arch"));
  return document.is_object() && document.contains("arch");
}

Result<bool> is_architecture_file(const std::string& path) {
  if (path.ends_with(".toml")) return true;
  RUNG_TRY(const std::string text, read_text_file(path, "arch"));
  const Result<bool> ours = is_architecture_document(text);
  if (!ours) return fail(ours.error().code, "{} (file {})", ours.error().message, rung::quoted(path));
  return ours;
}

// Every field takes part: one that is added does not compile until it is named here.
bool same_mixer(const MixerShape& a, const MixerShape& b) {
  const auto fields = [](const MixerShape& m) {
    const auto& [kind, heads, kv_heads, key_dim, value_dim, state, inner, conv, conv_channels, window, chunk,
                 block, select, groups, index_heads, index_dim, token_scores, earlier_keys, cache, feature,
                 normalised, accumulator, relu_cell, range, steps, base, levels, released, elements, form,
                 signed_weights, parts] = m;
    (void)parts;
    return std::tie(kind, heads, kv_heads, key_dim, value_dim, state, inner, conv, conv_channels, window,
                    chunk, block, select, groups, index_heads, index_dim, token_scores, earlier_keys, cache,
                    feature, normalised, accumulator, relu_cell, range, steps, base, levels, released,
                    elements, form, signed_weights);
  };
  // What mixes nothing has sizes that nothing reads.
  if (a.kind == b.kind && (a.kind == MixerKind::identity || a.kind == MixerKind::none)) return true;
  return fields(a) == fields(b) &&
         std::equal(a.parts.begin(), a.parts.end(), b.parts.begin(), b.parts.end(), same_mixer);
}

bool same_layers(const std::vector<LayerShape>& a, const std::vector<LayerShape>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const LayerShape& x, const LayerShape& y) {
    return same_mixer(x.mixer, y.mixer) && x.width == y.width && x.mlp == y.mlp;
  });
}

}  // namespace

Account ChosenArchitecture::count(const StorageBits& by) const {
  if (released) {
    ReleasedModel model = *released;
    model.architecture = architecture;
    return account_released(model, layers, by);
  }
  return account(architecture, layers, by);
}

Result<void> ArchitectureChoice::override_dimensions(Dimensions& d) const {
  const std::pair<const std::optional<std::int64_t>*, std::int64_t*> sizes[] = {
      {&width, &d.width},           {&heads, &d.heads},         {&kv_heads, &d.kv_heads},
      {&head_dim, &d.head_dim},     {&value_dim, &d.value_dim}, {&state, &d.state},
      {&vocabulary, &d.vocabulary}, {&outputs, &d.outputs},     {&context, &d.context}};
  const char* names[] = {"`width`", "`heads`", "`kv-heads`", "`head-dim`", "`value-dim`",
                         "`state`", "`vocab`", "`outputs`",  "`context`"};
  for (std::size_t i = 0; i < std::size(sizes); ++i) {
    const auto& given = *sizes[i].first;
    if (!given) continue;
    if (*given < 1 || *given > kMaxSize)
      return fail(ErrorCode::range, "[arguments] {} {} is outside 1..{}", names[i], *given, kMaxSize);
    *sizes[i].second = *given;
  }
  if (mlp) {
    RUNG_TRY(d.mlp, parse_mlp(*mlp));
    d.mlp_given = true;
  }
  if (activation) {
    RUNG_TRY(d.activation, parse_activation(*activation));
  }
  if (norm) {
    RUNG_TRY(d.norm, parse_norm(*norm));
  }
  if (position) {
    RUNG_TRY(d.position, parse_position(*position));
  }
  if (encoder) d.causal = false;
  if (precision) {
    RUNG_TRY(d.precision, parse_precision(*precision));
  }
  if (acc_bits) d.accumulator_bits = *acc_bits;
  return check_dimensions(d);
}

Result<Dimensions> ArchitectureChoice::dimensions() const {
  Dimensions d;
  if (dims) {
    RUNG_TRY(d, read_dimensions(*dims));
  }
  RUNG_CHECK(override_dimensions(d));
  return d;
}

Result<void> ArchitectureChoice::set_storage(ChosenArchitecture& chosen) const {
  ReleasedModel* model = chosen.released ? &*chosen.released : nullptr;
  struct Type {
    const std::optional<std::string>& given;
    std::optional<int>& bits;
    StorageOrigin* origin;
  };
  for (const Type& type : {Type{state_dtype, chosen.bits.state, model ? &model->state_origin : nullptr},
                           Type{conv_dtype, chosen.bits.conv, model ? &model->conv_origin : nullptr},
                           Type{cache_dtype, chosen.bits.cache, model ? &model->cache_origin : nullptr}}) {
    if (!type.given) continue;
    RUNG_TRY(type.bits, parse_dtype(*type.given));
    if (type.origin && !type.origin->text.empty()) *type.origin = {*type.given + ", as asked", false};
  }
  if (model) chosen.assumes = model->storage_assumptions();
  return {};
}

Result<void> ArchitectureChoice::refuse_sizes() const {
  const std::pair<bool, const char*> sizes[] = {{width.has_value(), "`width`"},
                                                {heads.has_value(), "`heads`"},
                                                {kv_heads.has_value(), "`kv-heads`"},
                                                {head_dim.has_value(), "`head-dim`"},
                                                {value_dim.has_value(), "`value-dim`"},
                                                {state.has_value(), "`state`"},
                                                {mlp.has_value(), "`mlp`"},
                                                {activation.has_value(), "`activation`"},
                                                {norm.has_value(), "`norm`"},
                                                {position.has_value(), "`position`"},
                                                {vocabulary.has_value(), "`vocab`"},
                                                {outputs.has_value(), "`outputs`"},
                                                {encoder, "`encoder`"},
                                                {dims.has_value(), "`dims`"}};
  for (const auto& [given, name] : sizes)
    if (given)
      return fail(ErrorCode::parse,
                  "[arguments] {} beside a configuration; the file gives the sizes (`context`, "
                  "`precision`, `acc-bits` and the dtypes may be given)",
                  name);
  return {};
}

Result<void> ArchitectureChoice::refuse_depth(const Stack& stack) const {
  if (static_cast<std::int64_t>(stack.layers.size()) > most_layers)
    return fail(ErrorCode::resource, "[arch] {} layers; expected at most {} here", stack.layers.size(),
                most_layers);
  return {};
}

Result<ChosenArchitecture> ArchitectureChoice::choose_released(ReleasedModel released) const {
  ChosenArchitecture chosen;
  chosen.released = std::move(released);
  chosen.architecture = chosen.released->architecture;
  RUNG_CHECK(refuse_depth(chosen.architecture.stack));
  chosen.bits = chosen.released->bits;
  RUNG_CHECK(override_dimensions(chosen.architecture.dimensions));
  auto& unknown = chosen.released->unknown;
  if (context) unknown.erase(std::remove(unknown.begin(), unknown.end(), "context"), unknown.end());
  ReleasedModel& model = *chosen.released;
  // Fixed point is what everything is quantised to; a float format is that of the model, and its recurrent
  // state is kept as wide as before.
  const Precision& asked = chosen.architecture.dimensions.precision;
  if (precision) {
    chosen.bits.conv = chosen.bits.cache = std::nullopt;
    model.conv_origin = model.cache_origin = {};
    if (asked.format == NumberFormat::fixed) {
      chosen.bits.state = std::nullopt;
      model.state_origin = {};
    } else if (!model.state_origin.text.empty()) {
      model.conv_origin = model.cache_origin = {*precision + ", as asked", false};
    }
  }
  if (acc_bits) {
    chosen.bits.state = static_cast<int>(*acc_bits);
    if (!model.state_origin.text.empty())
      model.state_origin = {fmt::format("{} bits, as asked", *acc_bits), false};
  }
  RUNG_CHECK(set_storage(chosen));
  RUNG_TRY(chosen.layers, resolve(chosen.architecture));
  return chosen;
}

Result<ChosenArchitecture> ArchitectureChoice::choose_released_file(const std::string& path) const {
  RUNG_CHECK(refuse_sizes());
  RUNG_TRY(ReleasedModel released, read_config_file(path, {.assume_defaults = assume_defaults}));
  return choose_released(std::move(released));
}

Result<ChosenArchitecture> ArchitectureChoice::choose_stack(const std::string& text,
                                                            const Dimensions& base) const {
  if (assume_defaults)
    return fail(ErrorCode::parse,
                "[arguments] `assume-defaults` speaks of a configuration; expected `config` FILE");
  ChosenArchitecture chosen;
  chosen.architecture.dimensions = base;
  RUNG_TRY(chosen.architecture.stack, parse_stack(text));
  RUNG_CHECK(refuse_depth(chosen.architecture.stack));
  RUNG_CHECK(override_dimensions(chosen.architecture.dimensions));
  RUNG_CHECK(set_storage(chosen));
  RUNG_TRY(chosen.layers, resolve(chosen.architecture));
  return chosen;
}

Result<ChosenArchitecture> ArchitectureChoice::choose_line() const {
  return choose_stack(line, Dimensions{});
}

Result<ChosenArchitecture> ArchitectureChoice::choose_document(const std::string& text) const {
  RUNG_TRY(const bool ours, is_architecture_document(text));
  if (ours) {
    RUNG_TRY(const ArchitectureFile file, read_architecture_text(text, "the document", false));
    return choose_stack(*file.arch, file.dimensions);
  }
  RUNG_CHECK(refuse_sizes());
  RUNG_TRY(ReleasedModel released, read_config(text, {.assume_defaults = assume_defaults}));
  return choose_released(std::move(released));
}

Result<ChosenArchitecture> ArchitectureChoice::choose() const {
  if (config && !line.empty())
    return fail(ErrorCode::parse, "[arguments] both ARCH and `config`; expected one of them");
  if (const EmbeddedConfig* carried = carried_config(config.value_or(line))) {
    RUNG_CHECK(refuse_sizes());
    RUNG_TRY(ReleasedModel released,
             read_config(std::string(carried->text), {.partial = carried->name.ends_with(".partial.json"),
                                                      .assume_defaults = assume_defaults}));
    return choose_released(std::move(released));
  }
  if (config) {
    RUNG_TRY(const std::string file, file_of_folder(*config));
    return choose_released_file(file);
  }
  if (line.empty() && !dims)
    return fail(ErrorCode::parse,
                "[arguments] ARCH is missing; expected a line such as (gdelta*3+full)*12, or `config` FILE");

  Dimensions base;
  RUNG_TRY(std::string text, file_of_folder(line));
  if (names_a_file(text)) {
    RUNG_TRY(const bool ours, is_architecture_file(text));
    if (!ours) return choose_released_file(text);
    RUNG_TRY(const ArchitectureFile file, read_architecture_file(text));
    if (!file.arch) return fail(ErrorCode::missing, "[arch] {} has no field \"arch\"", rung::quoted(line));
    text = *file.arch;
    base = file.dimensions;
  }
  if (dims) {
    RUNG_TRY(const ArchitectureFile file, read_architecture_file(*dims));
    base = file.dimensions;
    if (text.empty() && !file.arch)
      return fail(ErrorCode::missing, "[arguments] ARCH is missing, and {} has no field \"arch\"",
                  rung::quoted(*dims));
    if (text.empty()) text = *file.arch;
  }
  return choose_stack(text, base);
}

Result<void> check_sizes_used(const ArchitectureChoice& choice, std::string_view area,
                              const SizeObservation& how) {
  const auto choose = [&](const ArchitectureChoice& one) {
    return how.choose ? how.choose(one) : one.choose();
  };
  const auto observed = [&](const ChosenArchitecture& one) { return how.observed ? how.observed(one) : ""; };
  RUNG_TRY(const ChosenArchitecture chosen, choose(choice));
  const std::string said = observed(chosen);
  // A value that the language refuses decides nothing; where it refuses all, the size matters to it.
  const auto idle = [&](const auto& values, auto set) {
    bool tried = false;
    for (const auto& value : values) {
      ArchitectureChoice other = choice;
      set(other, value);
      const auto changed = choose(other);
      if (!changed) continue;
      tried = true;
      if (!same_layers(changed->layers, chosen.layers) || observed(*changed) != said) return false;
    }
    return tried;
  };
  using Number = std::optional<std::int64_t> ArchitectureChoice::*;
  constexpr std::pair<const char*, Number> kNumbers[] = {
      {"`width`", &ArchitectureChoice::width},         {"`heads`", &ArchitectureChoice::heads},
      {"`kv-heads`", &ArchitectureChoice::kv_heads},   {"`head-dim`", &ArchitectureChoice::head_dim},
      {"`value-dim`", &ArchitectureChoice::value_dim}, {"`state`", &ArchitectureChoice::state},
      {"`acc-bits`", &ArchitectureChoice::acc_bits}};
  using Text = std::optional<std::string> ArchitectureChoice::*;
  constexpr std::pair<const char*, Text> kTypes[] = {{"`state-dtype`", &ArchitectureChoice::state_dtype},
                                                     {"`conv-dtype`", &ArchitectureChoice::conv_dtype},
                                                     {"`cache-dtype`", &ArchitectureChoice::cache_dtype}};
  const auto refusal = [&](const char* name) {
    return fail(ErrorCode::parse, "[{}] {} is not used by this architecture: no layer of it depends on that",
                area, name);
  };
  for (const auto& [name, member] : kNumbers) {
    if (!(choice.*member)) continue;
    const std::int64_t v = *(choice.*member);
    const std::int64_t values[] = {1, 2, 4, v / 2, v + 1, v * 2};
    if (idle(values, [at = member](ArchitectureChoice& other, std::int64_t value) { other.*at = value; }))
      return refusal(name);
  }
  for (const auto& [name, member] : kTypes) {
    if (!(choice.*member)) continue;
    const std::string values[] = {"8", "16", "32"};
    if (idle(values,
             [at = member](ArchitectureChoice& other, const std::string& value) { other.*at = value; }))
      return refusal(name);
  }
  return {};
}

}  // namespace rung
