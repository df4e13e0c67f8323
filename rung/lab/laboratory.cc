#include "rung/lab/laboratory.h"

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "rung/base/json_text.h"
#include "rung/base/nearest_word.h"
#include "rung/base/staged_file.h"
#include "rung/lab/configuration_run.h"
#include "rung/lab/record_book.h"
#include "rung/lab/results.h"
#include "rung/lab/separation.h"
#include "rung/lab/sweep.h"

namespace rung::lab {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

Result<void> write_text(const std::string& path, const std::string& text) {
  RUNG_TRY(StagedFile file, StagedFile::open(path, true));
  RUNG_CHECK(file.write(text));
  return file.commit();
}

Result<void> open_folder(const Experiment& experiment, const LabOptions& options) {
  std::error_code code;
  const std::string path = options.folder + "/experiment.json";
  const bool existed = fs::exists(path, code);
  if (existed && !options.resume)
    return fail(ErrorCode::io,
                "[lab] {} holds an experiment already; `resume` resumes it, `out` names another folder",
                options.folder);
  if (!existed && options.resume)
    return fail(ErrorCode::io, "[lab] {}: no experiment.json, so nothing to resume", options.folder);
  if (existed) {
    RUNG_TRY(const std::string text, read_text_file(path, "lab"));
    if (text != experiment.document + "\n")
      return fail(
          ErrorCode::unsupported,
          "[lab] {} holds another experiment, size or number of seeds; `out` with another folder expected",
          options.folder);
    return {};
  }
  fs::create_directories(options.folder, code);
  if (code) return fail(ErrorCode::io, "[lab] cannot make the folder {}: {}", options.folder, code.message());
  return write_text(path, experiment.document + "\n");
}

Record record_of(const char* kind, const std::string& parent, RecordState state, const ordered_json& body) {
  Record record;
  record.kind = kind;
  record.parent = parent;
  record.state = state;
  record.body = body.dump();
  return record;
}

std::vector<Outcome> named(const std::vector<std::string>& patterns, const std::vector<Outcome>& outcomes) {
  std::vector<Outcome> out;
  for (const std::string& pattern : patterns)
    for (const Outcome& outcome : outcomes)
      if (matches(pattern, outcome.id)) out.push_back(outcome);
  return out;
}

}  // namespace

Finding judge(const Prediction& prediction, const std::vector<Outcome>& outcomes) {
  return decide(prediction, named(prediction.configurations, outcomes), named(prediction.than, outcomes),
                named(prediction.given, outcomes));
}

Result<std::vector<Outcome>> label_all(const Experiment& experiment) {
  std::vector<Outcome> out;
  for (const Configuration& configuration : experiment.configurations) {
    RUNG_TRY(Outcome one, labelled(configuration));
    out.push_back(std::move(one));
  }
  return out;
}

Result<LabResult> run_experiment(const Experiment& experiment, const LabOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  LabResult result;
  // All labels first: a configuration that cannot be made costs nothing.
  RUNG_TRY(result.outcomes, label_all(experiment));
  for (const std::string& pattern : options.only)
    if (named({pattern}, result.outcomes).empty())
      return fail(ErrorCode::range, "[lab] {} of size {} has no configuration {}", experiment.name,
                  experiment.size, rung::quoted(pattern));
  RUNG_CHECK(open_folder(experiment, options));
  RUNG_TRY(RecordBook book, RecordBook::open(options.store, options.folder + "/records.json"));
  const LabNote note{experiment.name, experiment.size, experiment.seeds, {}, {}};
  ordered_json whole = note_json(note);
  whole["tests"] = experiment.tests;
  whole["document"] = ordered_json::parse(experiment.document);
  RUNG_TRY(const std::string run, book.put("run", record_of("run", "", RecordState::running, whole)));
  const auto note_of = [&](std::size_t i) {
    LabNote own = note;
    own.configuration = experiment.configurations[i].id;
    own.lab_run = run;
    return own;
  };
  const auto path_of = [&](std::size_t i) {
    return fmt::format("{}/{}.json", options.folder, experiment.configurations[i].id);
  };
  Sweep sweep{experiment, options, result.outcomes, {}, note_of, {}};
  sweep.keep = [&](std::size_t i, Outcome outcome) -> Result<void> {
    if (outcome.origin != Origin::trained) {
      ordered_json body = note_json(note_of(i));
      body.update(outcome_json(outcome));
      RUNG_TRY(outcome.record,
               book.put("configuration " + outcome.id,
                        record_of("evaluation", run,
                                  outcome.trouble.empty() ? RecordState::done : RecordState::failed, body)));
    }
    RUNG_CHECK(write_text(path_of(i), outcome_text(outcome)));
    result.outcomes[i] = std::move(outcome);
    if (options.finished) options.finished(result.outcomes[i]);
    return {};
  };
  for (std::size_t i = 0; i < experiment.configurations.size(); ++i) {
    std::error_code code;
    if (!fs::exists(path_of(i), code)) {
      if (options.only.empty() || !named(options.only, {result.outcomes[i]}).empty())
        sweep.left.push_back(i);
      else
        ++result.left;
      continue;
    }
    RUNG_TRY(const std::string text, read_text_file(path_of(i), "lab"));
    RUNG_TRY(result.outcomes[i], parse_outcome(text, path_of(i)));
    if (options.finished) options.finished(result.outcomes[i]);
  }
  RUNG_TRY(result.stopped, run_sweep(sweep));
  measure_separation(result.outcomes);
  for (const Prediction& prediction : experiment.predictions)
    result.findings.push_back(judge(prediction, result.outcomes));
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const ExperimentResults results = results_document(experiment, result);
  const bool whole_run = !result.stopped && result.left == 0;
  if (whole_run) {
    ordered_json rows = ordered_json::array();
    for (const PredictionVerdict& verdict : results.lab.verdicts) {
      rows.push_back(verdict_json(verdict));
      ordered_json body = note_json(note);
      body.update(rows.back());
      body["prediction"] = verdict.id;
      RUNG_CHECK(book.put("verdict " + verdict.id, record_of("verdict", run, RecordState::done, body)));
    }
    RUNG_CHECK(write_text(options.folder + "/verdicts.json", rows.dump(1) + "\n"));
  }
  RUNG_CHECK(write_text(options.folder + "/results.json", results_json(results).dump() + "\n"));
  const ordered_json end{{"seconds", result.seconds}};
  RUNG_CHECK(
      book.put("run", record_of("run", "", whole_run ? RecordState::done : RecordState::stopped, end)));
  return result;
}

}  // namespace rung::lab
