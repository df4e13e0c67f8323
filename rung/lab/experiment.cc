#include "rung/lab/experiment.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "rung/base/json_text.h"
#include "rung/base/nearest_word.h"
#include "rung/base/toml_text.h"

namespace rung {
extern const std::string_view kExperiments;
}

namespace rung::lab {
namespace {

using nlohmann::json;

// Reads the fields of one object; what was not asked for is unknown.
class Fields {
 public:
  Fields(const json& object, std::string where) : object_(object), where_(std::move(where)) {}

  Result<void> is_object() const {
    if (!object_.is_object()) return fail(ErrorCode::parse, "[lab] {}: an object expected", where_);
    return {};
  }
  const json* find(const char* name) {
    known_.push_back(name);
    const auto at = object_.find(name);
    return at == object_.end() ? nullptr : &*at;
  }
  Result<std::string> word(const char* name, std::optional<std::string> fallback = {}) {
    const json* value = find(name);
    if (!value && fallback) return *fallback;
    if (!value || !value->is_string() || value->get_ref<const std::string&>().empty())
      return fail(ErrorCode::parse, "[lab] {}: {} expected, a text", where_, name);
    return value->get<std::string>();
  }
  Result<std::int64_t> whole(const char* name, std::int64_t fallback, std::int64_t low, std::int64_t high) {
    const json* value = find(name);
    if (!value) return fallback;
    if (!value->is_number_integer() ||
        (value->is_number_unsigned() && value->get<std::uint64_t>() > INT64_MAX))
      return fail(ErrorCode::parse, "[lab] {}.{}: a whole number expected", where_, name);
    const auto number = value->get<std::int64_t>();
    if (number < low || number > high)
      return fail(ErrorCode::range, "[lab] {}.{} = {}; {} to {} expected", where_, name, number, low, high);
    return number;
  }
  Result<double> number(const char* name, double fallback, double low, double high) {
    const json* value = find(name);
    if (!value) return fallback;
    if (!value->is_number()) return fail(ErrorCode::parse, "[lab] {}.{}: a number expected", where_, name);
    const double number = value->get<double>();
    if (!(number >= low && number <= high))
      return fail(ErrorCode::range, "[lab] {}.{} = {}; {} to {} expected", where_, name, number, low, high);
    return number;
  }
  Result<std::vector<std::string>> words(const char* name) {
    std::vector<std::string> out;
    const json* value = find(name);
    if (!value) return out;
    if (!value->is_array())
      return fail(ErrorCode::parse, "[lab] {}.{}: a list of texts expected", where_, name);
    for (const json& item : *value) {
      if (!item.is_string())
        return fail(ErrorCode::parse, "[lab] {}.{}: a list of texts expected", where_, name);
      out.push_back(item.get<std::string>());
    }
    return out;
  }
  // Last: every field must have been asked for.
  Result<void> no_others() const {
    for (const auto& [name, value] : object_.items())
      if (std::find(known_.begin(), known_.end(), name) == known_.end()) {
        std::vector<std::string_view> names(known_.begin(), known_.end());
        return fail(ErrorCode::parse, "[lab] {}: unknown field {}; {}", where_, rung::quoted(name),
                    suggest(name, names));
      }
    return {};
  }

 private:
  const json& object_;
  std::string where_;
  std::vector<std::string> known_;
};

Result<WrittenModel> written_model(const json& value, const std::string& where) {
  Fields fields(value, where);
  RUNG_CHECK(fields.is_object());
  WrittenModel out;
  RUNG_TRY(out.request.name, fields.word("name"));
  RUNG_TRY(const std::int64_t below, fields.whole("below", 0, 0, 40));
  RUNG_TRY(out.budget, fields.whole("budget", out.budget, 1, 1'000'000'000));
  out.below = static_cast<int>(below);
  if (const json* smallest = fields.find("smallest")) {
    if (!smallest->is_boolean())
      return fail(ErrorCode::parse, "[lab] {}.smallest: true or false expected", where);
    out.smallest = smallest->get<bool>();
  }
  for (const char* name : {"size", "options"}) {
    const json* object = fields.find(name);
    if (!object) continue;
    if (!object->is_object()) return fail(ErrorCode::parse, "[lab] {}.{}: an object expected", where, name);
    Fields inner(*object, where + "." + name);
    for (const auto& [key, item] : object->items()) {
      if (name == std::string_view("size")) {
        RUNG_TRY(out.request.sizes[key], inner.whole(key.c_str(), 0, 0, INT64_MAX));
      } else {
        RUNG_TRY(out.request.options[key], inner.word(key.c_str()));
      }
    }
  }
  RUNG_CHECK(fields.no_others());
  return out;
}

Result<AttackLine> attack_line(const json& value, const std::string& where) {
  Fields fields(value, where);
  RUNG_CHECK(fields.is_object());
  AttackLine out;
  RUNG_TRY(out.mixer, fields.word("mixer"));
  constexpr std::string_view kStacked[] = {"mamba2", "linear"};
  if (std::find(std::begin(kStacked), std::end(kStacked), out.mixer) == std::end(kStacked))
    return fail(ErrorCode::parse, "[lab] {}.mixer: {}; {}", where, rung::quoted(out.mixer),
                suggest(out.mixer, kStacked));
  RUNG_TRY(out.layers, fields.whole("layers", 1, 1, 16));
  RUNG_TRY(out.n, fields.whole("n", 64, 2, 1 << 16));
  const json* bits = fields.find("bits");
  RUNG_CHECK(fields.no_others());
  if (!bits || !bits->is_array() || bits->empty())
    return fail(ErrorCode::missing, "[lab] {}.bits expected, a list of bits a layer", where);
  for (const json& item : *bits) {
    if (!item.is_number_integer() || item < 8 || item > 160 || item.get<std::int64_t>() % 4 != 0 ||
        (!out.bits.empty() && item <= out.bits.back()))
      return fail(ErrorCode::range, "[lab] {}.bits: ascending multiples of 4 from 8 to 160 expected", where);
    out.bits.push_back(item.get<std::int64_t>());
  }
  return out;
}

Result<AttackSeries> attack_series(const json& value, const std::string& where) {
  Fields fields(value, where);
  RUNG_CHECK(fields.is_object());
  AttackSeries out;
  RUNG_TRY(out.method, fields.word("method"));
  RUNG_TRY(out.seconds, fields.number("seconds", out.seconds, 0.01, 86400));
  RUNG_TRY(out.seconds_per_point, fields.number("seconds_per_point", out.seconds_per_point, 0.01, 86400));
  if (const json* line = fields.find("line")) {
    RUNG_TRY(out.line, attack_line(*line, where + ".line"));
  }
  RUNG_CHECK(fields.no_others());
  return out;
}

bool is_id(std::string_view id) {
  return !id.empty() && id.size() <= 64 && id.front() != '.' && std::all_of(id.begin(), id.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  });
}

Result<Configuration> configuration(const json& value, const json& base, std::int64_t seeds,
                                    const std::string& where) {
  if (!value.is_object() || !value.contains("id") || !value["id"].is_string() ||
      !is_id(value["id"].get_ref<const std::string&>()))
    return fail(ErrorCode::parse,
                "[lab] {}: an id of letters, digits, - _ and . expected (at most 64; it names a folder)",
                where);
  Configuration out{value["id"].get<std::string>(), {}};
  const std::string here = where + " " + out.id;
  for (const char* alone : {"construction", "attack"})
    if (value.contains(alone)) {
      if (value.size() != 2)
        return fail(ErrorCode::parse, "[lab] {}: nothing beside id and {} expected", here, alone);
      if (alone == std::string_view("attack")) {
        RUNG_TRY(out.what, attack_series(value["attack"], here + ".attack"));
      } else {
        RUNG_TRY(out.what, written_model(value["construction"], here + ".construction"));
      }
      return out;
    }
  json plan = base;
  json own = value;
  own.erase("id");
  plan.merge_patch(own);
  if (plan.contains("seeds"))
    return fail(ErrorCode::parse, "[lab] {}: seeds is a field of the size, not of a configuration", here);
  plan["seeds"] = json::array();
  for (std::int64_t seed = 1; seed <= seeds; ++seed) plan["seeds"].push_back(seed);
  auto parsed = parse_plan(plan.dump(), here);
  if (!parsed) return parsed.error();
  out.what = std::move(*parsed);
  return out;
}

Result<Prediction> prediction(const json& value, const std::string& where) {
  Fields fields(value, where);
  RUNG_CHECK(fields.is_object());
  Prediction out;
  RUNG_TRY(out.id, fields.word("id"));
  const std::string here = where + " " + out.id;
  RUNG_TRY(out.statement, fields.word("statement"));
  RUNG_TRY(const std::string kind, fields.word("kind"));
  RUNG_TRY(out.kind, parse_word<PredictionKind>(kind, fmt::format("[lab] {}.kind:", here)));
  RUNG_TRY(const std::string scope, fields.word("scope"));
  RUNG_TRY(out.scope, parse_word<Scope>(scope, fmt::format("[lab] {}.scope:", here)));
  RUNG_TRY(out.configurations, fields.words("configurations"));
  RUNG_TRY(out.than, fields.words("than"));
  RUNG_TRY(out.given, fields.words("given"));
  if (fields.find("accuracy")) {
    RUNG_TRY(out.accuracy, fields.number("accuracy", 1, 0, 1));
  }
  RUNG_TRY(out.margin, fields.number("margin", 0, -1, 1));
  RUNG_TRY(out.given_accuracy, fields.number("given_accuracy", out.given_accuracy, 0, 1));
  RUNG_TRY(out.seeds, fields.whole("seeds", 0, 1, kMostSeeds));
  if (const json* separated = fields.find("separated")) {
    if (!separated->is_boolean())
      return fail(ErrorCode::parse, "[lab] {}.separated: true or false expected", here);
    out.separated = separated->get<bool>();
  }
  RUNG_TRY(out.low, fields.number("low", 0, -1e9, 1e9));
  RUNG_TRY(out.high, fields.number("high", 0, -1e9, 1e9));
  RUNG_TRY(const std::string axis, fields.word("over", "bits"));
  RUNG_TRY(out.over, parse_word<Axis>(axis, fmt::format("[lab] {}.over:", here)));
  RUNG_TRY(const std::string room, fields.word("room", "bits"));
  RUNG_TRY(out.room, parse_word<Room>(room, fmt::format("[lab] {}.room:", here)));
  RUNG_TRY(out.explains, fields.words("explains"));
  RUNG_CHECK(fields.no_others());
  if (out.configurations.empty())
    return fail(ErrorCode::missing, "[lab] {}: configurations expected, a list of ids", here);
  const bool compares = out.kind == PredictionKind::ordered || out.kind == PredictionKind::serves;
  const bool measured = compares || out.kind == PredictionKind::errs || out.kind == PredictionKind::slope;
  if (measured && out.scope == Scope::theorem)
    return fail(ErrorCode::unsupported, "[lab] {}: {} is about what was measured; scope empirical expected",
                here, kind);
  if (compares != !out.than.empty())
    return fail(ErrorCode::missing, "[lab] {}: `than` belongs to kinds ordered and serves, and they need one",
                here);
  if (out.kind == PredictionKind::reaches && !out.accuracy)
    return fail(ErrorCode::missing, "[lab] {}: accuracy expected", here);
  if (out.seeds > 0 && (out.scope == Scope::theorem ||
                        (out.kind != PredictionKind::reaches && out.kind != PredictionKind::stays_below)))
    return fail(ErrorCode::unsupported,
                "[lab] {}: seeds is allowed for empirical reaches and stays-below only", here);
  if (out.kind == PredictionKind::slope && !(out.low < out.high))
    return fail(ErrorCode::range, "[lab] {}: low < high expected", here);
  return out;
}

// Whether a size has a configuration that one of the patterns names.
bool names_any(const json* section, const std::vector<std::string>& patterns) {
  if (!section || !section->is_object() || !section->contains("configurations")) return false;
  for (const json& item : (*section)["configurations"])
    for (const std::string& pattern : patterns)
      if (item.is_object() && item.contains("id") && item["id"].is_string() &&
          matches(pattern, item["id"].get_ref<const std::string&>()))
        return true;
  return false;
}

const json& own_experiments() {
  static const json kParsed = json::parse(kExperiments);
  return kParsed;
}

// "experiment/prediction" of the program's own experiments, or of the document itself.
Result<void> is_prediction(const std::string& target, const json& document, const std::string& where) {
  std::vector<std::string> names;
  const auto add = [&](const json& experiment) {
    for (const json& one : experiment.at("predictions"))
      if (one.is_object() && one.contains("id") && one["id"].is_string())
        names.push_back(experiment.at("name").get<std::string>() + "/" + one["id"].get<std::string>());
  };
  add(document);
  for (const json& own : own_experiments()) add(own);
  if (std::find(names.begin(), names.end(), target) != names.end()) return {};
  const std::vector<std::string_view> words(names.begin(), names.end());
  return fail(
      ErrorCode::parse, "[lab] {}.explains: no prediction {}; {}", where, rung::quoted(target),
      suggest(target, words, "an experiment's name and a prediction's id with a slash between expected"));
}

Result<Experiment> experiment_of(const json& document, const std::string& where, const std::string& size,
                                 std::int64_t seeds) {
  Fields fields(document, where);
  RUNG_CHECK(fields.is_object());
  Experiment out;
  RUNG_TRY(out.name, fields.word("name"));
  if (!is_id(out.name))
    return fail(ErrorCode::parse, "[lab] {}: name {}; letters, digits, - _ and . expected", where,
                rung::quoted(out.name));
  RUNG_TRY(out.tests, fields.word("tests"));
  const json* sizes[] = {fields.find("small"), fields.find("gpu")};
  const json* list = fields.find("predictions");
  RUNG_CHECK(fields.no_others());
  if (size != "small" && size != "gpu")
    return fail(ErrorCode::parse, "[lab] size {}; small or gpu expected", rung::quoted(size));
  out.size = size;
  const json* chosen = sizes[size == "gpu"];
  if (!chosen) return fail(ErrorCode::missing, "[lab] {} has no size {}", out.name, size);
  Fields section(*chosen, where + ": " + size);
  RUNG_CHECK(section.is_object());
  RUNG_TRY(out.seeds, section.whole("seeds", 1, 1, kMostSeeds));
  if (seeds < 0 || seeds > kMostSeeds)
    return fail(ErrorCode::range, "[lab] `seeds` {}; 1 to {} expected", seeds, kMostSeeds);
  if (seeds > 0) out.seeds = seeds;
  const json* base = section.find("base");
  const json* configurations = section.find("configurations");
  RUNG_CHECK(section.no_others());
  if (base && !base->is_object())
    return fail(ErrorCode::parse, "[lab] {}: {}.base: an object expected", where, size);
  if (!configurations || !configurations->is_array() || configurations->empty())
    return fail(ErrorCode::missing, "[lab] {}: {}.configurations expected, a list", where, size);
  std::set<std::string> ids;
  for (const json& item : *configurations) {
    RUNG_TRY(Configuration one, configuration(item, base ? *base : json::object(), out.seeds,
                                              fmt::format("{}: {}", where, size)));
    if (!ids.insert(one.id).second)
      return fail(ErrorCode::parse, "[lab] {}: two configurations are called {}", where, one.id);
    out.configurations.push_back(std::move(one));
  }
  if (!list || !list->is_array() || list->empty())
    return fail(ErrorCode::missing, "[lab] {}: predictions expected, a list", where);
  std::set<std::string> named;
  for (const json& item : *list) {
    RUNG_TRY(Prediction one, prediction(item, where + ": prediction"));
    for (const std::string& target : one.explains)
      RUNG_CHECK(is_prediction(target, document, where + ": prediction " + one.id));
    if (!named.insert(one.id).second)
      return fail(ErrorCode::parse, "[lab] {}: two predictions are called {}", where, one.id);
    // About configurations of the other size alone: not asked at this one.
    const auto names = [&](const json* of, const std::vector<std::string>& patterns) {
      return patterns.empty() || names_any(of, patterns);
    };
    if (names(chosen, one.configurations) && names(chosen, one.than) && names(chosen, one.given))
      out.predictions.push_back(std::move(one));
    else if (const json* other = sizes[size != "gpu"]; !other || !names(other, one.configurations) ||
                                                       !names(other, one.than) || !names(other, one.given))
      return fail(ErrorCode::missing, "[lab] {}: prediction {} names configurations that no size has", where,
                  one.id);
  }
  if (out.predictions.empty())
    return fail(ErrorCode::missing, "[lab] {}: no prediction is about the size {}", where, size);
  json whole = document;
  for (const char* other : {"small", "gpu"})
    if (other != size) whole.erase(other);
  whole["size"] = size;
  whole["seeds"] = out.seeds;
  out.document = whole.dump(1);
  return out;
}

}  // namespace

std::vector<ExperimentWord> experiment_words() {
  std::vector<ExperimentWord> out;
  for (const json& document : own_experiments()) {
    ExperimentWord word{document.at("name").get<std::string>(), document.at("tests").get<std::string>(), {}};
    for (const char* size : {"small", "gpu"})
      if (document.contains(size)) word.sizes.emplace_back(size);
    out.push_back(std::move(word));
  }
  return out;
}

Result<Experiment> find_experiment(const std::string& name, const std::string& size, std::int64_t seeds) {
  std::vector<std::string> names;
  for (const json& document : own_experiments()) {
    if (document.at("name") == name) return experiment_of(document, name, size, seeds);
    names.push_back(document.at("name").get<std::string>());
  }
  const std::vector<std::string_view> words(names.begin(), names.end());
  return fail(ErrorCode::parse, "[lab] no experiment {}; {}", rung::quoted(name),
              suggest(name, words, "`list` names them"));
}

Result<Experiment> parse_experiment(const std::string& text, const std::string& where,
                                    const std::string& size, std::int64_t seeds) {
  RUNG_TRY(const json document, parse_json(text, "lab"));
  return experiment_of(document, where, size, seeds);
}

Result<Experiment> read_experiment(const std::string& path, const std::string& size, std::int64_t seeds) {
  RUNG_TRY(const std::string text, read_text_file(path, "lab"));
  if (!path.ends_with(".toml")) return parse_experiment(text, path, size, seeds);
  RUNG_TRY(const json document, parse_toml(text, path, "lab"));
  return experiment_of(document, path, size, seeds);
}

}  // namespace rung::lab
