// What a real model computes on calibration prompts, and the power-of-two scale that holds it best in b bits.
//
// A number x is stored as the integer sat(round(x 2^f), b), ties to even; f is its fraction. The fraction is
// the one with the least total squared error over what was seen: one bit more halves the step, and clips the
// largest values once it is too many. Values are kept as counts on a logarithmic grid, so the choice depends
// neither on threads nor on their order.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <string>

#include "rung/exact/value_observer.h"
#include "rung/spec/prompt.h"
#include "rung/spec/weights.h"

namespace rung {

inline constexpr int kLowestFraction = -30, kHighestFraction = 40;

// Counts of values by sign and size: 32 cells to the octave, 2^-40 to 2^40.
class ValueHistogram {
 public:
  ValueHistogram() = default;
  void add(double value);  // from any thread

  std::uint64_t count() const { return count_; }
  bool finite() const { return infinite_ == 0; }
  double smallest() const { return count_ ? low_.load() : 0; }
  double largest() const { return count_ ? high_.load() : 0; }
  double largest_size() const;  // max |x|
  double mean_square() const;   // up to the grid, 3 %
  // Total squared error of b bits at this fraction; errors of clipped values count `clip_penalty` times.
  // `positive_only`: negative values cost nothing (they meet max(0, x) next).
  double squared_error(int bits, int fraction, double clip_penalty, bool positive_only) const;

 private:
  static constexpr int kExponents = 80, kLowest = -40, kCells = 32;
  std::array<std::atomic<std::uint64_t>, 2 * kExponents * kCells> cells_{};
  std::atomic<std::uint64_t> count_{0}, infinite_{0};
  std::atomic<double> low_{1e300}, high_{-1e300};
};

// The fraction in [kLowestFraction, kHighestFraction] with the least error on what was seen and one value
// half as large again. A histogram without values, or of zeros, takes 1 for its largest value.
int best_fraction(const ValueHistogram& seen, int bits, double clip_penalty, bool positive_only = false);

struct CalibrationSet {
  std::vector<Prompt> prompts;        // of one length
  std::vector<std::int64_t> queries;  // where answers are read
  // The right answers, prompt by prompt, as readouts give them; empty: the real model's are taken for right.
  std::vector<std::vector<std::int64_t>> answers = {};
};

// Everything that the machine told while it ran, by name.
class Calibration final : public ValueObserver {
 public:
  int site(const std::string& name) override;
  void see(int site, double value) override { histograms_[static_cast<std::size_t>(site)].add(value); }

  // An empty one for a name that nothing told of.
  const ValueHistogram& of(const std::string& name) const;
  // The first name under which a number that is not finite was seen; empty: none.
  std::string not_finite() const;

  // The real model's readouts, prompt by prompt (empty for chains of thought: they are generated, and their
  // tokens kept).
  struct Reference {
    std::vector<std::vector<double>> logits;  // all queries of a prompt side by side
    std::vector<std::vector<std::int64_t>> answers;
  };
  // Runs the real model on the prompts without rounding. Errors: the machine's.
  Result<Reference> run(const Weights& real, const CalibrationSet& set);

 private:
  std::map<std::string, int> names_;
  std::deque<ValueHistogram> histograms_;
};

// Readouts of any weights on the prompts, laid out as Reference.
Result<Calibration::Reference> read_all(const Weights& weights, const CalibrationSet& set,
                                        ValueObserver* observer);

}  // namespace rung
