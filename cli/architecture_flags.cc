#include "cli/architecture_flags.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "rung/spec/number_words.h"

namespace rung::cli {
namespace {

constexpr const char* kGroup = "Architecture";

}  // namespace

void ArchitectureFlags::declare(std::vector<Option>& options, bool with_line) {
  if (with_line)
    options.push_back(
        {"ARCH", "architecture line, config.json of a released model, or file with \"arch\" and dimensions",
         &line});
  const auto add = [&](const char* names, const char* help, OptionTarget target) {
    options.push_back({names, help, target, {.group = kGroup}});
  };
  const auto add_type = [&](const char* names, const char* help, OptionTarget target) {
    add(names, help, target);
    options.back().understood = number_note;
  };
  const auto precision_note = [](std::string_view text) {
    return parse_precision(text) ? number_note(text) : std::string();
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
  add_type("--precision", "p or p.f (fixed point), bf16, fp16, e4m3, e5m2, fp32 (default: 16)", &precision);
  options.back().understood = precision_note;
  add("--acc-bits",
      "bits of a recurrent state entry (default: p; exact sums of linear attention: what they need)",
      &acc_bits);
  add_type("--state-dtype", "type or bits of recurrent state, for counting", &state_dtype);
  add_type("--conv-dtype", "type or bits of convolution buffers, for counting", &conv_dtype);
  add_type("--cache-dtype", "type or bits of windows and KV cache, for counting", &cache_dtype);
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
