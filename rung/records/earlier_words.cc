#include "rung/records/earlier_words.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "rung/base/json_text.h"
#include "rung/records/training_plan.h"
#include "rung/spec/architecture.h"

namespace rung {
namespace {

using nlohmann::ordered_json;

// The value of an object's field, or nothing.
ordered_json* field_of(ordered_json& holder, const char* name) {
  if (!holder.is_object()) return nullptr;
  const auto found = holder.find(name);
  return found == holder.end() || found->is_null() ? nullptr : &*found;
}

template <class Change>
void each(ordered_json& holder, const char* name, const Change& change) {
  if (ordered_json* list = field_of(holder, name); list && list->is_array())
    for (ordered_json& item : *list)
      if (item.is_object()) change(item);
}

void rename(ordered_json& holder, const char* from, const char* to) {
  if (ordered_json* value = field_of(holder, from)) {
    ordered_json moved = std::move(*value);
    holder.erase(from);
    holder[to] = std::move(moved);
  }
}

// Free text that quotes an outcome.
void translate_text(ordered_json* text) {
  if (!text || !text->is_string()) return;
  std::string words = text->get<std::string>();
  for (const auto& [old, now] : {std::pair<std::string_view, const char*>{"vacuous here", "vacuous"},
                                 {"silent here", "vacuous at this size"}})
    if (const std::size_t at = words.find(old); at != std::string::npos) words.replace(at, old.size(), now);
  *text = words;
}

// "literature: Author 1999" is a source and a reference; "paper 2602.01763" is the paper.
void translate_source(ordered_json& bound) {
  ordered_json* source = field_of(bound, "source");
  if (!source || !source->is_string()) return;
  const std::string text = source->get<std::string>();
  *source =
      text.empty() ? ordered_json() : ordered_json(text.substr(0, std::min(text.find(' '), text.find(':'))));
}

void translate_bound(ordered_json& bound) {
  rename(bound, "tag", "status");
  if (ordered_json* status = field_of(bound, "status"); status && *status == "") *status = nullptr;
  translate_source(bound);
  if (ordered_json* numbers = field_of(bound, "numbers")) {
    rename(*numbers, "bites_at", "certified_from");
    // A note among the numbers was possible.
    if (numbers->is_object())
      for (auto& [name, value] : numbers->items())
        if (!value.is_number()) value = nullptr;
  }
  if (ordered_json* argument = field_of(bound, "argument"); argument && argument->is_array())
    for (ordered_json& step : *argument) translate_text(&step);
  ordered_json* state = field_of(bound, "state");
  if (!state) return;
  // `silent` was said of both: a theorem whose numbers do not reach, of which the inequality is the hypothesis that
  // fails, and one of which another fails.
  bool fails = false;
  each(bound, "hypotheses", [&](ordered_json& hypothesis) {
    const ordered_json* holds = field_of(hypothesis, "holds");
    fails = fails || (holds && *holds == false);
  });
  const ordered_json* inequality = field_of(bound, "inequality");
  const bool counted =
      inequality && inequality->is_string() &&
      inequality->get_ref<const std::string&>().find(" bits needed <= ") != std::string::npos;
  if (*state == "silent") *state = fails && !counted ? "open" : "vacuous";
  if (*state == "inapplicable") *state = "open";
}

// "1 2": a number, or a list of them, as the text that is written today.
void to_text(ordered_json& value) {
  if (value.is_number()) value = value.dump();
  if (!value.is_array()) return;
  std::string text;
  for (const ordered_json& part : value)
    text += (text.empty() ? "" : " ") + (part.is_string() ? part.get<std::string>() : part.dump());
  value = text;
}

void texts(ordered_json& holder, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (ordered_json* list = field_of(holder, name); list && list->is_array())
      for (ordered_json& item : *list) to_text(item);
}

void translate_cell(ordered_json& cell) {
  if (ordered_json* bound = field_of(cell, "bound")) translate_bound(*bound);
  each(cell, "further_bounds", translate_bound);
  if (ordered_json* construction = field_of(cell, "construction")) {
    if (ordered_json* state = field_of(*construction, "state"); state && *state == "failed")
      *state = "refuted";
    each(*construction, "coordinates", [](ordered_json& piece) { rename(piece, "holds", "content"); });
    if (ordered_json* attention = field_of(*construction, "attention")) {
      texts(*attention, {"tokens"});
      if (ordered_json* answer = field_of(*attention, "answer")) to_text(*answer);
    }
  }
  if (ordered_json* certificate = field_of(cell, "certificate")) {
    texts(*certificate, {"first", "second", "answers", "model_answers"});
    if (ordered_json* state = field_of(*certificate, "state")) {
      const ordered_json* checker = field_of(*certificate, "checker");
      if (*state == "VERIFIED") *state = "verified";
      if (*state == "unverified" && checker && checker->is_object() &&
          checker->value("exit", ordered_json()) == 1)
        *state = "refuted";
    }
  }
  if (ordered_json* training = field_of(cell, "training")) {
    translate_text(field_of(*training, "label_reason"));
    if (ordered_json* label = field_of(*training, "label"); label && *label == "") *label = nullptr;
    if (ordered_json* record = field_of(*training, "record"); record && record->is_string())
      *record = {{"file", *record}};
    if (ordered_json* curve = field_of(*training, "curve"); curve && !field_of(*training, "curves"))
      (*training)["curves"] = ordered_json::array({*curve});
  }
}

}  // namespace

Result<ordered_json> parse_document(const std::string& text, const std::string& where) {
  auto document = parse_json(text, "json");
  if (!document) return fail(ErrorCode::format, "{}: {}", where, document.error().message);
  if (!document->is_object()) return fail(ErrorCode::format, "{}: expected a JSON object", where);
  return ordered_json(std::move(*document));
}

std::string schema_of(const ordered_json& document) {
  const auto found = document.find("schema");
  return found != document.end() && found->is_string() ? found->get<std::string>() : "";
}

void spell_forms(ordered_json& document) {
  for (auto& [name, value] : document.items()) {
    if ((name == "arch" || name == "architecture") && value.is_string())
      value = spelled_line(value.get<std::string>(), UnsaidForm::plain);
    else if (value.is_object() || (value.is_array() && !value.empty() && value.front().is_object()))
      spell_forms(value);
  }
}

std::string translate_plan(const std::string& text) {
  const auto plan = parse_plan(text, "plan");
  return plan ? plan_text(*plan) : text;
}

void translate_hierarchy(ordered_json& document) {
  if (ordered_json* machine = field_of(document, "machine"); machine && machine->is_string())
    *machine = {{"host", *machine}};
  each(document, "cells", translate_cell);
  each(document, "highlights", [](ordered_json& highlight) { each(highlight, "cells", translate_cell); });
}

void translate_results(ordered_json& document) {
  if (ordered_json* lab = field_of(document, "lab"))
    each(*lab, "configurations", [](ordered_json& configuration) {
      translate_text(field_of(configuration, "label_reason"));
      if (ordered_json* label = field_of(configuration, "label"); label && *label == "-") *label = nullptr;
    });
}

}  // namespace rung
