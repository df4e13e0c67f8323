// rung lab, in rung-learn: the experiment, its tables and its document.
#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/interruption.h"
#include "cli/lab.h"
#include "cli/learn/pieces.h"
#include "cli/terminal_line.h"
#include "rung/base/plural.h"
#include "rung/lab/laboratory.h"
#include "rung/lab/results.h"
#include "rung/lab/separation.h"
#include "rung/ranks/launch.h"

namespace rung::cli {
namespace {

using nlohmann::ordered_json;

int list(bool json) {
  const auto words = lab::experiment_words();
  if (json) {
    ordered_json rows = ordered_json::array();
    for (const auto& word : words)
      rows.push_back({{"name", word.name}, {"tests", word.tests}, {"sizes", word.sizes}});
    print_json({{"schema", "rung.lab/2"}, {"experiments", rows}});
    return 0;
  }
  for (const auto& word : words) {
    fmt::print("{:<14} {}\n", word.name, word.tests);
  }
  return 0;
}

std::string accuracy_text(const lab::Outcome& outcome) {
  if (outcome.scores.empty()) return "-";
  if (outcome.origin == Origin::written)
    return fmt::format("{} wrong of {}", outcome.scores.front().of - outcome.scores.front().right,
                       outcome.scores.front().of);
  const auto interval = lab::seed_interval(outcome);
  return interval
             ? fmt::format("{:.3f} [{:.3f}, {:.3f}]", lab::seed_mean(outcome), interval->low, interval->high)
             : fmt::format("{:.3f}", lab::seed_mean(outcome));
}

// A search has no label.
std::string_view label_text(const lab::Outcome& outcome) {
  return outcome.origin == Origin::attack ? "-" : label_name(outcome.label.letter);
}

// A multiple of 1/parts: what is printed of a lower bound is one.
double rounded_down(double value, double parts) { return std::floor(value * parts) / parts; }

void print_outcomes(const std::vector<lab::Outcome>& outcomes) {
  std::size_t width = 13;
  for (const auto& outcome : outcomes) width = std::max(width, outcome.id.size());
  fmt::print("{:<{}}  label  {:<22}  ceiling  {:>7}\n", "configuration", width, "accuracy", "seconds");
  for (const auto& outcome : outcomes) {
    fmt::print("{:<{}}  {:<5}  {:<22}  {:<7}  {:>7.1f}  {}{}{}\n", outcome.id, width, label_text(outcome),
               accuracy_text(outcome),
               outcome.label.ceiling < 1 ? fmt::format("{:.4f}", outcome.label.ceiling) : "-",
               outcome.seconds, outcome.note, outcome.note.empty() || outcome.trouble.empty() ? "" : "; ",
               outcome.trouble);
  }
  bool header = false;
  for (const auto& outcome : outcomes)
    if (outcome.capacity && !outcome.scores.empty()) {
      if (!header)
        fmt::print("\n{:<{}}  {:>5} {:>9} {:>10} {:>10} {:>12}\n", "state", width, "n", "elements",
                   "kept bits", "of", "bits/element");
      header = true;
      const auto& kept = *outcome.capacity;
      fmt::print("{:<{}}  {:>5} {:>9} {:>10.1f} {:>10.1f} {:>12.3f}{}\n", outcome.id, width, kept.n,
                 kept.elements, rounded_down(kept.kept_bits, 10), kept.table_bits,
                 rounded_down(kept.per_element(), 1000), kept.one_level ? "  of one level" : "");
    }
  bool separations = false;
  for (const auto& outcome : outcomes)
    if (outcome.separation) {
      if (!separations) fmt::print("\n");
      separations = true;
      fmt::print("{:<{}}  {}\n", outcome.id, width, lab::separation_text(*outcome.separation));
    }
  for (const auto& outcome : outcomes) {
    if (outcome.costs.empty()) continue;
    fmt::print("\n{}\n{:>7} {:>5} {:>15} {:>9}\n", outcome.id, "layers", "bits", "lg evaluations", "seconds");
    for (const auto& point : outcome.costs)
      fmt::print("{:>7} {:>5} {:>15.2f} {:>9.2f}{}\n", point.layers, point.bits, point.lg_evaluations,
                 point.seconds, point.found ? "" : "  nothing found");
  }
}

void show_lab_run(const std::string& configuration, const learn::EnsembleProgress& p) {
  const double share =
      static_cast<double>(p.steps_done) / static_cast<double>(std::max<std::int64_t>(1, p.steps_total));
  show_terminal_line(
      fmt::format("{}: {:3.0f} %  {}/{} members  loss {:.4f}  accuracy {:.3f}{}", configuration, 100 * share,
                  p.members_done, p.members, p.loss, p.accuracy,
                  p.stages > 1 ? fmt::format("  stage {:.1f} of {}", p.stage + 1, p.stages) : ""));
}

int labels_alone(const lab::Experiment& experiment, const std::vector<lab::Outcome>& outcomes, bool json) {
  if (json) {
    print_json(lab_json(lab::labels_document(experiment, outcomes)));
    return 0;
  }
  for (const auto& outcome : outcomes)
    fmt::print("{:<20} {}  {}{}{}\n", outcome.id, label_text(outcome), outcome.label.reason,
               outcome.label.ceiling < 1 ? fmt::format("; ceiling {:.4f}", outcome.label.ceiling) : "",
               outcome.separation ? "; " + lab::separation_text(*outcome.separation) : "");
  for (const auto& prediction : experiment.predictions)
    fmt::print("{} ({}): {}\n", prediction.id, name_of(prediction.scope), prediction.statement);
  return 0;
}

}  // namespace

Result<int> run_lab(const LabFlags& flags) {
  if ((flags.list || flags.dry_run) && launch().rank != 0) return 0;
  if (flags.list) return list(flags.json);
  if (flags.name.has_value() == flags.file.has_value())
    return fail(ErrorCode::missing,
                "[lab] the name of an experiment (rung lab --list) or --file expected, one of the two");
  if (flags.seeds && (*flags.seeds < 1 || *flags.seeds > lab::kMostSeeds))
    return fail(ErrorCode::range, "[lab] --seeds {}; 1 to {} expected", *flags.seeds, lab::kMostSeeds);
  if (flags.workers && (*flags.workers < 1 || *flags.workers > 1024))
    return fail(ErrorCode::range, "[lab] --workers {}; 1 to 1024 expected", *flags.workers);
  // Before anything that may differ from machine to machine: the others wait for this one.
  Ranks* ranks = nullptr;
  if (!flags.dry_run) {
    RUNG_TRY(ranks, join_ranks());
  }
  RUNG_TRY(const lab::Experiment experiment,
           flags.file ? lab::read_experiment(*flags.file, flags.size, flags.seeds.value_or(0))
                      : lab::find_experiment(*flags.name, flags.size, flags.seeds.value_or(0)));
  if (flags.dry_run) {
    RUNG_TRY(const auto outcomes, lab::label_all(experiment));
    return labels_alone(experiment, outcomes, flags.json);
  }
  lab::LabOptions options;
  options.folder = flags.out.value_or(fmt::format("rung-runs/lab/{}-{}", experiment.name, experiment.size));
  options.resume = flags.resume;
  if (flags.only) options.only = pieces(*flags.only, ',');
  options.workers = static_cast<int>(flags.workers.value_or(0));
  options.ranks = ranks;
  if (!ranks->leads()) {
    listen_for_interruption();
    options.stop = interrupted;
    RUNG_CHECK(lab::help_experiment(experiment, options));
    return 0;
  }
  std::unique_ptr<Store> store;
  if (!flags.no_store) {
    RUNG_TRY(store, Store::open(store_path(flags.store)));
    options.store = store.get();
  }
  listen_for_interruption();
  options.stop = interrupted;
  const bool terminal = has_terminal_line() && !flags.quiet;
  if (terminal) options.progress = show_lab_run;
  if (!flags.quiet)
    options.finished = [&](const lab::Outcome& outcome) {
      fmt::print(stderr, "{}{}  {}  {}  {:.1f} s\n", terminal ? "\r\033[K" : "", outcome.id,
                 label_text(outcome), accuracy_text(outcome), outcome.seconds);
    };
  RUNG_TRY(const lab::LabResult result, lab::run_experiment(experiment, options));
  bool theorem_failed = false;
  for (std::size_t i = 0; i < result.findings.size(); ++i)
    theorem_failed = theorem_failed || (experiment.predictions[i].scope == Scope::theorem &&
                                        result.findings[i].decision == Decision::failed);
  if (flags.json) {
    LabDocument document = lab::lab_document(experiment, result);
    document.folder = options.folder;
    print_json(lab_json(document));
  } else {
    fmt::print("{}: {}\n\n", experiment.name, experiment.tests);
    print_outcomes(result.outcomes);
    fmt::print("\n");
    for (std::size_t i = 0; i < result.findings.size(); ++i) {
      const auto& finding = result.findings[i];
      fmt::print("{:<9}  {} ({}): {}\n           {}\n", decision_name(finding.decision),
                 experiment.predictions[i].id, name_of(experiment.predictions[i].scope),
                 experiment.predictions[i].statement, finding.reason);
      if (!finding.decides.empty()) fmt::print("           to decide it: {}\n", finding.decides);
    }
    fmt::print("\n{:.0f} s; {}\n", result.seconds, options.folder);
  }
  if (result.stopped) {
    fmt::print(stderr, "stopped; the same command with --resume resumes it\n");
    return 130;
  }
  if (result.left > 0)
    fmt::print(stderr, "{} not run; resume with --resume, without --only\n",
               counted(result.left, "configuration"));
  return theorem_failed ? 1 : 0;
}

}  // namespace rung::cli
