#include "rung/theory/measured_recall.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "rung/base/plural.h"

namespace rung {

extern const std::string_view kMeasuredRecall;  // the record, embedded

namespace {

struct RecordRow {
  MixerShape mixer;
  std::string text;
  std::int64_t elements = 0, n = 0;
  double kept = 0;  // bits an element
};

struct RecallRecord {
  std::string name;
  std::int64_t seeds = 0;
  std::vector<RecordRow> rows;
};

RecallRecord read_record() {
  const auto json = nlohmann::json::parse(kMeasuredRecall);
  RecallRecord out{json.at("record"), json.at("seeds"), {}};
  for (const auto& row : json.at("rows")) {
    RecordRow each{{}, row.at("arch"), row.at("elements"), row.at("n"), row.at("bits_per_element")};
    const auto stack = parse_stack(each.text, UnsaidForm::plain);
    RUNG_REQUIRE(stack.ok() && stack->layers.size() == 1, "{}", each.text);
    each.text = format_stack(*stack);
    const auto layers = resolve({*stack, {}});
    RUNG_REQUIRE(layers.ok(), "{}", each.text);
    each.mixer = layers->front().mixer;
    out.rows.push_back(std::move(each));
  }
  return out;
}

const RecallRecord& recall_record() {
  static const RecallRecord record = read_record();
  return record;
}

// Released layers count with the plain ones of their kind: what differs stands around the state.
bool same_kind(const MixerShape& a, const MixerShape& b) {
  return a.kind == b.kind && a.base == b.base && a.feature == b.feature && a.relu_cell == b.relu_cell;
}

std::optional<MeasuredKind> kind_of(const MixerShape& mixer) {
  std::map<std::int64_t, double> best;  // by state size
  MeasuredKind out;
  for (const RecordRow& row : recall_record().rows) {
    if (!same_kind(row.mixer, mixer)) continue;
    if (best.empty()) out = {row.text, 0, 0, row.elements, row.elements, row.n, row.n};
    if (row.elements < out.elements_from) out.mixer = row.text;
    out.elements_from = std::min(out.elements_from, row.elements);
    out.elements_to = std::max(out.elements_to, row.elements);
    out.n_from = std::min(out.n_from, row.n);
    out.n_to = std::max(out.n_to, row.n);
    best[row.elements] = std::max(best[row.elements], row.kept);
  }
  if (best.empty()) return {};
  const auto by_kept = [](const auto& a, const auto& b) { return a.second < b.second; };
  out.least = std::min_element(best.begin(), best.end(), by_kept)->second;
  out.most = std::max_element(best.begin(), best.end(), by_kept)->second;
  if (!(out.least > 0)) return {};
  return out;
}

// The first n with n lg n > bits.
Integer first_beyond(double bits) {
  double low = 1, high = 2;
  while (high * std::log2(high) <= bits) low = high, high *= 2;
  while (high - low > 1) {
    const double middle = std::floor((low + high) / 2);
    (middle * std::log2(middle) > bits ? high : low) = middle;
  }
  return Integer(static_cast<std::uint64_t>(high));
}

double two_digits_down(double value) { return std::floor(value * 100) / 100; }

std::string range_text(const std::string& low, const std::string& high) {
  return low == high ? low : low + " to " + high;
}

// Two digits, which is more than the record can tell.
std::string about(const Integer& n) {
  const auto value = n.convert_to<double>();
  const double unit = std::pow(10.0, std::max(0.0, std::floor(std::log10(value)) - 1));
  return value < 1e6 ? fmt::format("{:.0f}", std::round(value / unit) * unit) : fmt::format("{:.1e}", value);
}

}  // namespace

std::optional<MeasuredRecall> measured_recall(const Setting& setting) {
  if (!setting.causal()) return {};
  const Account counted = account(setting.architecture, setting.layers, {.context = setting.context});
  MeasuredRecall out{.record = recall_record().name, .seeds = recall_record().seeds};
  double least = 0, most = 0;
  for (std::size_t i = 0; i < setting.layers.size(); ++i) {
    const LayerAccount& layer = counted.layers[i];
    const MixerShape& mixer = setting.layers[i].mixer;
    if (layer.cache_elements > 0 || layer.window_elements > 0) return {};
    if (layer.state_elements == 0) continue;
    const auto kind = mixer.parts.empty() ? kind_of(mixer) : std::nullopt;
    if (!kind) return {};
    const std::int64_t elements = layer.state_elements * layer.levels;
    out.elements += elements;
    out.extrapolated |=
        layer.state_elements < kind->elements_from || layer.state_elements > kind->elements_to;
    least += kind->least * static_cast<double>(elements);
    most += kind->most * static_cast<double>(elements);
    if (std::none_of(out.kinds.begin(), out.kinds.end(),
                     [&](const MeasuredKind& known) { return known.mixer == kind->mixer; }))
      out.kinds.push_back(*kind);
  }
  if (out.elements == 0) return {};
  out.least = least / static_cast<double>(out.elements);
  out.most = most / static_cast<double>(out.elements);
  out.fails_from_least = first_beyond(least);
  out.fails_from_most = first_beyond(most);
  return out;
}

std::string measured_text(const MeasuredRecall& m) {
  const auto bits = [](double value) { return fmt::format("{:.2f}", two_digits_down(value)); };
  std::string from;
  for (const MeasuredKind& kind : m.kinds)
    from += fmt::format("{}{}: {} elements, n = {}", from.empty() ? "" : "; ", kind.mixer,
                        range_text(std::to_string(kind.elements_from), std::to_string(kind.elements_to)),
                        range_text(std::to_string(kind.n_from), std::to_string(kind.n_to)));
  return fmt::format(
      "trained models of {} kept {} bits per state element, so recall is expected to fail from about {} "
      "tokens "
      "({} state elements here{}{}, {}; {})",
      m.kinds.size() == 1 ? "this kind" : "these kinds", range_text(bits(m.least), bits(m.most)),
      range_text(about(m.fails_from_least), about(m.fails_from_most)), m.elements,
      m.extrapolated ? ", extrapolated from " : "; ", from, counted(m.seeds, "seed"), m.record);
}

nlohmann::ordered_json measured_json(const MeasuredRecall& m) {
  nlohmann::ordered_json kinds = nlohmann::ordered_json::array();
  for (const MeasuredKind& kind : m.kinds)
    kinds.push_back({{"mixer", kind.mixer},
                     {"bits_per_element", {two_digits_down(kind.least), two_digits_down(kind.most)}},
                     {"elements", {kind.elements_from, kind.elements_to}},
                     {"n", {kind.n_from, kind.n_to}}});
  return {{"status", "measured"},
          {"says", measured_text(m)},
          {"elements", m.elements},
          {"extrapolated", m.extrapolated},
          {"bits_per_element", {two_digits_down(m.least), two_digits_down(m.most)}},
          {"fails_from",
           {m.fails_from_least.convert_to<std::int64_t>(), m.fails_from_most.convert_to<std::int64_t>()}},
          {"kinds", kinds},
          {"seeds", m.seeds},
          {"record", m.record}};
}

}  // namespace rung
