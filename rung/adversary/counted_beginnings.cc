// Claim: recurrent-* (docs/theorems.md), at every cut and not only at the theorem's own. The families are
// those of rung/theory/recurrent_*.cc; docs/certificate_v1.md proves for each that any two members have an
// ending that separates them. Invariant: floating point chooses the alphabet, integers decide.
#include "rung/adversary/counted_beginnings.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "rung/adversary/prompt_family.h"
#include "rung/tasks/nearest_points.h"
#include "rung/theory/counting.h"
#include "rung/theory/horizon.h"
#include "rung/theory/three_sum_values.h"

namespace rung {
namespace {

constexpr std::int64_t kEveryAlphabet = 4096;  // up to here every alphabet is looked at, beyond one in 64

struct Family {
  std::int64_t most_positions = 0;
  std::int64_t alphabet = 0;
  std::optional<Count> count = {};  // of the beginnings of `cut` positions
  std::int64_t widest = 0;          // where they are most; 0: at most_positions
};

// The alphabet in [2, most] with the most functions from entries(alphabet) places.
template <class Entries>
std::int64_t best_alphabet(std::int64_t most, const Entries& entries) {
  std::int64_t best = 0;
  double bits = 0;
  for (std::int64_t b = 2; b <= most; b += b < kEveryAlphabet ? 1 : b / 64)
    if (const double now = static_cast<double>(entries(b)) * std::log2(static_cast<double>(b)); now > bits)
      bits = now, best = b;
  return best;
}

std::int64_t power_up_to(std::int64_t base, std::int64_t exponent, std::int64_t most) {
  Integer value = 1;
  for (std::int64_t i = 0; i < exponent && value < most && base > 1; ++i) value *= base;
  return value < most ? value.convert_to<std::int64_t>() : most;
}

std::optional<Family> family_of(const Task& task, std::int64_t cut) {
  if (!task.built_in()) return std::nullopt;
  const std::string_view name = task.name();
  const auto size = task.size();
  const auto of = [&](const char* what) { return size.at(what).get<std::int64_t>(); };
  const auto functions = [](std::int64_t most_positions, std::int64_t alphabet, std::int64_t entries) {
    Family family{most_positions, alphabet};
    if (alphabet >= 1 && entries >= 0) family.count = Count::power(alphabet, entries);
    return family;
  };
  const auto sets = [&](std::int64_t most_positions, const Integer& values) {
    Family family{most_positions, values.convert_to<std::int64_t>()};
    if (values >= 1 && cut >= 1) family.count = Count::subsets(values, cut);
    return family;
  };
  if (name == "eva") return functions(of("n"), of("n"), cut);
  if (name == "index" || name == "retrieval") return functions(of("n"), of("sigma"), cut);
  if (name == "mqar") {  // the ending overwrites keys that are not asked for
    const std::int64_t keys = of("M"), written = std::min(cut / 2, cut % 2 == 0 ? keys : keys - 1);
    return functions(2 * of("n"), of("sigma"), keys == 1 && cut < 2 * of("n") ? 0 : written);
  }
  if (name == "two-sum") return sets(of("n"), of("M"));
  if (name == "two-sum-exists") return sets(of("n") - 1, lower_half(of("M")));
  if (name == "three-sum") return sets(of("n") - 2, three_sum_values(of("M")));
  if (name == "equality" || name == "disjointness") return functions(of("n"), 2, cut);
  if (name == "copy") return functions(of("n"), of("sigma"), cut);
  const auto options = task.options();
  if (task.automaton()) {
    // ^ and one letter lead to every state; the letter that changes nothing fills the rest.
    if (options.contains("letters")) return std::nullopt;
    return functions(of("n"), task.answer_spec().size, cut >= 2 ? 1 : 0);
  }
  if (name == "tracked-recall") {
    const std::int64_t n = of("n"), w = of("w");
    const bool bits = options.contains("group") && options.at("group") == "xor";
    if (bits && w < 62 && std::int64_t{1} << w < n) return std::nullopt;
    return functions(n, of("sigma"), bits || cut <= w ? cut : w + 1);
  }
  if (name == "nearest") {  // points that are there have corners of their own, or the last one repeats
    if (!corners_keep_margin(of("d"), of("f"), of("margin"))) return std::nullopt;
    const std::int64_t corners = std::int64_t{1} << std::min<std::int64_t>(of("d"), 62);
    return functions(2 * of("n"), of("sigma"), (cut + 1) / 2 > corners ? corners - 1 : cut / 2);
  }
  if (name == "cgram") {
    const std::int64_t sigma = of("sigma"), c = of("c");
    const auto entries = [&](std::int64_t b) { return power_up_to(sigma - b, c - 1, cut / c); };
    const std::int64_t b = best_alphabet(sigma - 1, entries);
    return functions(of("n") - c + 1, b, entries(b));
  }
  if (name == "khop") {
    const std::int64_t sigma = of("sigma"), k = of("k");
    const auto entries = [&](std::int64_t b) { return std::min(sigma - (k - 1) - b, cut / 2); };
    const std::int64_t b = best_alphabet(sigma - k, entries);
    return functions(of("n") - (2 * k - 1), b, entries(b));
  }
  if (name == "counting") {
    const std::int64_t sigma = of("sigma"), k = of("k");
    return Family{of("n"), sigma,
                  k == 0 ? Count::binomial(Integer(cut) + sigma - 1, Integer(sigma) - 1)
                         : Count::subsets_or_empty(Integer(sigma) - 1, std::min(cut / k, sigma - 1))};
  }
  if (name == "istree") {  // every vertex that is no centre hangs on one of them, by one edge
    const std::int64_t n = of("n"), centres = n - (cut + 1) / 2;
    Family family = functions(2 * (n - 2), centres, cut / 2);
    family.widest = 2 * (n - best_alphabet(n - 1, [&](std::int64_t c) { return n - c; }));
    return family;
  }
  if (name == "sparse-average" && of("n") - 1 >= 2 * of("q")) return functions(of("n") - 1, 2, cut * of("d"));
  if (const auto layout = seqcomp_layout(task); layout && layout->order() == SeqCompLayout::Order::hard) {
    const std::int64_t values = layout->domain(layout->levels() - 1);
    return functions(values, values, cut);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::int64_t> forcing_alphabet(const Task& task, std::int64_t cut, std::int64_t bits) {
  if (cut < 1 || cut >= task.prompt_length()) return std::nullopt;
  const auto family = family_of(task, cut);
  if (!family || !family->count || cut > family->most_positions) return std::nullopt;
  return bits_suffice(bits, *family->count) ? std::nullopt : std::optional(family->alphabet);
}

std::optional<std::int64_t> widest_cut(const Task& task) {
  const auto family = family_of(task, 1);
  if (!family || family->most_positions < 1) return std::nullopt;
  return family->widest > 0 ? family->widest : family->most_positions;
}

}  // namespace rung
