#include "rung/lab/outcome.h"

#include <array>
#include <nlohmann/json.hpp>

#include "rung/base/json_text.h"

namespace rung::lab {
namespace {

constexpr std::array<std::string_view, 3> kOrigins = {"trained", "written", "attack"};

}  // namespace

double Outcome::mean() const {
  double sum = 0;
  for (const SeedScore& score : scores) sum += score.accuracy();
  return scores.empty() ? 0 : sum / static_cast<double>(scores.size());
}

std::optional<ShareInterval> Outcome::interval() const {
  std::vector<double> accuracies;
  for (const SeedScore& score : scores) accuracies.push_back(score.accuracy());
  return student_interval(accuracies);
}

nlohmann::ordered_json outcome_json(const Outcome& outcome) {
  using nlohmann::ordered_json;
  ordered_json out{{"id", outcome.id},
                   {"origin", kOrigins[static_cast<std::size_t>(outcome.origin)]},
                   {"arch", outcome.subject.arch},
                   {"task", outcome.subject.task},
                   {"size", outcome.subject.size},
                   {"label", std::string(1, outcome.label.letter)},
                   {"label_reason", outcome.label.reason},
                   {"ceiling", outcome.label.ceiling},
                   {"ceiling_reason", outcome.label.ceiling_reason}};
  out["scores"] = ordered_json::array();
  for (const SeedScore& score : outcome.scores)
    out["scores"].push_back({{"seed", score.seed},
                             {"rate", score.rate},
                             {"right", score.right},
                             {"answers", score.of},
                             {"accuracy", score.accuracy()},
                             {"exhaustive", score.exhaustive}});
  if (!outcome.scores.empty()) out["accuracy"] = outcome.mean();
  if (const auto interval = outcome.interval()) out["interval"] = {interval->low, interval->high};
  if (!outcome.costs.empty()) {
    out["costs"] = ordered_json::array();
    for (const CostPoint& point : outcome.costs)
      out["costs"].push_back({{"layers", point.layers},
                              {"bits", point.bits},
                              {"lg_evaluations", point.lg_evaluations},
                              {"seconds", point.seconds},
                              {"found", point.found}});
  }
  if (const auto& kept = outcome.capacity)
    out["capacity"] = {{"n", kept->n},
                       {"alphabet", kept->alphabet},
                       {"elements", kept->elements},
                       {"one_level", kept->one_level},
                       {"table_bits", kept->table_bits},
                       {"kept_bits", kept->kept_bits},
                       {"bits_per_element", kept->per_element()}};
  if (const auto& bits = outcome.precision) {
    out["precision"] = {{"used", bits->used}};
    if (bits->proved) out["precision"]["proved"] = *bits->proved;
    if (bits->measured) out["precision"]["measured"] = *bits->measured;
  }
  out.update({{"device", outcome.device},
              {"note", outcome.note},
              {"trouble", outcome.trouble},
              {"record", outcome.record},
              {"seconds", outcome.seconds}});
  return out;
}

std::vector<std::pair<std::int64_t, double>> thinned(
    const std::vector<std::pair<std::int64_t, double>>& points) {
  if (points.size() <= kCurvePoints) return points;
  std::vector<std::pair<std::int64_t, double>> out;
  for (std::size_t i = 0; i < kCurvePoints; ++i)
    out.push_back(points[i * (points.size() - 1) / (kCurvePoints - 1)]);
  return out;
}

nlohmann::ordered_json curves_json(const Outcome& outcome) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const MemberCurve& member : outcome.curves) {
    nlohmann::ordered_json points = nlohmann::ordered_json::array();
    for (const auto& [step, accuracy] : member.points) points.push_back({step, accuracy});
    out.push_back(
        {{"seed", member.seed}, {"rate", member.rate}, {"chosen", member.chosen}, {"curve", points}});
  }
  return out;
}

nlohmann::ordered_json saved_outcome(const Outcome& outcome) {
  nlohmann::ordered_json out = outcome_json(outcome);
  out["curves"] = curves_json(outcome);
  return out;
}

Result<Outcome> parse_outcome(const std::string& text, const std::string& where) {
  RUNG_TRY(const nlohmann::json saved, parse_json(text, "lab"));
  try {
    Outcome out;
    out.id = saved.at("id").get<std::string>();
    const auto origin = saved.at("origin").get<std::string>();
    for (std::size_t i = 0; i < kOrigins.size(); ++i)
      if (origin == kOrigins[i]) out.origin = static_cast<Origin>(i);
    out.label = {saved.at("label").get<std::string>().at(0), saved.at("label_reason").get<std::string>(),
                 saved.at("ceiling").get<double>(), saved.at("ceiling_reason").get<std::string>()};
    out.subject = {saved.at("arch").get<std::string>(), saved.at("task").get<std::string>(),
                   saved.at("size").get<std::map<std::string, std::int64_t>>()};
    for (const auto& row : saved.at("scores"))
      out.scores.push_back({row.at("seed").get<std::uint64_t>(), row.at("rate").get<double>(),
                            row.at("right").get<std::uint64_t>(), row.at("answers").get<std::uint64_t>(),
                            row.at("exhaustive").get<bool>()});
    if (saved.contains("costs"))
      for (const auto& row : saved.at("costs"))
        out.costs.push_back({row.at("layers").get<std::int64_t>(), row.at("bits").get<std::int64_t>(),
                             row.at("lg_evaluations").get<double>(), row.at("seconds").get<double>(),
                             row.at("found").get<bool>()});
    if (saved.contains("capacity")) {
      const auto& row = saved.at("capacity");
      out.capacity =
          StateCapacity{row.at("n").get<std::int64_t>(),        row.at("alphabet").get<std::int64_t>(),
                        row.at("elements").get<std::int64_t>(), row.at("one_level").get<bool>(),
                        row.at("table_bits").get<double>(),     row.at("kept_bits").get<double>()};
    }
    if (saved.contains("precision")) {
      const auto& row = saved.at("precision");
      out.precision = WrittenPrecision{row.at("used").get<int>(), {}, {}};
      if (row.contains("proved")) out.precision->proved = row.at("proved").get<int>();
      if (row.contains("measured")) out.precision->measured = row.at("measured").get<int>();
    }
    for (const auto& row : saved.at("curves"))
      out.curves.push_back({row.at("seed").get<std::uint64_t>(), row.at("rate").get<double>(),
                            row.at("chosen").get<bool>(),
                            row.at("curve").get<std::vector<std::pair<std::int64_t, double>>>()});
    out.device = saved.at("device").get<std::string>();
    out.note = saved.at("note").get<std::string>();
    out.trouble = saved.at("trouble").get<std::string>();
    out.record = saved.at("record").get<std::string>();
    out.seconds = saved.at("seconds").get<double>();
    return out;
  } catch (const std::exception&) {
    return fail(ErrorCode::format, "[lab] {}: no result of a configuration", where);
  }
}

}  // namespace rung::lab
