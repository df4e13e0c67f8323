#include "rung/adversary/beginnings.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace rung {
namespace {

std::int64_t size_of(const Task& task, const char* name) { return task.size().at(name).get<std::int64_t>(); }

using Slot = BeginningSpace::Slot;

// `count` positions, each with the tokens of `tokens(i)`.
template <class Tokens>
std::vector<Slot> token_slots(std::int64_t count, std::int64_t stride, std::int64_t first, Tokens tokens) {
  std::vector<Slot> slots;
  for (std::int64_t i = 0; i < count; ++i) {
    Slot slot{first + i * stride, {}};
    for (const std::int64_t token : tokens(i)) slot.rows.push_back({token});
    slots.push_back(std::move(slot));
  }
  return slots;
}

std::vector<std::int64_t> range(std::int64_t begin, std::int64_t end, std::size_t most) {
  std::vector<std::int64_t> values;
  for (std::int64_t v = begin; v < end && values.size() < most; ++v) values.push_back(v);
  return values;
}

// A prefix of `cut` positions whose slots hold their first row and whose other positions hold `fixed`
// (position, token).
Prompt base_of(const Task& task, std::int64_t cut, const std::vector<Slot>& slots,
               const std::vector<std::pair<std::int64_t, std::int64_t>>& fixed) {
  const auto fields = task.fields();
  Prompt base{cut, {}};
  for (const auto& field : fields)
    base.fields.emplace_back(static_cast<std::size_t>(cut * field.length), field.low);
  for (const auto& [position, token] : fixed) base.fields[0][static_cast<std::size_t>(position)] = token;
  for (const auto& slot : slots)
    for (std::size_t f = 0; f < fields.size(); ++f)
      base.fields[f][static_cast<std::size_t>(slot.position)] = slot.rows[0][f];
  return base;
}

}  // namespace

Prompt BeginningSpace::prefix(std::span<const std::uint16_t> choices, std::size_t first) const {
  Prompt prompt = base;
  for (std::size_t j = 0; j < choices.size(); ++j) {
    const Slot& slot = slots[first + j];
    for (std::size_t f = 0; f < prompt.fields.size(); ++f)
      prompt.fields[f][static_cast<std::size_t>(slot.position)] = slot.rows[choices[j]][f];
  }
  return prompt;
}

double BeginningSpace::lg_size() const {
  double bits = 0;
  for (const auto& slot : slots) bits += std::log2(static_cast<double>(slot.rows.size()));
  return bits;
}

std::optional<BeginningSpace> beginnings(const Task& task, std::size_t most_rows) {
  const std::string_view name = task.name();
  BeginningSpace space;
  std::vector<std::pair<std::int64_t, std::int64_t>> fixed;
  std::int64_t cut = 0;
  if (name == "eva" || name == "index") {
    const std::int64_t n = size_of(task, "n"), sigma = name == "eva" ? n : size_of(task, "sigma");
    space.slots = token_slots(n, 1, 0, [&](std::int64_t) { return range(0, sigma, most_rows); });
    cut = n;
  } else if (name == "retrieval") {
    const std::int64_t n = size_of(task, "n"), sigma = size_of(task, "sigma");
    for (std::int64_t i = 0; i < n; ++i) {
      Slot slot{i, {}};
      for (const auto value : range(0, sigma, most_rows)) slot.rows.push_back({i, value, 0});
      space.slots.push_back(std::move(slot));
    }
    cut = n;
  } else if (name == "mqar") {
    const std::int64_t n = size_of(task, "n"), keys = size_of(task, "M"), sigma = size_of(task, "sigma");
    const std::int64_t used = std::min(n, keys);
    space.slots = token_slots(used, 2, 1, [&](std::int64_t) { return range(0, sigma, most_rows); });
    for (std::int64_t i = 0; i < used; ++i) fixed.emplace_back(2 * i, sigma + i);
    if (used < n) return std::nullopt;
    cut = 2 * n;
  } else if (name == "two-sum") {
    const std::int64_t n = size_of(task, "n"), modulus = size_of(task, "M"), each = modulus / n;
    space.slots =
        token_slots(n, 1, 0, [&](std::int64_t i) { return range(i * each, (i + 1) * each, most_rows); });
    cut = n;
  } else if (name == "seqcomp" && task.options().empty()) {
    std::int64_t functions = size_of(task, "m");
    for (std::int64_t l = 1; l < size_of(task, "L"); ++l)
      functions *= size_of(task, fmt::format("n{}", l).c_str());
    space.slots = token_slots(functions, 1, 0, [&](std::int64_t) { return range(0, functions, most_rows); });
    cut = functions;
  } else {
    return std::nullopt;
  }
  if (space.slots.empty() || space.slots[0].rows.size() < 2) return std::nullopt;
  space.base = base_of(task, cut, space.slots, fixed);
  return space;
}

}  // namespace rung
