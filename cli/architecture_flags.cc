#include "cli/architecture_flags.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "rung/spec/json_text.h"
#include "rung/spec/nearest_word.h"

namespace rung::cli {
namespace {

constexpr const char* kGroup = "Architecture";

bool names_a_file(const std::string& text) { return text.ends_with(".json") || text.ends_with(".toml"); }

// A document with "arch" is ours; every other JSON file is taken for a model's configuration.
Result<bool> is_architecture_file(const std::string& path) {
  if (path.ends_with(".toml")) return true;
  RUNG_TRY(const std::string text, read_text_file(path, "arch"));
  RUNG_TRY(const nlohmann::json document, parse_json(text, "arch"));
  return document.is_object() && document.contains("arch");
}

}  // namespace

Account ChosenArchitecture::count() const {
  if (released) {
    ReleasedModel model = *released;
    model.architecture = architecture;
    return account_released(model, layers, bits);
  }
  return account(architecture, layers, bits);
}

void ArchitectureFlags::declare(std::vector<Option>& options, bool with_line) {
  if (with_line)
    options.push_back(
        {.names = "ARCH",
         .help = "architecture line, config.json of a released model, or file with \"arch\" and dimensions",
         .target = &line});
  const auto add = [&](const char* names, const char* help, OptionTarget target) {
    options.push_back({.names = names, .help = help, .target = target, .group = kGroup});
  };
  add("--config", "config.json of a released model", &config);
  add("--assume-defaults", "fill a .partial.json with class defaults", &assume_defaults);
  add("--dims", "dimensions from a .toml or .json file; flags override it", &dims);
  add("--width", "numbers in a token's activation (default: 64)", &width);
  add("--heads", "heads of a mixer (default: 1)", &heads);
  add("--kv-heads", "key/value heads of softmax attention (default: heads)", &kv_heads);
  add("--head-dim", "key dimension of a head (default: width / heads)", &head_dim);
  add("--value-dim", "value dimension of a head (default: the key dimension)", &value_dim);
  add("--state", "state size N of mamba and mamba2 (default: 16)", &state);
  add("--mlp", "hidden widths of the MLP, as in 256,128, or none (default: 4·width)", &mlp);
  add("--activation", "relu, gelu or silu (default: relu)", &activation);
  add("--norm", "none or rms (default: none)", &norm);
  add("--position", "none, table, binary or rope (default: table)", &position);
  add("--vocab", "input tokens (default: 256)", &vocabulary);
  add("--outputs", "output tokens (default: vocab)", &outputs);
  add("--context", "longest prompt, in tokens (default: not fixed)", &context);
  add("--encoder", "bidirectional instead of causal", &encoder);
  add("--precision", "p or p.f (fixed point), bf16, fp16, e4m3, e5m2, fp32 (default: 16)", &precision);
  add("--acc-bits", "bits of an accumulator or recurrent state entry (default: p)", &acc_bits);
  add("--state-dtype", "type or bits of recurrent state, for counting", &state_dtype);
  add("--conv-dtype", "type or bits of convolution buffers, for counting", &conv_dtype);
  add("--cache-dtype", "type or bits of windows and KV cache, for counting", &cache_dtype);
}

Result<void> ArchitectureFlags::override_dimensions(Dimensions& d) const {
  const std::pair<const std::optional<std::int64_t>*, std::int64_t*> sizes[] = {
      {&width, &d.width},           {&heads, &d.heads},         {&kv_heads, &d.kv_heads},
      {&head_dim, &d.head_dim},     {&value_dim, &d.value_dim}, {&state, &d.state},
      {&vocabulary, &d.vocabulary}, {&outputs, &d.outputs},     {&context, &d.context}};
  const char* names[] = {"--width", "--heads", "--kv-heads", "--head-dim", "--value-dim",
                         "--state", "--vocab", "--outputs",  "--context"};
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

Result<Dimensions> ArchitectureFlags::dimensions() const {
  Dimensions d;
  if (dims) {
    RUNG_TRY(d, read_dimensions(*dims));
  }
  RUNG_CHECK(override_dimensions(d));
  return d;
}

Result<void> ArchitectureFlags::set_storage(ChosenArchitecture& chosen) const {
  const std::pair<const std::optional<std::string>*, std::optional<int>*> types[] = {
      {&state_dtype, &chosen.bits.state},
      {&conv_dtype, &chosen.bits.conv},
      {&cache_dtype, &chosen.bits.cache}};
  for (const auto& [given, target] : types) {
    if (!*given) continue;
    RUNG_TRY(*target, parse_dtype(**given));
  }
  return {};
}

Result<ChosenArchitecture> ArchitectureFlags::choose_released(const std::string& path) const {
  const std::pair<bool, const char*> sizes[] = {{width.has_value(), "--width"},
                                                {heads.has_value(), "--heads"},
                                                {kv_heads.has_value(), "--kv-heads"},
                                                {head_dim.has_value(), "--head-dim"},
                                                {value_dim.has_value(), "--value-dim"},
                                                {state.has_value(), "--state"},
                                                {mlp.has_value(), "--mlp"},
                                                {activation.has_value(), "--activation"},
                                                {norm.has_value(), "--norm"},
                                                {position.has_value(), "--position"},
                                                {vocabulary.has_value(), "--vocab"},
                                                {outputs.has_value(), "--outputs"},
                                                {encoder, "--encoder"},
                                                {dims.has_value(), "--dims"}};
  for (const auto& [given, name] : sizes)
    if (given)
      return fail(ErrorCode::parse,
                  "[arguments] {} beside a configuration; the file gives the sizes (--context, "
                  "--precision, --acc-bits and the dtypes may be given)",
                  name);
  ChosenArchitecture chosen;
  RUNG_TRY(chosen.released, read_config_file(path, {.assume_defaults = assume_defaults}));
  chosen.architecture = chosen.released->architecture;
  chosen.bits = chosen.released->bits;
  RUNG_CHECK(override_dimensions(chosen.architecture.dimensions));
  auto& unknown = chosen.released->unknown;
  if (context) unknown.erase(std::remove(unknown.begin(), unknown.end(), "context"), unknown.end());
  if (precision) chosen.bits = {};
  if (acc_bits) chosen.bits.state = static_cast<int>(*acc_bits);
  RUNG_CHECK(set_storage(chosen));
  RUNG_TRY(chosen.layers, resolve(chosen.architecture));
  return chosen;
}

Result<ChosenArchitecture> ArchitectureFlags::choose() const {
  if (config && !line.empty())
    return fail(ErrorCode::parse, "[arguments] both ARCH and --config; expected one of them");
  if (config) return choose_released(*config);
  if (line.empty() && !dims)
    return fail(ErrorCode::parse,
                "[arguments] ARCH is missing; expected a line such as (gdelta*3+full)*12, or --config FILE");

  ChosenArchitecture chosen;
  std::string text = line;
  if (names_a_file(line)) {
    RUNG_TRY(const bool ours, is_architecture_file(line));
    if (!ours) return choose_released(line);
    RUNG_TRY(const ArchitectureFile file, read_architecture_file(line));
    if (!file.arch) return fail(ErrorCode::missing, "[arch] {} has no field \"arch\"", rung::quoted(line));
    text = *file.arch;
    chosen.architecture.dimensions = file.dimensions;
  }
  if (dims) {
    RUNG_TRY(const ArchitectureFile file, read_architecture_file(*dims));
    chosen.architecture.dimensions = file.dimensions;
    if (text.empty() && !file.arch)
      return fail(ErrorCode::missing, "[arguments] ARCH is missing, and {} has no field \"arch\"",
                  rung::quoted(*dims));
    if (text.empty()) text = *file.arch;
  }
  if (assume_defaults)
    return fail(ErrorCode::parse,
                "[arguments] --assume-defaults speaks of a configuration; expected --config FILE");
  RUNG_TRY(chosen.architecture.stack, parse_stack(text));
  RUNG_CHECK(override_dimensions(chosen.architecture.dimensions));
  RUNG_CHECK(set_storage(chosen));
  RUNG_TRY(chosen.layers, resolve(chosen.architecture));
  return chosen;
}

nlohmann::ordered_json dimensions_document(const Dimensions& d, const std::vector<std::string>& unknown) {
  const auto known = [&](const char* name) {
    return std::find(unknown.begin(), unknown.end(), name) == unknown.end();
  };
  const auto number = [&](const char* name, std::int64_t value) {
    return value > 0 && known(name) ? nlohmann::ordered_json(value) : nlohmann::ordered_json();
  };
  nlohmann::ordered_json out;
  out["width"] = number("width", d.width);
  out["heads"] = number("heads", d.heads);
  out["kv_heads"] = number("kv_heads", d.kv_heads);
  out["head_dim"] = number("head_dim", d.head_dim);
  out["value_dim"] = number("value_dim", d.value_dim);
  out["state"] = number("state", d.state);
  out["mlp"] = known("mlp") ? nlohmann::ordered_json(mlp_widths(d)) : nlohmann::ordered_json();
  out["activation"] = activation_name(d.activation);
  out["norm"] = norm_name(d.norm);
  out["position"] = position_name(d.position);
  out["vocabulary"] = number("vocabulary", d.vocabulary);
  out["outputs"] = number("vocabulary", d.outputs > 0 ? d.outputs : d.vocabulary);
  out["context"] = number("context", d.context);
  out["causal"] = d.causal;
  out["precision"] = format_precision(d.precision);
  out["accumulator_bits"] =
      d.accumulator_bits ? nlohmann::ordered_json(*d.accumulator_bits) : nlohmann::ordered_json();
  return out;
}

}  // namespace rung::cli
