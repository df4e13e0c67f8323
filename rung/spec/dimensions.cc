// Dimensions: words, ranges, and the TOML or JSON file that carries them.
#include "rung/spec/dimensions_file.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "rung/base/json_text.h"
#include "rung/base/nearest_word.h"
#include "rung/base/size_text.h"
#include "rung/base/toml_text.h"
#include "rung/base/words.h"
#include "rung/spec/architecture.h"

namespace rung {

template <>
inline constexpr auto kWords<Norm> = std::to_array<std::string_view>({"none", "rms"});
template <>
inline constexpr auto kWords<PositionCode> = std::to_array<std::string_view>({"none", "table", "binary",
                                                                              "rope"});
template <>
inline constexpr auto kWords<MlpActivation> = std::to_array<std::string_view>({"relu", "gelu", "silu"});

namespace {

constexpr std::size_t kMaxMlpLayers = 64;
constexpr std::int64_t kMaxAccumulatorBits = 64;

// The fields of a dimensions document, one line each.
using Json = nlohmann::json;

Result<std::int64_t> integer(std::string_view field, const Json& value, std::int64_t low, std::int64_t high) {
  if (value.is_string()) {  // "4k"
    const auto size = parse_size(value.get<std::string>());
    if (!size || *size < low || *size > high)
      return fail(ErrorCode::range, "[dimensions] {} = {} is not a whole number in {}..{}", field,
                  value.dump(), low, high);
    return *size;
  }
  if (!value.is_number_integer())
    return fail(ErrorCode::format, "[dimensions] {} = {} is not a whole number in {}..{}", field,
                value.is_primitive() ? value.dump() : value.type_name(), low, high);
  const bool huge =
      value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(high);
  if (huge || value.get<std::int64_t>() < low || value.get<std::int64_t>() > high)
    return fail(ErrorCode::range, "[dimensions] {} = {} is outside {}..{}", field, value.dump(), low, high);
  return value.get<std::int64_t>();
}

Result<std::string> text_of(std::string_view field, const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_integer()) return value.dump();  // precision = 8; but 8.10 is no number
  return fail(ErrorCode::format, "[dimensions] {} is {}; expected a text", field, value.type_name());
}

struct Field {
  std::string_view name;
  Result<void> (*read)(std::string_view name, const Json& value, Dimensions& dimensions);
};

template <std::int64_t Dimensions::*member, std::int64_t low>
Result<void> read_size(std::string_view, const Json& value, Dimensions& dimensions) {
  RUNG_TRY(dimensions.*member, integer("size", value, low, kMaxSize));
  return {};
}

// A field that is a word, and how it is read.
template <auto member, auto parse>
Result<void> read_dimension_word(std::string_view name, const Json& value, Dimensions& dimensions) {
  RUNG_TRY(const std::string text, text_of(name, value));
  RUNG_TRY(dimensions.*member, parse(text));
  return {};
}

const std::array<Field, 17> kFields{{
    {"width", read_size<&Dimensions::width, 1>},
    {"heads", read_size<&Dimensions::heads, 1>},
    {"kv_heads", read_size<&Dimensions::kv_heads, 0>},
    {"head_dim", read_size<&Dimensions::head_dim, 0>},
    {"value_dim", read_size<&Dimensions::value_dim, 0>},
    {"state", read_size<&Dimensions::state, 1>},
    {"vocabulary", read_size<&Dimensions::vocabulary, 1>},
    {"outputs", read_size<&Dimensions::outputs, 0>},
    {"context", read_size<&Dimensions::context, 0>},
    {"mlp",
     [](std::string_view, const Json& value, Dimensions& dimensions) -> Result<void> {
       dimensions.mlp.clear();
       dimensions.mlp_given = true;
       if (value.is_string()) {
         RUNG_TRY(dimensions.mlp, parse_mlp(value.get<std::string>()));
         return {};
       }
       const Json list = value.is_array() ? value : Json::array({value});
       if (list.size() > kMaxMlpLayers)
         return fail(ErrorCode::range, "[dimensions] mlp has {} widths; at most {}", list.size(),
                     kMaxMlpLayers);
       for (const auto& width : list) {
         RUNG_TRY(const std::int64_t number, integer("mlp", width, 1, kMaxSize));
         dimensions.mlp.push_back(number);
       }
       return {};
     }},
    {"activation", read_dimension_word<&Dimensions::activation, parse_activation>},
    {"norm", read_dimension_word<&Dimensions::norm, parse_norm>},
    {"position", read_dimension_word<&Dimensions::position, parse_position>},
    {"causal",
     [](std::string_view, const Json& value, Dimensions& dimensions) -> Result<void> {
       if (!value.is_boolean())
         return fail(ErrorCode::format, "[dimensions] causal is {}; expected true or false",
                     value.type_name());
       dimensions.causal = value.get<bool>();
       return {};
     }},
    {"precision", read_dimension_word<&Dimensions::precision, parse_precision>},
    {"accumulator_bits",
     [](std::string_view, const Json& value, Dimensions& dimensions) -> Result<void> {
       RUNG_TRY(dimensions.accumulator_bits, integer("accumulator_bits", value, 1, kMaxAccumulatorBits));
       return {};
     }},
    {"arch", nullptr},
}};

}  // namespace

Result<Norm> parse_norm(std::string_view text) { return parse_word<Norm>(text, "[dimensions] unknown norm"); }
Result<PositionCode> parse_position(std::string_view text) {
  return parse_word<PositionCode>(text, "[dimensions] unknown position");
}
Result<MlpActivation> parse_activation(std::string_view text) {
  return parse_word<MlpActivation>(text, "[dimensions] unknown activation");
}
std::string_view norm_name(Norm norm) { return name_of(norm); }
std::string_view position_name(PositionCode position) { return name_of(position); }
std::string_view activation_name(MlpActivation activation) { return name_of(activation); }

Result<std::vector<std::int64_t>> parse_mlp(std::string_view text) {
  std::vector<std::int64_t> widths;
  if (text == "none") return widths;
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view piece = text.substr(0, comma);
    const auto width = parse_size(piece);
    if (!width || *width < 1 || *width > kMaxSize)
      return fail(ErrorCode::range,
                  "[dimensions] mlp width {}; expected \"none\" or numbers in 1..{}, as in 256,128",
                  rung::quoted(piece), kMaxSize);
    widths.push_back(*width);
    if (widths.size() > kMaxMlpLayers)
      return fail(ErrorCode::range, "[dimensions] mlp has more than {} widths", kMaxMlpLayers);
    if (comma == std::string_view::npos) return widths;
    text.remove_prefix(comma + 1);
  }
}

std::string format_mlp(const std::vector<std::int64_t>& widths) {
  std::string out;
  for (const auto width : widths) out += fmt::format("{}{}", out.empty() ? "" : ",", width);
  return out.empty() ? "none" : out;
}

std::vector<std::int64_t> mlp_widths(const Dimensions& dimensions) {
  if (dimensions.mlp_given) return dimensions.mlp;
  return {4 * dimensions.width};
}

Result<void> check_dimensions(const Dimensions& d) {
  struct Bound {
    const char* name;
    std::int64_t value, low;
  };
  const Bound bounds[] = {
      {"width", d.width, 1},           {"heads", d.heads, 1},         {"kv_heads", d.kv_heads, 0},
      {"head_dim", d.head_dim, 0},     {"value_dim", d.value_dim, 0}, {"state", d.state, 1},
      {"vocabulary", d.vocabulary, 1}, {"outputs", d.outputs, 0},     {"context", d.context, 0}};
  for (const auto& bound : bounds)
    if (bound.value < bound.low || bound.value > kMaxSize)
      return fail(ErrorCode::range, "[dimensions] {} = {} is outside {}..{}", bound.name, bound.value,
                  bound.low, kMaxSize);
  if (d.mlp.size() > kMaxMlpLayers)
    return fail(ErrorCode::range, "[dimensions] mlp has {} widths; at most {}", d.mlp.size(), kMaxMlpLayers);
  for (const auto width : d.mlp)
    if (width < 1 || width > kMaxSize)
      return fail(ErrorCode::range, "[dimensions] mlp width {} is outside 1..{}", width, kMaxSize);
  if (d.kv_heads > 0 && d.heads % d.kv_heads != 0)
    return fail(ErrorCode::range, "[dimensions] kv_heads = {} does not divide heads = {}", d.kv_heads,
                d.heads);
  if (d.accumulator_bits && (*d.accumulator_bits < 1 || *d.accumulator_bits > kMaxAccumulatorBits))
    return fail(ErrorCode::range, "[dimensions] accumulator_bits = {} is outside 1..{}", *d.accumulator_bits,
                kMaxAccumulatorBits);
  return {};
}

Result<ArchitectureFile> read_architecture_text(const std::string& text, const std::string& path,
                                                bool is_toml) {
  RUNG_TRY(const Json document,
           is_toml ? parse_toml(text, path, "dimensions") : parse_json(text, "dimensions"));
  if (!document.is_object())
    return fail(ErrorCode::format, "[dimensions] {} holds {}; expected an object of sizes", path,
                document.type_name());
  ArchitectureFile file;
  std::vector<std::string_view> known;
  for (const auto& field : kFields) known.push_back(field.name);
  for (const auto& [name, value] : document.items()) {
    const auto field = std::find_if(kFields.begin(), kFields.end(),
                                    [&wanted = name](const Field& f) { return f.name == wanted; });
    if (field == kFields.end())
      return fail(ErrorCode::format, "[dimensions] {}: unknown field {}; {}", path, rung::quoted(name),
                  suggest(name, known));
    if (field->read == nullptr) {
      RUNG_TRY(file.arch, text_of("arch", value));
    } else if (auto done = field->read(name, value, file.dimensions); !done) {
      return fail(done.error().code, "{} (field \"{}\" of {})", done.error().message, name, path);
    }
  }
  RUNG_CHECK(check_dimensions(file.dimensions));
  return file;
}

Result<ArchitectureFile> read_architecture_file(const std::string& path) {
  RUNG_TRY(const std::string text, read_text_file(path, "dimensions"));
  return read_architecture_text(text, path, path.ends_with(".toml"));
}

Result<Dimensions> read_dimensions(const std::string& path) {
  RUNG_TRY(ArchitectureFile file, read_architecture_file(path));
  return file.dimensions;
}

std::string dimensions_text(const Dimensions& d) {
  nlohmann::ordered_json json{{"width", d.width}, {"heads", d.heads}};
  if (d.kv_heads) json["kv_heads"] = d.kv_heads;
  if (d.head_dim) json["head_dim"] = d.head_dim;
  if (d.value_dim) json["value_dim"] = d.value_dim;
  json["state"] = d.state;
  if (d.mlp_given) json["mlp"] = format_mlp(d.mlp);
  json["activation"] = activation_name(d.activation);
  json["norm"] = norm_name(d.norm);
  json["position"] = position_name(d.position);
  json["vocabulary"] = d.vocabulary;
  if (d.outputs) json["outputs"] = d.outputs;
  if (d.context) json["context"] = d.context;
  json["causal"] = d.causal;
  json["precision"] = format_precision(d.precision);
  if (d.accumulator_bits) json["accumulator_bits"] = *d.accumulator_bits;
  return json.dump();
}

}  // namespace rung
