// Records as the points of a sweep: which fields they differ in, and a figure of any of them against any other.
//
//   RUNG_TRY(const SweepFigure figure, sweep_figure(records, {.x = "size.n", .y = "accuracy"}));
//
// One point stands for the records of one setting (rung/store/setting.h): those that differ in nothing but seed, rate,
// decay, initial scale and how they went. Records of different settings are never put together, neither in a point nor in a line:
// a line is settings that differ in x alone.
#pragma once

#include <compare>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rung/base/result.h"
#include "rung/store/record.h"

namespace rung {

struct SweepValue {
  std::optional<double> number;
  std::string text;  // as it is shown, numbers too
  bool operator==(const SweepValue&) const = default;
  bool operator<(const SweepValue& other) const;  // numbers by size, before words
};
// By name: "size.n", "dimensions.width", "arch"; a list is its JSON text.
using SweepFields = std::map<std::string, SweepValue, std::less<>>;

struct RecordFields {
  SweepFields
      asked;  // what the record was asked to do, its kind, and of its architecture `layers` and `mixers`
  SweepFields
      measured;  // other numbers: how it went, and what varies within a setting (accuracy, loss, rate, seed)
  std::string setting;  // equal for records of one setting
  std::string label;    // C, K or G, where it has one
};
RecordFields record_fields(const Record& record);

// Fields in which two of them differ (one that only some have differs too), sizes first, then by name.
std::vector<std::string> differing_fields(std::span<const SweepFields> all);

struct SweepQuestion {
  std::optional<std::string> x;  // default: the first size that differs, else the first number that does
  std::string y = "accuracy";
  std::optional<std::vector<std::string>> series;  // default: whatever else differs
  std::optional<std::string> panel;
};
struct SweepPoint {
  double x = 0, mean = 0, low = 0, high = 0;  // of y, over the records of the setting
  std::size_t count = 0;
  std::optional<double> ceiling;  // the least of the records' own
  std::string label;              // C, K or G; empty where they say none or differ
};
struct SweepLine {
  std::string name;                // values of the series, "full*2, order=easy"
  std::vector<SweepPoint> points;  // by x
};
struct SweepPanel {
  std::string name;
  std::vector<SweepLine> lines;
};
struct SweepFigure {
  std::string x, y;
  std::vector<std::string> series;
  std::string panel;
  std::size_t left_out = 0;  // records without x or y
  std::vector<SweepPanel> panels;
};
// ENSURES: refused are fields that no record has as numbers, and records that differ in more than x, series and panel:
// the message names the fields.
Result<SweepFigure> sweep_figure(const std::vector<Record>& records, const SweepQuestion& question);

}  // namespace rung
