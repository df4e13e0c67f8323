#include "rung/store/harness.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "rung/base/json_text.h"
#include "rung/base/nearest_word.h"
#include "rung/store/provenance.h"

namespace rung {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kPrefix = "rung_";
// What rung's exported tasks measure, first found first; the harness appends ",FILTER" to the name.
constexpr std::string_view kMetrics[] = {"exact_match", "acc"};
constexpr double kLatestTime = 0x1.0p33;

const Json& member(const Json& object, const std::string& name) {
  static const Json kNothing;
  if (!object.is_object()) return kNothing;
  const auto found = object.find(name);
  return found == object.end() ? kNothing : *found;
}

std::string text_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : std::string();
}

struct Metric {
  std::string name, filter;
  double value = 0;
  std::optional<double> deviation;
};

Result<Metric> metric_of(const Json& result, const std::string& task, const std::string& path) {
  for (const std::string_view name : kMetrics) {
    for (const auto& [key, value] : result.items()) {
      const std::size_t comma = std::min(key.find(','), key.size());
      if (std::string_view(key).substr(0, comma) != name) continue;
      if (!value.is_number() || !(value.get<double>() >= 0 && value.get<double>() <= 1))
        return fail(ErrorCode::format, "[store] {}: {} of {} is not a number from 0 to 1", path,
                    rung::quoted(key), rung::quoted(task));
      Metric metric{
          std::string(name), comma < key.size() ? key.substr(comma + 1) : "", value.get<double>(), {}};
      const Json& deviation = member(result, std::string(name) + "_stderr" + key.substr(comma));
      if (deviation.is_number()) metric.deviation = deviation.get<double>();  // "N/A" where there is none
      return metric;
    }
  }
  return fail(ErrorCode::format, "[store] {}: {} has neither exact_match nor acc", path, rung::quoted(task));
}

// The exported name has _ for every sign that is no letter or digit; rung's own words use the hyphen.
std::string task_word(const std::string& exported) {
  std::string word = exported.substr(kPrefix.size());
  std::replace(word.begin(), word.end(), '_', '-');
  return word;
}

// The file's "date", else the time in its name (results_2026-01-31T23-59-59.123456.json), else the beginning
// of 1970: the same for the same file, wherever it is copied.
Result<std::string> time_of(const Json& file, const std::string& path) {
  const Json& date = member(file, "date");
  if (!date.is_null()) {
    if (!date.is_number() || !(date.get<double>() >= 0 && date.get<double>() < kLatestTime))
      return fail(ErrorCode::format, "[store] {}: \"date\" is not a time in seconds", path);
    return utc_time(date.get<double>());
  }
  constexpr std::string_view kBegin = "results_", kShape = "0000-00-00T00:00:00.000000Z";
  constexpr std::size_t kSeconds = sizeof("2026-01-31T23-59-59") - 1, kHourEnd = 13, kMinuteEnd = 16;
  const std::string name = std::filesystem::path(path).filename().string();
  if (name.starts_with(kBegin) && name.size() >= kBegin.size() + kSeconds) {
    std::string time = name.substr(kBegin.size(), kSeconds);
    time[kHourEnd] = time[kMinuteEnd] = ':';
    time += kShape.substr(kSeconds);
    if (is_utc_time(time)) return time;
  }
  return utc_time(0);
}

Result<Record> record_of(const Json& file, const std::string& task, const Json& result,
                         const std::string& path) {
  if (!result.is_object())
    return fail(ErrorCode::format, "[store] {}: the result of {} is not an object", path, rung::quoted(task));
  RUNG_TRY(const Metric metric, metric_of(result, task, path));
  RUNG_TRY(const std::string time, time_of(file, path));
  const Json& settings = member(file, "config");
  const Json& of_task = member(member(file, "configs"), task);
  Json body = {{"source", "lm-evaluation-harness"},
               {"task", task_word(task)},
               {"exported_as", task},
               {"metric", metric.name},
               {"filter", metric.filter},
               {"accuracy", metric.value},
               {"result", result},
               {"config", settings}};
  if (metric.deviation) body["stderr"] = *metric.deviation;
  const Json& metadata = member(of_task, "metadata");
  for (const char* name : {"size", "variant"})
    if (const Json& value = member(metadata, name); !value.is_null()) body[name] = value;
  const Json& samples = member(member(file, "n-samples"), task);
  if (const Json& count = samples.is_object() ? member(samples, "effective") : samples; count.is_number())
    body["count"] = count;
  if (const Json& shots = member(member(file, "n-shot"), task); !shots.is_null()) body["shots"] = shots;
  if (const Json& version = member(member(file, "versions"), task); !version.is_null())
    body["task_version"] = version;
  std::string model = text_of(member(file, "model_name"));
  if (model.empty()) model = text_of(member(settings, "model_args"));
  if (!model.empty()) body["model"] = model;

  Record record;
  record.kind = "evaluation";
  record.state = RecordState::done;
  record.created = record.finished = time;
  record.device = text_of(member(settings, "device"));
  if (const Json& seed = member(settings, "random_seed");
      seed.is_number_integer() && seed >= 0 && seed <= INT64_MAX)
    record.seed = seed.get<std::int64_t>();
  for (const auto& [name, key] : {std::pair{"lm-eval", "lm_eval_version"},
                                  {"lm-eval-commit", "git_hash"},
                                  {"transformers", "transformers_version"}})
    if (const std::string version = text_of(member(file, key)); !version.empty())
      record.libraries[name] = version;
  record.body = body.dump();
  record.id = content_id(record.created, record.body);
  RUNG_CHECK(normalise(record));
  return record;
}

}  // namespace

Result<HarnessResults> read_harness_results(const std::string& path) {
  RUNG_TRY(const std::string text, read_text_file(path, "store"));
  const auto file = parse_json(text, "store");
  const Json* results = file ? &member(*file, "results") : nullptr;
  if (!results || !results->is_object())
    return fail(ErrorCode::format,
                "[store] {} is neither a store (SQLite, JSON lines of rung.record/2) nor a result file of "
                "the lm-evaluation-harness",
                path);
  HarnessResults found;
  for (const auto& [task, result] : results->items()) {
    if (!task.starts_with(kPrefix) || task.size() == kPrefix.size()) {
      ++found.skipped;
      continue;
    }
    RUNG_TRY(auto record, record_of(*file, task, result, path));
    found.records.push_back(std::move(record));
  }
  if (found.records.empty())
    return fail(ErrorCode::unsupported, "[store] {} has no result of a task that rung exported (rung_...)",
                path);
  return found;
}

}  // namespace rung
