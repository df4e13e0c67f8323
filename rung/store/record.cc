#include "rung/store/record.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "rung/base/json_text.h"
#include "rung/base/nearest_word.h"
#include "rung/spec/architecture.h"
#include "rung/store/body_reader.h"
#include "rung/store/provenance.h"

namespace rung {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kSchema = "rung.record/2", kFirstSchema = "rung.record/1";
constexpr std::size_t kMaxIdBytes = 64;
// A line is read back through parse_json, which stops at kMaxJsonBytes; the other fields have the difference.
constexpr std::size_t kMaxBodyBytes = kMaxJsonBytes / 2;
constexpr std::size_t kMaxTextBytes = std::size_t{1} << 20;

// Bytes that are no UTF-8 (a host's name, an argument) become U+FFFD once, before they are stored.
std::string valid_utf8(const std::string& text) {
  return Json::parse(Json(text).dump(-1, ' ', false, Json::error_handler_t::replace)).get<std::string>();
}

bool is_id(std::string_view text) {
  return !text.empty() && text.size() <= kMaxIdBytes && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
           c == '_' || c == ':' || c == '-';
  });
}

// Takes a field out of the object; what is left over at the end is unknown.
Result<std::string> take_text(Json& object, const char* name, std::string_view where) {
  const auto found = object.find(name);
  if (found == object.end()) return fail(ErrorCode::format, "[store] {}: no field \"{}\"", where, name);
  if (!found->is_string()) return fail(ErrorCode::format, "[store] {}: \"{}\" is not a string", where, name);
  std::string text = std::move(found->get_ref<std::string&>());
  object.erase(found);
  return text;
}

Result<std::map<std::string, std::string>> take_libraries(Json& object, std::string_view where) {
  const auto found = object.find("libraries");
  if (found == object.end() || !found->is_object())
    return fail(ErrorCode::format, "[store] {}: \"libraries\" is not an object", where);
  std::map<std::string, std::string> libraries;
  for (const auto& [name, version] : found->items()) {
    if (!version.is_string())
      return fail(ErrorCode::format, "[store] {}: the version of {} is not a string", where,
                  rung::quoted(name));
    libraries[name] = version.get<std::string>();
  }
  object.erase(found);
  return libraries;
}

Result<std::optional<std::int64_t>> take_seed(Json& object, std::string_view where) {
  const auto found = object.find("seed");
  if (found == object.end()) return fail(ErrorCode::format, "[store] {}: no field \"seed\"", where);
  std::optional<std::int64_t> seed;
  if (!found->is_null()) {
    if (!found->is_number_integer() ||
        (found->is_number_unsigned() && found->get<std::uint64_t>() > std::uint64_t{INT64_MAX}))
      return fail(ErrorCode::format, "[store] {}: \"seed\" is neither null nor an integer below 2^63", where);
    seed = found->get<std::int64_t>();
  }
  object.erase(found);
  return seed;
}

// rung 0.1.0 (rung.record/1) had two words of its own for what a search says of a model.
void translate_words(Record& record) {
  if (record.kind != "verdict") return;
  Json body = Json::parse(record.body, nullptr, false);
  const auto verdict = body.find("verdict");
  if (verdict == body.end()) return;
  if (*verdict == "holds") *verdict = "verified";
  if (*verdict == "inconclusive") *verdict = "unverified";
  record.body = body.dump();
}

// "[store] no kind ..." with its place.
Error at(std::string_view where, const Error& error) {
  return fail(error.code, "[store] {}: {}", where, std::string_view(error.message).substr(sizeof("[store]")));
}

// Everything but the body, which its readers have parsed already.
Result<void> check_fields(const Record& record, std::string_view where) {
  if (!is_id(record.id))
    return fail(ErrorCode::format, "[store] {}: id {}; expected 1 to {} letters, digits and . _ : -", where,
                rung::quoted(record.id), kMaxIdBytes);
  if (!record.parent.empty() && !is_id(record.parent))
    return fail(ErrorCode::format, "[store] {}: parent {} is not an id", where, rung::quoted(record.parent));
  if (auto known = check_kind(record.kind); !known) return at(where, known.error());
  if (!is_utc_time(record.created))
    return fail(ErrorCode::format, "[store] {}: created {}; expected 2026-01-31T23:59:59.000000Z", where,
                rung::quoted(record.created));
  if (record.state == RecordState::running ? !record.finished.empty() : !is_utc_time(record.finished))
    return fail(ErrorCode::format,
                "[store] {}: finished {} in state {}; expected a time exactly when not running", where,
                rung::quoted(record.finished), state_name(record.state));
  return {};
}

}  // namespace

std::string_view state_name(RecordState state) { return name_of(state); }
Result<RecordState> parse_state(std::string_view word) {
  return parse_word<RecordState>(word, "[store] no state");
}

Result<void> check_kind(std::string_view word) {
  if (std::find(kRecordKinds.begin(), kRecordKinds.end(), word) == kRecordKinds.end())
    return fail(ErrorCode::parse, "[store] no kind {}; {}", rung::quoted(word), suggest(word, kRecordKinds));
  return {};
}

std::string record_line(const Record& record) {
  const auto text = [](const std::string& value) {
    return Json(value).dump(-1, ' ', false, Json::error_handler_t::replace);
  };
  // The body is JSON already, canonical and on one line: it is set in, not parsed again.
  return fmt::format(
      R"({{"schema":"{}","id":{},"kind":{},"parent":{},"state":"{}","created":{},"finished":{},"seed":{},"version":{},)"
      R"("libraries":{},"host":{},"device":{},"command":{},"body":{}}})",
      kSchema, text(record.id), text(record.kind), text(record.parent), state_name(record.state),
      text(record.created), text(record.finished), record.seed ? std::to_string(*record.seed) : "null",
      text(record.version), Json(record.libraries).dump(-1, ' ', false, Json::error_handler_t::replace),
      text(record.host), text(record.device), text(record.command), record.body);
}

Result<Record> parse_record(std::string_view line, std::string_view where) {
  Record record;
  // The way of the lines that record_line writes: the body is cut out, looked through once and never built.
  // Inside a string the quote of this mark would follow a backslash, and the version of a library is no
  // object: the first one is the body's.
  constexpr std::string_view kMark = R"(,"body":)";
  const std::size_t mark = line.find(std::string(kMark) + "{");
  std::string head;
  if (mark != std::string_view::npos && line.ends_with('}')) {
    const std::string_view body = line.substr(mark + kMark.size(), line.size() - mark - kMark.size() - 1);
    if (body.find_first_of("\n\r") == std::string_view::npos && is_sound_body(body)) {
      record.body = body;
      head = std::string(line.substr(0, mark)) + "}";
    }
  }
  // parse_json bounds the depth and forgives NaN; a sound head needs neither.
  auto parsed =
      is_sound_body(head) ? Result<Json>(Json::parse(head)) : parse_json(head.empty() ? line : head, "store");
  if (!parsed) return fail(parsed.error().code, "[store] {}: no JSON: {}", where, parsed.error().message);
  Json& object = *parsed;
  if (!object.is_object()) return fail(ErrorCode::format, "[store] {}: expected a JSON object", where);
  RUNG_TRY(const std::string schema, take_text(object, "schema", where));
  if (schema != kSchema && schema != kFirstSchema)
    return fail(ErrorCode::format, "[store] {}: schema {}; expected {}", where, rung::quoted(schema),
                kSchema);
  for (const auto& [name, target] : {std::pair{"id", &record.id},
                                     {"kind", &record.kind},
                                     {"parent", &record.parent},
                                     {"created", &record.created},
                                     {"finished", &record.finished},
                                     {"version", &record.version},
                                     {"host", &record.host},
                                     {"device", &record.device},
                                     {"command", &record.command}}) {
    RUNG_TRY(*target, take_text(object, name, where));
  }
  RUNG_TRY(const std::string state, take_text(object, "state", where));
  const auto known_state = parse_state(state);
  if (!known_state) return at(where, known_state.error());
  record.state = *known_state;
  RUNG_TRY(record.seed, take_seed(object, where));
  RUNG_TRY(record.libraries, take_libraries(object, where));
  if (head.empty()) {
    const auto body = object.find("body");
    if (body == object.end() || !body->is_object())
      return fail(ErrorCode::format, "[store] {}: \"body\" is not an object", where);
    record.body = body->dump();
    object.erase(body);
  }
  if (!object.empty())
    return fail(ErrorCode::format, "[store] {}: unknown field {}", where, rung::quoted(object.begin().key()));
  RUNG_CHECK(check_fields(record, where));
  if (schema == kFirstSchema) translate_words(record);
  return record;
}

Result<void> normalise(Record& record) {
  const std::string where = "record " + rung::quoted(record.id);
  if (record.body.size() > kMaxBodyBytes)
    return fail(ErrorCode::resource, "[store] {}: a body of {} bytes; at most {}", where, record.body.size(),
                kMaxBodyBytes);
  // As deep as it will stand in its line.
  auto wrapped = parse_json("[" + record.body + "]", "store");
  if (!wrapped)
    return fail(wrapped.error().code, "[store] {}: the body is no JSON: {}", where, wrapped.error().message);
  if (wrapped->size() != 1 || !(*wrapped)[0].is_object())
    return fail(ErrorCode::format, "[store] {}: the body is no JSON object", where);
  record.body = (*wrapped)[0].dump();
  for (std::string* text : {&record.version, &record.host, &record.device, &record.command}) {
    if (text->size() > kMaxTextBytes) text->resize(kMaxTextBytes);
    *text = valid_utf8(*text);
  }
  for (auto& [name, version] : record.libraries) version = valid_utf8(version);
  return check_fields(record, where);
}

std::string merged_body(const std::string& body, const std::string& patch) {
  Json merged = Json::parse(body);
  merged.update(Json::parse(patch));
  return merged.dump();
}

namespace {

std::string canonical_arch(const std::string& text, UnsaidForm unsaid) {
  const auto stack = parse_stack(text, unsaid);
  return stack ? format_spelled_stack(*stack) : text;
}

}  // namespace

BodyWords body_words(const Record& record) {
  static constexpr std::string_view kPaths[] = {"task", "arch", "label"};
  auto fields = read_fields(record.body, kPaths);
  return {std::move(fields[0].word), canonical_arch(fields[1].word, UnsaidForm::plain),
          std::move(fields[2].word)};
}

std::string asked_arch(const std::string& line) { return canonical_arch(line, UnsaidForm::released); }

std::string earlier_arch(std::string asked) {
  for (const std::string_view said : {"(form=plain)", ",form=plain", "form=plain,"})
    for (std::size_t at = asked.find(said); at != std::string::npos; at = asked.find(said))
      asked.erase(at, said.size());
  return asked;
}

}  // namespace rung
