#include "rung/exact/quantise_calibration.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <optional>

#include "rung/base/parallel.h"
#include "rung/exact/machine.h"

namespace rung {
namespace {

void lower(std::atomic<double>& least, double value) {
  double old = least.load(std::memory_order_relaxed);
  while (value < old && !least.compare_exchange_weak(old, value, std::memory_order_relaxed)) {
  }
}
void raise(std::atomic<double>& most, double value) {
  double old = most.load(std::memory_order_relaxed);
  while (value > old && !most.compare_exchange_weak(old, value, std::memory_order_relaxed)) {
  }
}

}  // namespace

void ValueHistogram::add(double value) {
  if (!std::isfinite(value)) {
    infinite_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  count_.fetch_add(1, std::memory_order_relaxed);
  lower(low_, value);
  raise(high_, value);
  if (value == 0) return;  // stored without error by every fraction
  int exponent = 0;
  const double part = std::frexp(std::fabs(value), &exponent);  // [0.5, 1)
  int cell = static_cast<int>((part - 0.5) * (2 * kCells));
  exponent -= 1;
  if (exponent < kLowest) exponent = kLowest, cell = 0;
  if (exponent >= kLowest + kExponents) exponent = kLowest + kExponents - 1, cell = kCells - 1;
  const int row = (value < 0 ? kExponents : 0) + exponent - kLowest;
  cells_[static_cast<std::size_t>(row) * kCells + static_cast<std::size_t>(cell)].fetch_add(
      1, std::memory_order_relaxed);
}

double ValueHistogram::largest_size() const { return std::max(std::fabs(smallest()), std::fabs(largest())); }

double ValueHistogram::mean_square() const {
  double total = 0;
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    if (cells_[i] == 0) continue;
    const int row = static_cast<int>(i) / kCells % kExponents, cell = static_cast<int>(i) % kCells;
    const double centre = std::ldexp(1 + (cell + 0.5) / kCells, row + kLowest);
    total += static_cast<double>(cells_[i]) * centre * centre;
  }
  return count_ ? total / static_cast<double>(count_) : 0;
}

double ValueHistogram::squared_error(int bits, int fraction, double clip_penalty, bool positive_only) const {
  const double high = std::ldexp(1.0, bits - 1) - 1;
  double total = 0;
  for (int row = 0; row < (positive_only ? 1 : 2) * kExponents; ++row)
    for (int cell = 0; cell < kCells; ++cell) {
      const std::uint64_t here =
          cells_[static_cast<std::size_t>(row) * kCells + static_cast<std::size_t>(cell)].load(
              std::memory_order_relaxed);
      if (here == 0) continue;
      const double octave = std::ldexp(1.0, row % kExponents + kLowest + fraction);  // in steps
      const double x = octave * (1 + (cell + 0.5) / kCells), limit = row < kExponents ? high : high + 1;
      double error = 0;
      if (x > limit)
        error = clip_penalty * (x - limit) * (x - limit);
      else if (octave >= kCells)
        error = 1.0 / 12;  // a cell is wider than a step: uniform within it
      else
        error = (x - std::nearbyint(x)) * (x - std::nearbyint(x));
      total += static_cast<double>(here) * error;
    }
  return std::ldexp(total, -2 * fraction);
}

int best_fraction(const ValueHistogram& seen, int bits, double clip_penalty, bool positive_only) {
  const double largest = positive_only ? std::max(0.0, seen.largest()) : seen.largest_size();
  if (largest == 0) return std::clamp(bits - 2, kLowestFraction, kHighestFraction);
  // The largest fraction that clips nothing. More of it only helps by clipping; less of it by leaving room
  // for what other prompts bring: one value by half larger than all that were seen is expected.
  const double limit = std::ldexp(1.0, bits - 1) - 1, unseen = 1.5 * largest;
  int fits = kHighestFraction;
  while (fits > kLowestFraction && std::ldexp(largest, fits) > limit) --fits;
  int best = fits;
  double least = std::numeric_limits<double>::infinity();
  for (int fraction = std::max(kLowestFraction, fits - 1);
       fraction <= std::min(kHighestFraction, fits + bits); ++fraction) {
    const double beyond = std::max(0.0, unseen - std::ldexp(limit, -fraction));
    const double error = seen.squared_error(bits, fraction, clip_penalty, positive_only) + beyond * beyond;
    if (error < least) best = fraction, least = error;
  }
  return best;
}

int Calibration::site(const std::string& name) {
  const auto [place, added] = names_.try_emplace(name, static_cast<int>(histograms_.size()));
  if (added) histograms_.emplace_back();
  return place->second;
}

const ValueHistogram& Calibration::of(const std::string& name) const {
  static const ValueHistogram kNothing;
  const auto found = names_.find(name);
  return found == names_.end() ? kNothing : histograms_[static_cast<std::size_t>(found->second)];
}

std::string Calibration::not_finite() const {
  for (const auto& [name, index] : names_)
    if (!histograms_[static_cast<std::size_t>(index)].finite()) return name;
  return {};
}

Result<Calibration::Reference> read_all(const Weights& weights, const CalibrationSet& set,
                                        ValueObserver* observer) {
  RUNG_REQUIRE(!set.prompts.empty(), "no calibration prompts");
  const std::int64_t positions =
      set.prompts[0].positions + std::max<std::int64_t>(0, weights.decode.steps - 1);
  const bool real = weights.mode == WeightMode::real;
  RUNG_TRY(const auto machine,
           Machine::load(weights, {.positions = positions, .unrounded = real, .observer = observer}));
  Calibration::Reference all;
  all.logits.resize(set.prompts.size());
  all.answers.resize(set.prompts.size());
  std::optional<Error> error;
  std::mutex guard;
  parallel_for(static_cast<std::int64_t>(set.prompts.size()), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const auto& prompt = set.prompts[static_cast<std::size_t>(i)];
      auto& answers = all.answers[static_cast<std::size_t>(i)];
      auto keep = [&](const Error& one) {
        const std::lock_guard lock(guard);
        if (!error) error = one;
      };
      if (weights.decode.steps > 0) {
        auto tokens = machine->generate(prompt);
        if (!tokens) return keep(tokens.error());
        answers = {tokens->back()};
        continue;
      }
      const auto readouts = machine->forward(prompt, set.queries);
      if (!readouts) return keep(readouts.error());
      for (const auto& readout : *readouts) {
        auto& logits = all.logits[static_cast<std::size_t>(i)];
        logits.insert(logits.end(), readout.real_logits.begin(), readout.real_logits.end());
        for (const auto logit : readout.logits) logits.push_back(static_cast<double>(logit));
        answers.insert(answers.end(), readout.answer.begin(), readout.answer.end());
      }
    }
  });
  if (error) return *error;
  return all;
}

Result<Calibration::Reference> Calibration::run(const Weights& real, const CalibrationSet& set) {
  return read_all(real, set, this);
}

}  // namespace rung
