#include "rung/spec/weights.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "rung/base/json_text.h"
#include "rung/base/nearest_word.h"
#include "rung/base/words.h"
#include "rung/spec/dimensions_file.h"

namespace rung {

template <>
inline constexpr auto kWords<OutputSpec::Kind> = std::to_array<std::string_view>({"logits", "binary",
                                                                                  "threshold", "vector"});
template <>
inline constexpr auto kWords<Accumulator> = std::to_array<std::string_view>({"exact", "wrap", "round"});

namespace {

using nlohmann::ordered_json;

constexpr std::int64_t kMaxBinaryDigits = 62;
constexpr std::int64_t kMaxDecodeSteps = 1'000'000;

// The metadata keys that this format defines; every other one is a note.
constexpr std::array<std::string_view, 10> kKeys{"format",      "architecture", "dimensions", "mode",
                                                 "accumulator", "fields",       "output",     "decode",
                                                 "tables",      "task"};

// Reads a bounded whole number of a metadata object.
Result<std::int64_t> number(const nlohmann::json& object, const char* key, std::int64_t low,
                            std::int64_t high, std::optional<std::int64_t> fallback) {
  if (!object.contains(key)) {
    if (fallback) return *fallback;
    return fail(ErrorCode::format, "[weights] metadata needs \"{}\" in {}", key, rung::quoted(object.dump()));
  }
  const auto& value = object[key];
  if (!value.is_number_integer() ||
      (value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(high)) ||
      value.get<std::int64_t>() < low || value.get<std::int64_t>() > high)
    return fail(ErrorCode::range, "[weights] metadata \"{}\" = {}; a whole number in {}..{} expected", key,
                rung::quoted(value.dump()), low, high);
  return value.get<std::int64_t>();
}

// Refuses a member that the format does not define: nothing would read it.
Result<void> only_members(const nlohmann::json& object, const char* where,
                          std::span<const std::string_view> known) {
  for (const auto& [name, value] : object.items())
    if (std::find(known.begin(), known.end(), name) == known.end())
      return fail(ErrorCode::format, "[weights] metadata \"{}\" has the unknown member {}; {}", where,
                  rung::quoted(name), suggest(name, known));
  return {};
}

// A field's name is part of tensor names and of messages.
bool is_field_name(std::string_view name) {
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

Result<std::vector<FieldSpec>> read_fields(const nlohmann::json& json) {
  if (!json.is_array() || json.empty() || json.size() > 64)
    return fail(ErrorCode::format, "[weights] metadata \"fields\" must be an array of 1 to 64 fields");
  std::vector<FieldSpec> fields;
  for (const auto& entry : json) {
    if (!entry.is_object() || !entry.contains("name") || !entry["name"].is_string())
      return fail(ErrorCode::format, "[weights] metadata \"fields\": each needs a name");
    FieldSpec field{.name = entry["name"].get<std::string>()};
    if (!is_field_name(field.name))
      return fail(ErrorCode::format, "[weights] field {}: 1 to 64 letters, digits, - or _ expected",
                  rung::quoted(field.name));
    if (field.name == "position")
      return fail(ErrorCode::format, "[weights] a field cannot be called \"position\"");
    for (const auto& other : fields)
      if (other.name == field.name)
        return fail(ErrorCode::format, "[weights] field \"{}\" stands twice", field.name);
    constexpr std::array<std::string_view, 4> kMembers{"name", "size", "length", "low"};
    RUNG_CHECK(only_members(entry, "fields", kMembers));
    RUNG_TRY(field.size, number(entry, "size", 1, std::int64_t{1} << 62, std::nullopt));
    RUNG_TRY(field.length, number(entry, "length", 1, std::int64_t{1} << 20, 1));
    RUNG_TRY(field.low, number(entry, "low", -(std::int64_t{1} << 62), std::int64_t{1} << 62, 0));
    if (field.low > (std::int64_t{1} << 62) - field.size)
      return fail(ErrorCode::range,
                  "[weights] field \"{}\": values to 2^62 expected, not {} of them from {} on", field.name,
                  field.size, field.low);
    fields.push_back(std::move(field));
  }
  return fields;
}

Result<OutputSpec> read_output(const nlohmann::json& json) {
  if (!json.is_object() || !json.contains("kind") || !json["kind"].is_string())
    return fail(ErrorCode::format,
                "[weights] metadata \"output\" needs a kind: logits, binary, threshold or vector");
  constexpr std::array<std::string_view, 3> kMembers{"kind", "size", "fraction"};
  RUNG_CHECK(only_members(json, "output", kMembers));
  OutputSpec output;
  const auto kind = find_word<OutputSpec::Kind>(json["kind"].get<std::string>());
  if (!kind)
    return fail(ErrorCode::format, "[weights] output kind {}; logits, binary, threshold or vector expected",
                rung::quoted(json["kind"].get<std::string>()));
  output.kind = *kind;
  const bool digits = output.kind == OutputSpec::Kind::binary;
  RUNG_TRY(output.size, number(json, "size", 1, digits ? kMaxBinaryDigits : kMaxSize,
                               output.kind == OutputSpec::Kind::threshold ? std::optional<std::int64_t>(1)
                                                                          : std::nullopt));
  if (output.kind == OutputSpec::Kind::threshold && output.size != 1)
    return fail(ErrorCode::format, "[weights] a threshold output has size 1, not {}", output.size);
  RUNG_TRY(const auto fraction, number(json, "fraction", 0, 62, 0));
  output.fraction = static_cast<int>(fraction);
  return output;
}

}  // namespace

std::string_view accumulator_name(Accumulator accumulator) { return name_of(accumulator); }

namespace {

// Visits the options of a mixer and of its head groups.
template <class Visit>
void visit_mixers(Mixer& mixer, const Visit& visit) {
  visit(mixer);
  for (auto& part : mixer.parts) visit_mixers(part.mixer, visit);
}

}  // namespace

Result<void> separate_accumulator(Weights& weights) {
  std::optional<std::string> common;
  bool agree = true, some = false;
  for (auto& layer : weights.architecture.stack.layers)
    visit_mixers(layer, [&](Mixer& mixer) {
      const bool sums =
          mixer.kind == MixerKind::linear ||
          (mixer.kind == MixerKind::loglinear && mixer.word("base").value_or("linear") == "linear");
      if (!sums) return;
      const std::string own = mixer.word("acc").value_or("exact");
      some = some || mixer.word("acc").has_value();
      agree = agree && (!common || *common == own);
      common = own;
      std::erase_if(mixer.options, [](const MixerOption& option) { return option.name == "acc"; });
    });
  if (!agree)
    return fail(ErrorCode::unsupported,
                "[weights] linear layers with different acc; a file has one accumulator for all of them");
  if (some) weights.accumulator = find_word<Accumulator>(*common).value_or(weights.accumulator);
  return {};
}

Result<Weights> weights_from_tensors(TensorFile file, const std::string& where) {
  auto text = [&](const char* key) -> Result<std::string> {
    const auto found = file.metadata.find(key);
    if (found == file.metadata.end())
      return fail(ErrorCode::format, "[weights] {}: metadata has no \"{}\"; is this a rung model?", where,
                  key);
    return found->second;
  };
  auto object = [&](const char* key) -> Result<nlohmann::json> {
    RUNG_TRY(const std::string content, text(key));
    return parse_json(content, "weights");
  };
  RUNG_TRY(const std::string format, text("format"));
  if (format != kWeightsFormat && format != kFirstWeightsFormat)
    return fail(ErrorCode::format, "[weights] {}: format {}; \"{}\" or \"{}\" expected", where,
                rung::quoted(format), kWeightsFormat, kFirstWeightsFormat);
  Weights weights;
  RUNG_TRY(const std::string line, text("architecture"));
  RUNG_TRY(weights.architecture.stack,
           parse_stack(line, format == kFirstWeightsFormat ? UnsaidForm::plain : UnsaidForm::refused));
  bool sums_named = false;
  for (auto& layer : weights.architecture.stack.layers)
    visit_mixers(layer, [&](Mixer& mixer) { sums_named = sums_named || mixer.word("acc").has_value(); });
  if (sums_named)
    return fail(ErrorCode::format, "[weights] {}: option acc in the architecture; \"accumulator\" says it",
                where);
  RUNG_TRY(const std::string dimensions, text("dimensions"));
  RUNG_TRY(const ArchitectureFile sizes, read_architecture_text(dimensions, where, false));
  weights.architecture.dimensions = sizes.dimensions;
  RUNG_TRY(const std::string mode, text("mode"));
  if (mode != "integer" && mode != "real")
    return fail(ErrorCode::format, "[weights] {}: mode {}; integer or real expected", where,
                rung::quoted(mode));
  weights.mode = mode == "integer" ? WeightMode::integer : WeightMode::real;
  if (file.metadata.count("accumulator")) {
    const auto known = find_word<Accumulator>(file.metadata["accumulator"]);
    if (!known)
      return fail(ErrorCode::format, "[weights] {}: accumulator {}; exact, wrap or round expected", where,
                  rung::quoted(file.metadata["accumulator"]));
    weights.accumulator = *known;
  }
  RUNG_TRY(const auto fields, object("fields"));
  RUNG_TRY(weights.fields, read_fields(fields));
  RUNG_TRY(const auto output, object("output"));
  RUNG_TRY(weights.output, read_output(output));
  if (file.metadata.count("decode")) {
    RUNG_TRY(const auto decode, object("decode"));
    if (!decode.is_object())
      return fail(ErrorCode::format, "[weights] {}: metadata \"decode\" is not an object", where);
    constexpr std::array<std::string_view, 2> kMembers{"steps", "stop"};
    RUNG_CHECK(only_members(decode, "decode", kMembers));
    RUNG_TRY(weights.decode.steps, number(decode, "steps", 0, kMaxDecodeSteps, 0));
    if (decode.contains("stop")) {
      RUNG_TRY(weights.decode.stop, number(decode, "stop", 0, kMaxSize, std::nullopt));
    }
    if (weights.decode.steps > 0 && weights.output.kind == OutputSpec::Kind::vector)
      return fail(ErrorCode::format, "[weights] {}: a vector output cannot be decoded into tokens", where);
    if (weights.decode.steps > 0 && !weights.architecture.dimensions.causal)
      return fail(ErrorCode::format,
                  "[weights] {}: an encoder has no chain of thought; expected no \"decode\"", where);
  }
  if (file.metadata.count("tables")) {
    RUNG_TRY(const auto tables, object("tables"));
    if (!tables.is_object())
      return fail(ErrorCode::format, "[weights] {}: metadata \"tables\" is not an object", where);
    for (const auto& [name, entry] : tables.items()) {
      if (!entry.is_object() || !entry.contains("function") || !entry["function"].is_string())
        return fail(ErrorCode::format, "[weights] {}: table {} needs a function", where, rung::quoted(name));
      constexpr std::array<std::string_view, 3> kMembers{"function", "in", "out"};
      RUNG_CHECK(only_members(entry, "tables", kMembers));
      RUNG_TRY(const auto in, number(entry, "in", -40, 40, 0));
      RUNG_TRY(const auto out, number(entry, "out", -40, 40, 0));
      weights.tables[name] =
          TableFunction{entry["function"].get<std::string>(), static_cast<int>(in), static_cast<int>(out)};
    }
  }
  if (file.metadata.count("task")) {
    RUNG_TRY(const auto task, object("task"));
    if (!task.is_null()) weights.task = task.dump();
  }
  for (const auto& [key, value] : file.metadata)
    if (std::find(kKeys.begin(), kKeys.end(), key) == kKeys.end()) weights.notes[key] = value;
  weights.tensors = std::move(file.tensors);
  return weights;
}

Result<Weights> read_weights(const std::string& path) {
  RUNG_TRY(TensorFile file, read_safetensors(path));
  return weights_from_tensors(std::move(file), path);
}

TensorFile tensors_from_weights(const Weights& weights) {
  TensorFile file;
  file.tensors = weights.tensors;
  file.metadata = weights.notes;
  file.metadata["format"] = kWeightsFormat;
  file.metadata["architecture"] = format_whole_stack(weights.architecture.stack);
  file.metadata["dimensions"] = dimensions_text(weights.architecture.dimensions);
  file.metadata["mode"] = weights.mode == WeightMode::integer ? "integer" : "real";
  file.metadata["accumulator"] = accumulator_name(weights.accumulator);
  ordered_json fields = ordered_json::array();
  for (const auto& field : weights.fields) {
    ordered_json entry{{"name", field.name}, {"size", field.size}};
    if (field.length != 1) entry["length"] = field.length;
    if (field.low != 0) entry["low"] = field.low;
    fields.push_back(std::move(entry));
  }
  file.metadata["fields"] = fields.dump();
  ordered_json output{{"kind", name_of(weights.output.kind)}, {"size", weights.output.size}};
  if (weights.output.fraction) output["fraction"] = weights.output.fraction;
  file.metadata["output"] = output.dump();
  if (weights.decode.steps > 0) {
    ordered_json decode{{"steps", weights.decode.steps}};
    if (weights.decode.stop) decode["stop"] = *weights.decode.stop;
    file.metadata["decode"] = decode.dump();
  }
  if (!weights.tables.empty()) {
    ordered_json tables = ordered_json::object();
    for (const auto& [name, table] : weights.tables)
      tables[name] = {{"function", table.function}, {"in", table.in_fraction}, {"out", table.out_fraction}};
    file.metadata["tables"] = tables.dump();
  }
  if (!weights.task.empty()) file.metadata["task"] = weights.task;
  return file;
}

Result<void> write_weights(const std::string& path, const Weights& weights) {
  return write_safetensors(path, tensors_from_weights(weights));
}

}  // namespace rung
