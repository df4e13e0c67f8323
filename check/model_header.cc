#include "check/model_header.h"

#include <nlohmann/json.hpp>

#include "check/document.h"

namespace rung_check {
namespace {

constexpr std::int64_t kMostFields = 64, kLongestField = 1 << 20, kMostDecodingSteps = 1'000'000,
                       kMostDigits = 62;

std::string metadata(const TensorFile& file, const std::string& key) {
  const auto found = file.metadata().find(key);
  if (found == file.metadata().end()) throw Malformed(text("the model's metadata has no \"", key, "\""));
  return found->second;
}

std::vector<Field> read_fields(const std::string& content) {
  const Json json = parse_json(content, "the model's fields");
  if (!json.is_array() || json.empty() || json.size() > kMostFields)
    throw Malformed("the model has no 1 to 64 fields");
  std::vector<Field> fields;
  for (const auto& entry : json) {
    Members m(entry, "a field of the model");
    Field field{m.word("name"), m.number("size", 1)};
    if (m.has("length")) field.length = m.number("length", 1, kLongestField);
    if (m.has("low")) field.low = m.number("low");
    m.done();
    const auto letter = [](unsigned char c) { return std::isalnum(c) || c == '-' || c == '_'; };
    if (field.name.empty() || field.name.size() > 64 || field.name == "position" ||
        !std::all_of(field.name.begin(), field.name.end(), letter))
      throw Malformed("a field of the model has a name that is not allowed");
    if (field.low > kLargestNumber - field.size) throw Malformed("a field of the model goes beyond 2^62");
    for (const auto& other : fields)
      if (other.name == field.name) throw Malformed(text("the model's field ", field.name, " comes twice"));
    fields.push_back(field);
  }
  return fields;
}

}  // namespace

ModelHeader read_header(const TensorFile& file) {
  const bool says_forms = metadata(file, "format") == "rung.weights/2";
  if (!says_forms && metadata(file, "format") != "rung.weights/1")
    throw Malformed("the model's format is neither rung.weights/1 nor rung.weights/2");
  ModelHeader header;
  header.mode = metadata(file, "mode");
  if (header.mode != "integer" && header.mode != "real")
    throw Malformed("the model's mode is neither integer nor real");
  header.architecture = read_architecture(metadata(file, "architecture"), metadata(file, "dimensions"),
                                          header.mode == "real", says_forms);
  if (file.metadata().contains("accumulator")) header.accumulator = metadata(file, "accumulator");
  if (header.accumulator != "exact" && header.accumulator != "wrap" && header.accumulator != "round")
    throw Malformed("the model's accumulator is neither exact nor wrap nor round");
  header.fields = read_fields(metadata(file, "fields"));
  {
    const Json json = parse_json(metadata(file, "output"), "the model's output");
    Members m(json, "the model's output");
    Output& output = header.output;
    output.kind = m.word("kind");
    const bool threshold = output.kind == "threshold", binary = output.kind == "binary";
    if (!threshold && !binary && output.kind != "logits" && output.kind != "vector")
      throw Malformed("the model's output is of an unknown kind");
    if (!threshold || m.has("size"))
      output.size = m.number("size", 1, threshold ? 1 : binary ? kMostDigits : std::int64_t{1} << 31);
    if (m.has("fraction")) output.fraction = m.number("fraction", 0, 62);
    m.done();
  }
  if (file.metadata().contains("decode")) {
    const Json json = parse_json(metadata(file, "decode"), "the model's decode");
    Members m(json, "the model's decode");
    if (m.has("steps")) header.steps = m.number("steps", 0, kMostDecodingSteps);
    if (m.has("stop")) header.stop = m.number("stop", 0, std::int64_t{1} << 31);
    m.done();
    if (header.steps > 0 && header.output.kind == "vector")
      throw Malformed("a vector output has no chain of thought");
    if (header.steps > 0 && !header.architecture.causal)
      throw Malformed("an encoder has no chain of thought");
  }
  if (header.mode == "real" && file.metadata().contains("tables")) {
    const Json json = parse_json(metadata(file, "tables"), "the model's tables");
    if (!json.is_object()) throw Malformed("the model's tables are not an object");
    for (const auto& [name, entry] : json.items()) {
      Members m(entry, "a table of the model");
      RealFunction& function = header.functions[name];
      function.word = m.word("function");
      if (m.has("in")) function.in = m.number("in", -40, 40);
      if (m.has("out")) function.out = m.number("out", -40, 40);
      m.done();
    }
  }
  return header;
}

}  // namespace rung_check
