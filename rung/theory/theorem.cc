#include "rung/theory/theorem.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "rung/theory/verdict_unit.h"

#include "rung/base/require.h"

namespace rung {

std::string source_text(Source source, std::string_view reference) {
  if (source == Source::paper) return "paper 2602.01763";
  std::string text(source_name(source));
  if (source == Source::literature && !reference.empty()) text += ": " + std::string(reference);
  return text;
}

bool Verdict::all_hold() const {
  return std::all_of(hypotheses.begin(), hypotheses.end(), [](const Hypothesis& h) { return h.holds; });
}

bool speaks_about(const Theorem& theorem, const Question& question) {
  if (question.followed && question.followed->file) return theorem.automata;
  return std::find(theorem.tasks.begin(), theorem.tasks.end(), question.task) != theorem.tasks.end();
}

Verdict verdict_of(const Theorem& theorem, const Question& question) {
  Verdict verdict;
  verdict.task = question.task;
  verdict.theorem = theorem.id;
  verdict.source = theorem.source;
  verdict.reference = theorem.reference;
  verdict.status = theorem.status;
  return verdict;
}

const Theorem& theorem(std::string_view id) {
  for (const auto& theorem : theorems())
    if (theorem.id == id) return theorem;
  RUNG_REQUIRE(false, "no theorem {}", id);
  return theorems().front();
}

std::optional<Verdict> apply(const Theorem& theorem, const Setting& setting, const Question& question) {
  Verdict outside = verdict_of(theorem, question);
  for (const auto& [option, word] : question.options) {
    std::string covered;
    bool named = false;
    for (const auto& values : theorem.options) {
      if (values.option != option) continue;
      named = named || values.words.empty();
      for (const auto value : values.words) {
        named = named || value == word;
        covered += (covered.empty() ? "" : " or ") + std::string(value);
      }
    }
    if (!named)
      outside.require(covered.empty() ? fmt::format("holds whatever {} is", option)
                                      : fmt::format("{} = {}", option, covered),
                      false, fmt::format("asked with {} = {}", option, word));
  }
  const auto& variants = theorem.variants;
  if (question.variant && std::find(variants.begin(), variants.end(), *question.variant) == variants.end())
    outside.require("every prompt of the task", false,
                    fmt::format("asked about those of variant {}", variant_name(*question.variant)));
  if (!outside.hypotheses.empty()) return outside;
  auto verdict = theorem.evaluate(theorem, setting, question);
  if (!verdict) return verdict;
  if (verdict->outcome == Outcome::possible && setting.unknown_format()) {
    verdict->outcome = Outcome::open;
    verdict->hypotheses.insert(verdict->hypotheses.begin(),
                               {"a number format that the weights can be written in", false, "not stated"});
  }
  if (verdict->outcome != Outcome::open)
    verdict->assumes.insert(verdict->assumes.end(), setting.assumes.begin(), setting.assumes.end());
  return verdict;
}

std::vector<Verdict> consider(const Setting& setting, const Question& question) {
  std::vector<Verdict> verdicts;
  for (const auto& theorem : theorems()) {
    if (!theorem.evaluate) continue;
    if (!speaks_about(theorem, question)) continue;
    if (auto verdict = apply(theorem, setting, question)) verdicts.push_back(std::move(*verdict));
  }
  rank(verdicts);
  return verdicts;
}

void rank(std::vector<Verdict>& verdicts) {
  const auto decides = [](const Verdict& v) {
    return v.outcome == Outcome::impossible || v.outcome == Outcome::possible;
  };
  // A verdict never prefers a checked theorem to a proved one.
  const auto strength = [](Status status) { return is_proved(status) ? Status::proved : status; };
  std::stable_sort(verdicts.begin(), verdicts.end(), [&](const Verdict& a, const Verdict& b) {
    if (decides(a) != decides(b)) return decides(a);
    if (decides(a) && strength(a.status) != strength(b.status))
      return strength(a.status) < strength(b.status);
    if (a.elsewhere != b.elsewhere) return b.elsewhere;
    if (a.outcome != b.outcome) return a.outcome < b.outcome;
    if (a.every_length.has_value() != b.every_length.has_value()) return a.every_length.has_value();
    if (strength(a.status) != strength(b.status)) return strength(a.status) < strength(b.status);
    if (a.outcome == Outcome::open) {  // the one that fails in the fewest places says most
      const auto failing = [](const Verdict& v) {
        return std::count_if(v.hypotheses.begin(), v.hypotheses.end(),
                             [](const auto& h) { return !h.holds; });
      };
      return failing(a) < failing(b);
    }
    return a.margin.value_or(0) > b.margin.value_or(0);
  });
}

namespace {

EveryLength open_at_every_length(const Verdict& verdict) {
  EveryLength open{Outcome::open, verdict.theorem, verdict.status};
  const auto fails = std::find_if(verdict.hypotheses.begin(), verdict.hypotheses.end(),
                                  [](const Hypothesis& h) { return !h.holds; });
  if (fails != verdict.hypotheses.end()) open.reason = fails->numbers.empty() ? fails->text : fails->numbers;
  return open;
}

}  // namespace

Verdict decide(const Setting& setting, const Question& question) {
  auto verdicts = consider(setting, question);
  if (verdicts.empty()) {
    Verdict none;
    none.task = question.task;
    none.status = Status::conjecture;
    none.require("some theorem or construction speaks about this task", false);
    return none;
  }
  const auto proved = [](const Verdict& v, Outcome outcome) {
    return v.outcome == outcome && is_proved(v.status);
  };
  const bool impossible = proved(verdicts.front(), Outcome::impossible);  // proved ones stand in front
  for (const auto& verdict : verdicts)
    RUNG_REQUIRE(!impossible || !proved(verdict, Outcome::possible), "{} against {} on {}",
                 verdicts.front().theorem, verdict.theorem, question.task);
  // The strongest statement about every length, whichever theorem makes it.
  std::optional<EveryLength> best;
  for (const auto& verdict : verdicts) {
    if (!verdict.every_length || verdict.every_length->outcome == Outcome::open) continue;
    const EveryLength& said = *verdict.every_length;
    RUNG_REQUIRE(
        !best || best->outcome == said.outcome || !is_proved(best->status) || !is_proved(said.status),
        "{} against {} on {} at every length", best ? best->theorem : "", said.theorem, question.task);
    if (!best || (is_proved(said.status) && !is_proved(best->status))) best = said;
  }
  // What no weights do up to one length, none do at every length.
  const bool exists = std::any_of(verdicts.begin(), verdicts.end(),
                                  [](const Verdict& v) { return theorem(v.theorem).every_length; });
  const Verdict& first = verdicts.front();
  if (exists && first.outcome == Outcome::impossible &&
      (!best || (is_proved(first.status) && !is_proved(best->status))))
    best = EveryLength{Outcome::impossible, first.theorem, first.status};
  for (const auto& verdict : verdicts) {
    if (best) break;
    if (verdict.every_length)
      best = verdict.every_length;
    else if (verdict.outcome == Outcome::open && theorem(verdict.theorem).every_length)
      best = open_at_every_length(verdict);
  }
  verdicts.front().every_length = std::move(best);
  return verdicts.front();
}

namespace {

nlohmann::ordered_json number(const std::optional<double>& value) {
  if (!value || !std::isfinite(*value)) return nullptr;
  if (*value == std::floor(*value) && std::abs(*value) < 0x1p53) return static_cast<std::int64_t>(*value);
  return *value;
}

}  // namespace

Parameter json_number(const Integer& value) {
  if (bit_length(abs(value)) <= 53) return value.convert_to<std::int64_t>();
  if (bit_length(abs(value)) <= 1000) return value.convert_to<double>();
  return nullptr;
}

std::string verdict_unit(const Verdict& v) {
  if (!v.left && !v.right) return "";
  const std::string scarcest = v.parameters.contains("scarcest")
                                   ? nlohmann::ordered_json(v.parameters["scarcest"]).get<std::string>()
                                   : "";
  return scarcest.empty() ? "bits" : scarcest;
}

std::string assumes_text(const Verdict& verdict) {
  std::string out;
  for (const auto& text : verdict.assumes) out += (out.empty() ? "" : "; ") + text;
  return out;
}

nlohmann::ordered_json verdict_json(const Verdict& v) {
  nlohmann::ordered_json hypotheses = nlohmann::ordered_json::array();
  for (const auto& h : v.hypotheses)
    hypotheses.push_back({{"text", h.text}, {"holds", h.holds}, {"numbers", h.numbers}});
  nlohmann::ordered_json json;
  json["task"] = v.task;
  json["verdict"] = outcome_name(v.outcome);
  json["theorem"] = v.theorem;
  json["source"] = source_name(v.source);
  json["reference"] = v.reference;
  json["status"] = status_name(v.status);
  json["formal"] = v.status == Status::checked ? theorem(v.theorem).formal : std::string_view{};
  json["hypotheses"] = std::move(hypotheses);
  json["assumes"] = assumes_text(v);
  json["unit"] = verdict_unit(v);
  json["left"] = number(v.left);
  json["right"] = number(v.right);
  json["margin"] = number(v.margin);
  json["horizon"] = v.horizon ? json_number(*v.horizon) : nullptr;
  json["parameters"] = v.parameters;
  if (v.every_length)
    json["every_length"] = {{"verdict", outcome_name(v.every_length->outcome)},
                            {"theorem", v.every_length->theorem},
                            {"status", status_name(v.every_length->status)},
                            {"reason", v.every_length->reason}};
  return json;
}

}  // namespace rung
