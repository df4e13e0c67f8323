#include <algorithm>
#include <filesystem>
#include <set>

#include "rung/base/json_text.h"
#include "rung/hierarchy/evidence.h"
#include "rung/records/experiment_results.h"
#include "rung/spec/mixers.h"

namespace rung {
namespace {

// The rows answer at once, and read the prompt in the hard order: records of other ways to do the task are no
// evidence for them.
constexpr std::string_view kThoughtExperiment = "cot", kEasyOrder = "easy-";
// Trains recurrent rows at several sizes of their state.
constexpr std::string_view kStatesExperiment = "cells";

// The experiment, or one of its earlier forms, which are numbered.
bool is_experiment(const std::string& name, std::string_view wanted) {
  return name == wanted || name.starts_with(std::string(wanted) + "-");
}

// The row that a stack belongs to; empty: none of them.
std::string row_of(const std::string& arch) {
  const auto stack = parse_stack(arch, UnsaidForm::plain);
  if (!stack) return {};
  std::set<MixerKind> kinds;
  for (const Mixer& mixer : stack->layers)
    if (mixer.kind != MixerKind::none && mixer.kind != MixerKind::identity) kinds.insert(mixer.kind);
  if (kinds.contains(MixerKind::heads)) return "headwise";
  if (kinds.size() == 2 && kinds.contains(MixerKind::full) && kinds.contains(MixerKind::linear))
    return "hybrid";
  if (kinds.size() != 1) return {};
  static constexpr std::string_view kRows[] = {"full", "linear", "delta", "mamba2", "loglinear", "sparse"};
  const std::string_view name = mixer_descriptor(*kinds.begin()).name;
  return std::find(std::begin(kRows), std::end(kRows), name) == std::end(kRows) ? "" : std::string(name);
}

// The column's number of functions, where the task has one; other sizes may differ, and the cell says so.
bool same_levels(const TaskSizes& size, const TaskSizes& wanted) {
  const auto levels = wanted.find("L"), own = size.find("L");
  return levels == wanted.end() || (own != size.end() && own->second == levels->second);
}

TrainingEvidence shipped(const ExperimentResults& results, const ConfigurationOutcome& outcome,
                         const std::string& file) {
  TrainingEvidence out{.state = TrainingState::shipped,
                       .arch = outcome.subject.arch,
                       .task = outcome.subject.task,
                       .accuracy = *outcome.accuracy,
                       .seeds = static_cast<std::int64_t>(outcome.scores.size()),
                       .label = outcome.label.letter,
                       .label_reason = outcome.label.reason,
                       .ceiling = outcome.label.ceiling,
                       .ceiling_reason = outcome.label.ceiling_reason,
                       .record = TrainingEvidence::Origin{file, outcome.id, results.provenance},
                       .command = results.command};
  for (const auto& [name, value] : outcome.subject.size) out.size.add(name, value);
  if (outcome.interval) out.low = outcome.interval->first, out.high = outcome.interval->second;
  for (const MemberCurve& curve : outcome.curves)
    if (curve.chosen) out.curves.push_back(curve.points);
  return out;
}

}  // namespace

ShippedEvidence shipped_evidence(const std::string& row, const std::string& task, const TaskSizes& size,
                                 const EvidenceContext& context) {
  std::vector<std::filesystem::path> files;
  for (const auto& folder : context.results) {
    std::error_code code;
    for (std::filesystem::directory_iterator at(folder, code), end; !code && at != end; at.increment(code))
      if (at->path().extension() == ".json") files.push_back(at->path());
  }
  std::sort(files.begin(), files.end());
  ShippedEvidence out;
  for (const auto& file : files) {
    // One that cannot be read shows nothing here; rung report names it.
    const auto text = read_text_file(file.string(), "hierarchy");
    const auto results = text ? parse_results(*text, file.string()) : text.error();
    if (!results || !*results || is_experiment((*results)->lab.experiment, kThoughtExperiment)) continue;
    for (const ConfigurationOutcome& outcome : (*results)->lab.configurations) {
      if (outcome.id.starts_with(kEasyOrder) || outcome.origin != Origin::trained ||
          outcome.subject.task != task || !outcome.accuracy || row_of(outcome.subject.arch) != row ||
          !same_levels(outcome.subject.size, size))
        continue;
      TrainingEvidence one = shipped(**results, outcome, file.filename().string());
      if ((*results)->lab.experiment == kStatesExperiment) {
        out.states.push_back(one);
        out.states.back().curves.clear();
      }
      if (!out.best || one.accuracy > out.best->accuracy) out.best = std::move(one);
    }
  }
  return out;
}

}  // namespace rung
