#include "rung/theory/measured_recall.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

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
  std::string text, record;
  std::int64_t elements = 0, n = 0;
  double kept = 0;  // bits an element, of one level
};

struct RecallRecord {
  std::int64_t seeds = 0;
  std::vector<RecordRow> rows;
};

RecallRecord read_record() {
  const auto json = nlohmann::json::parse(kMeasuredRecall);
  RecallRecord out{json.at("seeds"), {}};
  for (const auto& row : json.at("rows")) {
    RecordRow each{
        {}, row.at("arch"), row.at("record"), row.at("elements"), row.at("n"), row.at("bits_per_element")};
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

// What the kind keeps in a state of so many elements, or in one level of it.
std::optional<MeasuredKind> kind_of(const MixerShape& mixer, std::int64_t elements) {
  std::map<std::int64_t, MeasuredKind> sizes;
  for (const RecordRow& row : recall_record().rows) {
    if (!same_kind(row.mixer, mixer)) continue;
    MeasuredKind& size =
        sizes
            .try_emplace(row.elements, MeasuredKind{row.text, 0, 0, row.elements, row.elements, row.n, row.n})
            .first->second;
    size.n_from = std::min(size.n_from, row.n), size.n_to = std::max(size.n_to, row.n);
    if (row.kept >= size.most) size.least = size.most = row.kept, size.records = {row.record};
  }
  if (sizes.empty()) return {};
  const auto at_least = sizes.lower_bound(elements);
  const bool above = at_least == sizes.end(),
             below = !above && at_least == sizes.begin() && at_least->first > elements;
  const MeasuredKind& high = (above ? std::prev(at_least) : at_least)->second;
  const bool one = above || below || high.elements_from == elements;
  const MeasuredKind& low = one ? high : std::prev(at_least)->second;
  const auto [least, most] = std::minmax(low.most, high.most);
  if (!(least > 0)) return {};
  MeasuredKind out{low.mixer,
                   least,
                   most,
                   low.elements_from,
                   high.elements_to,
                   std::min(low.n_from, high.n_from),
                   std::max(low.n_to, high.n_to),
                   above || below,
                   low.records};
  out.records.insert(high.records.begin(), high.records.end());
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
  MeasuredRecall out{.seeds = recall_record().seeds};
  std::set<std::string> records;
  double least = 0, most = 0;
  std::int64_t recurrences = 0;
  for (std::size_t i = 0; i < setting.layers.size(); ++i) {
    const LayerAccount& layer = counted.layers[i];
    const MixerShape& mixer = setting.layers[i].mixer;
    if (layer.cache_elements > 0 || layer.window_elements > 0) return {};
    if (layer.state_elements == 0) continue;
    const auto kind = mixer.parts.empty() ? kind_of(mixer, layer.state_elements) : std::nullopt;
    if (!kind) return {};
    const std::int64_t elements = layer.state_elements * layer.levels;
    out.elements += elements;
    out.extrapolated |= ++recurrences > 1 || kind->outside;
    records.insert(kind->records.begin(), kind->records.end());
    least += kind->least * static_cast<double>(elements);
    most += kind->most * static_cast<double>(elements);
    if (std::none_of(out.kinds.begin(), out.kinds.end(),
                     [&](const MeasuredKind& known) { return known.mixer == kind->mixer; }))
      out.kinds.push_back(*kind);
  }
  if (out.elements == 0) return {};
  out.least = least / static_cast<double>(out.elements);
  out.most = most / static_cast<double>(out.elements);
  out.record = fmt::format("{}", fmt::join(records, ", "));
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
      "trained models of {} kept at least {} bits per state element, so recall is expected to fail from "
      "about {} tokens "
      "({} state elements here{}{}, {}; {})",
      m.kinds.size() == 1 ? "this kind" : "these kinds", range_text(bits(m.least), bits(m.most)),
      range_text(about(m.fails_from_least), about(m.fails_from_most)), m.elements,
      m.extrapolated ? ", extrapolated from one layer of " : "; ", from, counted(m.seeds, "seed"), m.record);
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
