// What trained models were seen to keep: no theorem, and never part of a verdict. Beside the proved horizon of a recurrent
// model, which counts every bit of its state, it says where models of its kind ran out when they were trained.
//
// The record (measured_recall.json, by experiments/verdicts.py from the runs of the experiments `capacity-law`) has, for
// each recurrence that learned the task, state size and n, the bits that models of one layer kept of n uniformly random values: lower confidence
// bounds over the seeds, the best of all runs of that configuration. A kind keeps, at one state size, what it kept at the n
// where it kept most. A layer counts with the nearest state sizes of the record, the one below its own and the one above.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "rung/theory/setting.h"

namespace rung {

struct MeasuredKind {
  std::string mixer;           // as the record writes the smaller of the two sizes, "mamba2(dim=8,state=8)"
  double least = 0, most = 0;  // bits an element
  std::int64_t elements_from = 0, elements_to = 0;  // the two sizes; equal where one is all there is
  std::int64_t n_from = 0, n_to = 0;
  bool outside = false;           // the layer has fewer or more than any of its kind in the record
  std::set<std::string> records;  // where those figures stand
};

struct MeasuredRecall {
  std::vector<MeasuredKind> kinds;  // of the stack, each once
  std::int64_t elements = 0;        // of state, all layers and levels
  bool extrapolated = false;   // from one layer to several, or to a state outside the sizes of the record
  double least = 0, most = 0;  // bits an element, over the kinds
  Integer fails_from_least, fails_from_most;  // the first n with n lg n above what is kept in all
  std::string record;                         // where that stands, "results/capacity-law-gpu.json"
  std::int64_t seeds = 0;                     // at least
};

// Nothing for stacks with attention over the past or a window, and with a recurrence that has no record or kept nothing.
std::optional<MeasuredRecall> measured_recall(const Setting& setting);

// "trained models of this kind kept at least 0.98 to 1.33 bits per state element, so recall is expected to fail from about
// 812 to 1060 tokens (1024 state elements here; linear(dim=8): ...)"
std::string measured_text(const MeasuredRecall& measured);
nlohmann::ordered_json measured_json(const MeasuredRecall& measured);

}  // namespace rung
