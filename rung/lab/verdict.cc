#include "rung/lab/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "rung/base/plural.h"
#include "rung/lab/separation.h"

namespace rung::lab {
namespace {

Finding held(std::string reason) { return {Decision::held, std::move(reason), {}}; }
Finding failed(std::string reason) { return {Decision::failed, std::move(reason), {}}; }
Finding undecided(std::string reason, std::string decides) {
  return {Decision::undecided, std::move(reason), std::move(decides)};
}

bool all_right(const SeedScore& score) { return score.of > 0 && score.right == score.of; }

double best(const Outcome& outcome) {
  double out = 0;
  for (const SeedScore& score : outcome.scores) out = std::max(out, score.accuracy());
  return out;
}

std::string shown(const Outcome& outcome) {
  const auto interval = seed_interval(outcome);
  return interval ? fmt::format("{} {:.3f} [{:.3f}, {:.3f}]", outcome.id, seed_mean(outcome), interval->low,
                                interval->high)
                  : fmt::format("{} {:.3f}", outcome.id, seed_mean(outcome));
}

// A construction against "no wrong answer".
Finding written_reaches(const Outcome& outcome) {
  const SeedScore& score = outcome.scores.front();
  if (!all_right(score))
    return outcome.label.letter == LabelClass::K
               ? failed(fmt::format("{}: {} of {} answers wrong at the precision for which it is proved",
                                    outcome.id, score.of - score.right, score.of))
               : undecided(fmt::format("{}: {} of {} answers wrong where nothing is proved", outcome.id,
                                       score.of - score.right, score.of),
                           "the proved precision");
  if (score.exhaustive) return held(fmt::format("{}: no error, all inputs covered", outcome.id));
  return undecided(fmt::format("{}: no error on {} sampled instances", outcome.id, score.of),
                   "a budget that runs every instance, or an argument about all inputs");
}

// By counting the seeds that are at least x, or below it.
Finding by_seeds(const Prediction& prediction, const Outcome& outcome, double x, bool above) {
  std::int64_t count = 0;
  for (const SeedScore& score : outcome.scores) count += (score.accuracy() >= x) == above;
  const auto all = static_cast<std::int64_t>(outcome.scores.size());
  const std::string line = fmt::format("{}: {} of {} seeds {} {:g}; {} predicted", outcome.id, count, all,
                                       above ? ">=" : "<", x, prediction.seeds);
  if (count >= prediction.seeds) return held(line);
  if (all < prediction.seeds) return undecided(line, "as many seeds as the prediction names");
  return failed(line + ", with this recipe");
}

Finding reaches(const Prediction& prediction, const Outcome& outcome) {
  if (outcome.origin == Origin::written) return written_reaches(outcome);
  const double x = prediction.accuracy.value_or(1);
  if (prediction.scope == Scope::theorem) {
    if (outcome.label.letter == LabelClass::G)
      return undecided(fmt::format("{} is in the gap: no theorem speaks about it", outcome.id),
                       "a size at which a construction is proved to fit");
    if (outcome.label.letter == LabelClass::C)
      return undecided(fmt::format("{} is class C at this size: the prediction is about class K", outcome.id),
                       "a size at which a construction is proved to fit");
    if (best(outcome) >= x) return held(fmt::format("{}: {:.3f} >= {:g}", outcome.id, best(outcome), x));
    return undecided(
        fmt::format("{} did not train ({:.3f} at best): weights exist, a failed training refutes nothing",
                    outcome.id, best(outcome)),
        "more steps, learning rates or seeds until it trains");
  }
  if (prediction.seeds > 0) return by_seeds(prediction, outcome, x, true);
  const auto interval = seed_interval(outcome);
  if (!interval) return undecided(shown(outcome) + ": one seed gives no interval", "two seeds or more");
  if (interval->low >= x) return held(fmt::format("{} >= {:g}", shown(outcome), x));
  if (interval->high < x) return failed(fmt::format("{} < {:g}, with this recipe", shown(outcome), x));
  return undecided(fmt::format("{:g} lies inside the interval of {}", x, shown(outcome)), "more seeds");
}

Finding stays_below(const Prediction& prediction, const Outcome& outcome) {
  if (prediction.scope == Scope::theorem) {
    if (outcome.label.letter != LabelClass::C)
      return undecided(fmt::format("{} is class {}: no theorem forbids success", outcome.id,
                                   label_name(outcome.label.letter)),
                       "a size or precision at which the bound certifies");
    const double limit = std::min(prediction.accuracy.value_or(1), outcome.label.ceiling);
    for (const SeedScore& score : outcome.scores)
      if (score.exhaustive && all_right(score))
        return failed(fmt::format("{}, seed {}: every instance answered in class C", outcome.id, score.seed));
    for (const SeedScore& score : outcome.scores)
      if (all_right(score) || wilson_interval(score.right, score.of).low > limit)
        return undecided(fmt::format("{}, seed {}: {:.4f} on a sample, the limit is {:.4f}", outcome.id,
                                     score.seed, score.accuracy(), limit),
                         "an exhaustive check of these weights in exact arithmetic");
    return held(limit < 1 ? fmt::format("{}: {:.3f} at best <= {:.4f}", outcome.id, best(outcome), limit)
                          : fmt::format("{}: wrong answers with every seed ({:.3f} at best)", outcome.id,
                                        best(outcome)));
  }
  const double x = prediction.accuracy.value_or(outcome.label.ceiling);
  if (prediction.seeds > 0) return by_seeds(prediction, outcome, x, false);
  const auto interval = seed_interval(outcome);
  if (!interval) return undecided(shown(outcome) + ": one seed gives no interval", "two seeds or more");
  if (interval->high <= x) return held(fmt::format("{} <= {:g}", shown(outcome), x));
  if (interval->low > x) return failed(fmt::format("{} > {:g}", shown(outcome), x));
  return undecided(fmt::format("{:g} lies inside the interval of {}", x, shown(outcome)), "more seeds");
}

Finding errs(const Outcome& outcome) {
  if (outcome.origin != Origin::written)
    return undecided(outcome.id + " is not a construction", "a construction");
  const SeedScore& score = outcome.scores.front();
  if (!all_right(score))
    return held(fmt::format("{}: {} of {} answers wrong", outcome.id, score.of - score.right, score.of));
  if (score.exhaustive)
    return failed(fmt::format("{}: no error on any input: a smaller precision suffices than the lemma proves",
                              outcome.id));
  return undecided(fmt::format("{}: no error on {} sampled instances", outcome.id, score.of),
                   "a budget that runs every instance");
}

Finding ordered(const Prediction& prediction, const Outcome& first, const Outcome& second) {
  const auto a = seed_interval(first), b = seed_interval(second);
  if (!a || !b) return undecided("one seed gives no interval", "two seeds or more");
  const std::string both = fmt::format("{} against {}", shown(first), shown(second));
  if (a->low - b->high >= prediction.margin) return held(both);
  if (a->high - b->low < prediction.margin) return failed(both);
  return undecided(fmt::format("the intervals leave a margin of {:g} open: {}", prediction.margin, both),
                   "more seeds");
}

Finding serves(const Prediction& prediction, const Outcome& skewed, const Outcome& uniform) {
  const auto interval = seed_interval(skewed);
  if (!interval) return undecided(shown(skewed) + ": one seed gives no interval", "two seeds or more");
  if (!uniform.capacity)
    return undecided(uniform.id + " has no state whose bits could be counted",
                     "a recurrent stack on eva or index");
  // Arguments of the Zipf questions; of the uniform ones there may be fewer.
  const auto size = skewed.subject.size.find("n");
  const std::int64_t n = size == skewed.subject.size.end() ? uniform.capacity->n : size->second;
  const auto alphabet = static_cast<double>(uniform.capacity->alphabet);
  double share = 0;
  std::string room;
  if (prediction.room == Room::bits) {
    const double kept = std::floor(uniform.capacity->mean_bits / std::log2(alphabet));
    if (kept == 0)
      return undecided(fmt::format("{} kept no whole entry of uniform questions", uniform.id),
                       "a recipe with which it keeps some");
    share = zipf_mass(kept, n);
    room = fmt::format("the mass of the {:.0f} most frequent arguments ({:.0f} bits kept of uniform ones)",
                       kept, uniform.capacity->mean_bits);
  } else {
    // An entry that is not kept is guessed.
    const double answered = seed_mean(uniform), guessed = 1 / alphabet;
    if (answered <= guessed)
      return undecided(fmt::format("{} answers uniform questions at the level of chance", uniform.id),
                       "a recipe with which it keeps some");
    const double kept = static_cast<double>(uniform.capacity->n) * (answered - guessed) / (1 - guessed);
    const double mass = zipf_mass(kept, n);
    share = mass + (1 - mass) / static_cast<double>(n);
    room =
        fmt::format("the mass of the {:.1f} most frequent of {} arguments, as many as {} keeps, and guesses",
                    kept, n, uniform.id);
  }
  const std::string line = fmt::format("{} against {:.3f}, {}", shown(skewed), share, room);
  if (interval->low - prediction.margin <= share && share <= interval->high + prediction.margin)
    return held(line);
  return failed(line);
}

// Least squares.
std::optional<double> slope_of(const std::vector<std::pair<double, double>>& points) {
  if (points.size() < 2) return {};
  double x = 0, y = 0, xx = 0, xy = 0;
  const auto count = static_cast<double>(points.size());
  for (const auto& [px, py] : points) x += px / count, y += py / count;
  for (const auto& [px, py] : points) xx += (px - x) * (px - x), xy += (px - x) * (py - y);
  if (xx <= 0) return {};
  return xy / xx;
}

Finding slope(const Prediction& prediction, std::span<const Outcome> about) {
  // One line a series: bits at equal depth, or depth at equal bits.
  std::map<std::pair<std::string, std::int64_t>, std::vector<std::pair<double, double>>> series;
  std::map<std::int64_t, std::vector<std::pair<double, double>>> by_bits;
  for (const Outcome& outcome : about)
    for (const CostPoint& point : outcome.costs) {
      if (!point.found) continue;
      const std::int64_t bits = prediction.over == Axis::total_bits ? point.bits * point.layers : point.bits;
      series[{outcome.id, point.layers}].emplace_back(static_cast<double>(bits), point.lg_evaluations);
      by_bits[point.bits].emplace_back(static_cast<double>(point.layers), point.lg_evaluations);
    }
  constexpr std::size_t kLeast = 3;
  std::string text;
  std::size_t fitted = 0;
  bool outside = false;
  const auto judge = [&](const std::string& name, const std::vector<std::pair<double, double>>& points,
                         std::size_t least) {
    const auto value = slope_of(points);
    if (!value || points.size() < least) return;
    ++fitted;
    outside = outside || *value < prediction.low || *value > prediction.high;
    text += fmt::format("{}{} {:.3f}", text.empty() ? "" : ", ", name, *value);
  };
  if (prediction.over == Axis::layers)
    for (const auto& [bits, points] : by_bits) judge(counted(bits, "bit"), points, 2);
  else
    for (const auto& [key, points] : series)
      judge(fmt::format("{}, {}", key.first, counted(key.second, "layer")), points, kLeast);
  if (fitted == 0)
    return undecided("too few searches ended with a collision for a slope", "more time a point");
  const std::string line = fmt::format("slope {} in [{:g}, {:g}]", text, prediction.low, prediction.high);
  return outside ? failed("not every " + line) : held(line);
}

}  // namespace

double zipf_mass(double kept, std::int64_t n) {
  double first = 0, all = 0;
  for (std::int64_t rank = 1; rank <= n; ++rank) {
    const double weight = 1.0 / static_cast<double>(rank);
    first += weight * std::clamp(kept - static_cast<double>(rank - 1), 0.0, 1.0);
    all += weight;
  }
  return first / all;
}

bool matches(std::string_view pattern, std::string_view id) {
  std::size_t p = 0, i = 0, star = std::string_view::npos, from = 0;
  while (i < id.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++, from = i;
    } else if (p < pattern.size() && pattern[p] == id[i]) {
      ++p, ++i;
    } else if (star != std::string_view::npos) {
      p = star + 1, i = ++from;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

Finding decide(const Prediction& prediction, std::span<const Outcome> about, std::span<const Outcome> than,
               std::span<const Outcome> given) {
  const bool compares =
      prediction.kind == PredictionKind::ordered || prediction.kind == PredictionKind::serves;
  if (about.empty() || (compares && than.empty()))
    return undecided("no such configuration at this size", "a size that has it");
  for (const auto& group : {about, than, given})
    for (const Outcome& outcome : group)
      if (outcome.scores.empty() && outcome.costs.empty())
        return undecided(fmt::format("{} has no result{}{}", outcome.id, outcome.trouble.empty() ? "" : ": ",
                                     outcome.trouble),
                         "running it to its end");
  for (const Outcome& control : given)
    if (best(control) < prediction.given_accuracy)
      return undecided(
          fmt::format("the control {} did not train ({:.3f} at best)", control.id, best(control)),
          "a recipe with which the control trains");
  for (const Outcome& outcome : about)
    if (prediction.separated && !(outcome.separation && outcome.separation->separated()))
      return undecided(fmt::format("{}, {}", outcome.id,
                                   outcome.separation ? separation_text(*outcome.separation)
                                                      : "no composition whose bits could be counted"),
                       "a size at which no shortcut fits");
  if (prediction.kind == PredictionKind::slope) return slope(prediction, about);
  // One failure is a failure; held only where all are.
  Finding out;
  std::vector<Finding> parts;
  for (std::size_t i = 0; i < about.size(); ++i) {
    if (about[i].scores.empty())
      return undecided(about[i].id + " has no accuracy", "another kind of prediction");
    if (prediction.kind == PredictionKind::reaches) parts.push_back(reaches(prediction, about[i]));
    if (prediction.kind == PredictionKind::stays_below) parts.push_back(stays_below(prediction, about[i]));
    if (prediction.kind == PredictionKind::errs) parts.push_back(errs(about[i]));
    if (compares) {
      const bool paired = than.size() == about.size();
      for (std::size_t k = 0; k < than.size(); ++k)
        if (!paired || k == i)
          parts.push_back(prediction.kind == PredictionKind::ordered ? ordered(prediction, about[i], than[k])
                                                                     : serves(prediction, about[i], than[k]));
    }
  }
  for (const Decision decision : {Decision::failed, Decision::undecided, Decision::held}) {
    std::size_t count = 0;
    for (const Finding& part : parts) {
      if (part.decision != decision) continue;
      if (count++ == 0) out = part;
    }
    if (count == 0) continue;
    if (parts.size() > 1)
      out.reason += fmt::format(" ({} of {} {})", count, parts.size(), decision_name(decision));
    return out;
  }
  return out;
}

}  // namespace rung::lab
