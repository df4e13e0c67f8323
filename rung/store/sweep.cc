#include "rung/store/sweep.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "rung/base/nearest_word.h"
#include "rung/spec/architecture.h"
#include "rung/store/setting.h"

namespace rung {
namespace {

using Json = nlohmann::json;

SweepValue sweep_value(const Json& value) {
  if (value.is_string()) return {.text = value.get<std::string>()};
  if (value.is_number()) return {.number = value.get<double>(), .text = value.dump()};
  return {.text = value.dump(-1, ' ', true)};
}

void add_leaves(SweepFields& fields, const std::string& name, const Json& value) {
  if (!value.is_object()) {
    if (!value.is_null()) fields[name] = sweep_value(value);
    return;
  }
  for (const auto& [inner, field] : value.items())
    add_leaves(fields, name.empty() ? inner : name + "." + inner, field);
}

bool is_size(std::string_view name) { return name.starts_with("size."); }

// Names of a person's own: of a configuration of an experiment, of a file. Mostly they repeat what the other fields say.
constexpr std::string_view kNames[] = {"configuration", "model"};
bool is_name(std::string_view name) {
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

// A plan of one task says its name, size and options inside a list.
void open_single_task(Json& asked) {
  const auto tasks = asked.find("tasks");
  if (tasks == asked.end() || !tasks->is_array() || tasks->size() != 1 || !tasks->front().is_object()) return;
  const Json task = tasks->front();
  asked.erase("tasks");
  for (const auto& [name, value] : task.items()) asked[name == "name" ? "task" : name] = value;
}

// Of a line of layers: how many, and which without how often.
void add_stack(SweepFields& fields, const std::string& line) {
  const auto stack = parse_stack(line, UnsaidForm::plain);
  if (!stack) return;
  fields["layers"] = sweep_value(stack->layers.size());
  std::vector<std::string> words;
  for (const Mixer& mixer : stack->layers)
    if (std::string word = format_spelled_mixer(mixer);
        std::find(words.begin(), words.end(), word) == words.end())
      words.push_back(std::move(word));
  fields["mixers"] = {.text = fmt::format("{}", fmt::join(words, "+"))};
}

std::string series_name(const SweepFields& fields, const std::vector<std::string>& series) {
  std::string out;
  for (const std::string& name : series) {
    const auto found = fields.find(name);
    const std::string text = found == fields.end() ? "-" : found->second.text;
    // Numbers and yes or no need their name beside them; architectures and variants do not.
    const bool bare = found != fields.end() && !found->second.number && text != "true" && text != "false";
    out += fmt::format("{}{}{}", out.empty() ? "" : ", ", bare ? "" : name.substr(name.rfind('.') + 1) + "=",
                       text);
  }
  return out;
}

// A record with numbers at x and y.
struct SweepRow {
  RecordFields fields;
  double x = 0, y = 0;
  std::optional<double> ceiling;
};

SweepPoint sweep_point(const std::vector<const SweepRow*>& rows) {
  SweepPoint point{
      .x = rows.front()->x, .low = rows.front()->y, .high = rows.front()->y, .count = rows.size()};
  point.label = rows.front()->fields.label;
  for (const SweepRow* row : rows) {
    point.mean += row->y / static_cast<double>(rows.size());
    point.low = std::min(point.low, row->y);
    point.high = std::max(point.high, row->y);
    if (row->ceiling) point.ceiling = std::min(*row->ceiling, point.ceiling.value_or(*row->ceiling));
    if (row->fields.label != point.label) point.label.clear();
  }
  point.mean = std::clamp(point.mean, point.low, point.high);
  return point;
}

const SweepValue* found_in(const SweepFields& fields, std::string_view name);

// Whether x, series and panel leave one value of the field at every point.
bool is_told(const std::vector<SweepRow>& rows, std::string_view name, const SweepFigure& figure) {
  std::map<std::vector<std::string>, const SweepValue*> told;
  for (const SweepRow& row : rows) {
    std::vector<std::string> place = {fmt::format("{}", row.x)};
    const auto add = [&](const std::string& field) {
      const auto* value = found_in(row.fields.asked, field);
      place.push_back(value ? value->text : "");
    };
    add(figure.panel);
    for (const std::string& field : figure.series) add(field);
    const auto* value = found_in(row.fields.asked, name);
    const auto [known, fresh] = told.emplace(std::move(place), value);
    if (!fresh && (value ? !known->second || *known->second != *value : known->second != nullptr))
      return false;
  }
  return true;
}

const SweepValue* found_in(const SweepFields& fields, std::string_view name) {
  const auto found = fields.find(name);
  return found == fields.end() ? nullptr : &found->second;
}

}  // namespace

bool SweepValue::operator<(const SweepValue& other) const {
  if (number.has_value() != other.number.has_value()) return number.has_value();
  return number && *number != *other.number ? *number < *other.number : text < other.text;
}

RecordFields record_fields(const Record& record) {
  RecordFields fields{.setting = run_setting(record.body).key};
  fields.asked["kind"] = {.text = record.kind};
  if (record.seed) fields.measured["seed"] = sweep_value(*record.seed);
  const Json body = Json::parse(record.body, nullptr, false);
  if (!body.is_object()) return fields;
  Json asked = Json::parse(fields.setting);
  open_single_task(asked);
  add_leaves(fields.asked, "", asked);
  if (const auto* line = found_in(fields.asked, "arch")) add_stack(fields.asked, std::string(line->text));
  add_leaves(fields.measured, "", body);
  std::erase_if(fields.measured, [&](const auto& field) {
    return !field.second.number || (field.first != "seed" && fields.asked.contains(field.first));
  });
  if (const auto label = body.find("label"); label != body.end() && label->is_string()) fields.label = *label;
  return fields;
}

std::vector<std::string> differing_fields(std::span<const SweepFields> all) {
  std::set<std::string> names;
  for (const SweepFields& fields : all)
    for (const auto& [name, value] : fields) names.insert(name);
  std::vector<std::string> out;
  for (const std::string& name : names)
    if (std::any_of(all.begin(), all.end(), [&](const SweepFields& fields) {
          const SweepValue *one = found_in(all.front(), name), *other = found_in(fields, name);
          return (one == nullptr) != (other == nullptr) || (one && *one != *other);
        }))
      out.push_back(name);
  std::stable_partition(out.begin(), out.end(), [](const std::string& name) { return is_size(name); });
  return out;
}

Result<SweepFigure> sweep_figure(const std::vector<Record>& records, const SweepQuestion& question) {
  SweepFigure figure{.y = question.y, .panel = question.panel.value_or("")};
  std::vector<SweepRow> rows;
  std::set<std::string> numbers;  // fields that may be y
  for (const Record& record : records) {
    SweepRow row{.fields = record_fields(record)};
    for (const auto& [name, value] : row.fields.measured) numbers.insert(name);
    const auto* y = found_in(row.fields.measured, figure.y);
    if (!y) {
      ++figure.left_out;
      continue;
    }
    row.y = *y->number;
    if (const auto* ceiling = found_in(row.fields.measured, "ceiling")) row.ceiling = ceiling->number;
    rows.push_back(std::move(row));
  }
  if (rows.empty()) {
    const std::vector<std::string_view> known(numbers.begin(), numbers.end());
    return fail(ErrorCode::missing, "[runs] no record has a number {}; {}", rung::quoted(figure.y),
                known.empty() ? "none of them has any" : suggest(figure.y, known));
  }
  std::vector<SweepFields> asked;
  for (const SweepRow& row : rows) asked.push_back(row.fields.asked);
  const std::vector<std::string> differ = differing_fields(asked);
  const auto is_number = [&](const std::string& name) {
    return std::any_of(asked.begin(), asked.end(), [&](const SweepFields& fields) {
      const auto* value = found_in(fields, name);
      return value && value->number;
    });
  };
  if (question.x) {
    figure.x = *question.x;
  } else {
    for (const std::string& name : differ)
      if (figure.x.empty() && is_number(name) && name != figure.panel &&
          (!question.series ||
           std::find(question.series->begin(), question.series->end(), name) == question.series->end()))
        figure.x = name;
    if (figure.x.empty())
      return fail(ErrorCode::missing,
                  "[runs] no number differs among the {} records that have {}; x needs one that does",
                  rows.size(), rung::quoted(figure.y));
  }
  std::set<std::string> words;
  for (const SweepFields& fields : asked)
    for (const auto& [name, value] : fields) words.insert(name);
  const std::vector<std::string_view> known(words.begin(), words.end());
  const auto check = [&](const std::string& name) -> Result<void> {
    if (words.contains(name)) return {};
    return fail(ErrorCode::missing, "[runs] no record has the field {}; {}", rung::quoted(name),
                suggest(name, known));
  };
  if (question.panel) RUNG_CHECK(check(*question.panel));
  for (const std::string& name : question.series.value_or(std::vector<std::string>{}))
    RUNG_CHECK(check(name));
  // x may also be a number that varies within a setting: the rate, the seed.
  const bool within = !words.contains(figure.x);
  std::vector<SweepRow> kept;
  for (SweepRow& row : rows) {
    const auto* x = found_in(within ? row.fields.measured : row.fields.asked, figure.x);
    if (!x || !x->number) continue;
    row.x = *x->number;
    if (within) row.fields.setting += x->text;
    kept.push_back(std::move(row));
  }
  figure.left_out += rows.size() - kept.size();
  rows = std::move(kept);
  if (rows.empty()) RUNG_CHECK(check(figure.x));
  if (rows.empty())
    return fail(ErrorCode::missing, "[runs] {} is not a number in any record that has {}",
                rung::quoted(figure.x), rung::quoted(figure.y));
  asked.clear();
  for (const SweepRow& row : rows) asked.push_back(row.fields.asked);
  const std::vector<std::string> left = differing_fields(asked);
  // What is made of the architecture says nothing beside it; against the number of layers it is the other way round.
  const auto shown = [&](const std::string& name) {
    if (name == figure.x || name == figure.panel || is_name(name)) return true;
    return figure.x == "layers" ? name == "arch" : name == "layers" || name == "mixers";
  };
  if (question.series) {
    figure.series = *question.series;
    std::vector<std::string> more;
    for (const std::string& name : left)
      if (!shown(name) && std::find(figure.series.begin(), figure.series.end(), name) == figure.series.end())
        more.push_back(name);
    if (!more.empty())
      return fail(
          ErrorCode::unsupported,
          "[runs] the records differ in {} as well; filter them, or make these the series or the panel",
          fmt::join(more, ", "));
  } else {
    for (const std::string& name : left)
      if (!shown(name)) figure.series.push_back(name);
    for (const std::string_view name : kNames)
      if (!is_told(rows, name, figure)) figure.series.emplace_back(name);
  }
  using Place = std::pair<SweepValue, std::vector<SweepValue>>;  // panel and series
  std::map<Place, std::map<std::pair<double, std::string>, std::vector<const SweepRow*>>> places;
  for (const SweepRow& row : rows) {
    Place place;
    if (const auto* panel = found_in(row.fields.asked, figure.panel)) place.first = *panel;
    for (const std::string& name : figure.series) {
      const auto* value = found_in(row.fields.asked, name);
      place.second.push_back(value ? *value : SweepValue{});
    }
    places[place][{row.x, row.fields.setting}].push_back(&row);
  }
  for (const auto& [place, points] : places) {
    if (figure.panels.empty() || figure.panels.back().name != place.first.text)
      figure.panels.push_back({.name = place.first.text});
    SweepLine line{.name = series_name(points.begin()->second.front()->fields.asked, figure.series)};
    // Different settings at one x, of a depth that two architectures share: lines of their own.
    std::vector<SweepLine> more;
    for (const auto& [at, members] : points) {
      const SweepPoint point = sweep_point(members);
      SweepLine* into = &line;
      for (std::size_t i = 0; !into->points.empty() && into->points.back().x == point.x; ++i) {
        if (i == more.size()) more.push_back({.name = fmt::format("{} ({})", line.name, i + 2)});
        into = &more[i];
      }
      into->points.push_back(point);
    }
    figure.panels.back().lines.push_back(std::move(line));
    for (SweepLine& one : more) figure.panels.back().lines.push_back(std::move(one));
  }
  return figure;
}

}  // namespace rung
