// The integer file while it is being written: real tensors in, integer tensors and their scales out. Used by
// quantise.cc (what surrounds the mixers) and quantise_mixers.cc.
//
// Invariant: an integer k stored for a real x at fraction f means k 2^-f. A product-sum of weights at
// fraction g with inputs at f has the fraction f + g, its bias alike, and a shift by f + g - h brings it to
// h.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "rung/exact/arithmetic.h"
#include "rung/exact/quantise.h"

namespace rung {

// What a map reads: integers at one fraction a column, and the real factor that the column still lacks (a
// norm's gain).
struct InputScale {
  std::vector<int> fraction;
  std::vector<double> factor;
  static InputScale of(std::int64_t columns, int fraction) {
    return {std::vector<int>(static_cast<std::size_t>(columns), fraction),
            std::vector<double>(static_cast<std::size_t>(columns), 1.0)};
  }
};

// How fractions are chosen in one attempt.
struct ScaleChoice {
  double clip_penalty = 1;           // errors by clipping count so many times
  std::map<std::string, int> noted;  // fixed by the file
  std::map<std::string, int> moved;  // by how much others differ from the best for what was seen
};

class IntegerModel {
 public:
  IntegerModel(const Weights& real, const Calibration& seen, const QuantiseOptions& options,
               const ScaleChoice& choice);

  Weights out;
  std::vector<StoredScale> scales;
  mutable std::set<std::string> chosen;  // names whose fraction was ours to choose

  int bits() const { return bits_; }              // p
  int state_bits() const { return state_bits_; }  // a
  // Intermediates that are neither stored nor handed over: norms and unit keys (guard bits), and inputs of
  // gates' tables.
  int guarded_bits() const { return std::min(bits_ + 4, 48); }
  int gate_bits(const std::string& name) const;
  const ValueHistogram& seen(const std::string& name) const { return seen_.of(name); }

  // The fraction for a name: the file's note, or the best one for what was seen.
  int fraction(const std::string& name, int bits, bool positive_only = false) const;
  // The best one for what was seen, whatever the file notes.
  int seen_fraction(const std::string& name, int bits, bool positive_only = false) const;
  bool noted(const std::string& name) const { return choice_.noted.count(name) != 0; }
  // Notes down how a tensor is stored.
  void record(const std::string& name, int bits, int fraction);

  // Of the real file. A shift or scale that it states is part of its meaning.
  bool has(const std::string& name) const { return real_.tensors.count(name) != 0; }
  std::vector<double> numbers(const std::string& name, std::size_t size);
  double number(const std::string& name, double fallback) const;
  int shift(const std::string& name) const { return static_cast<int>(number(name, 0)); }
  bool names_table(const std::string& name) const { return real_.tables.count(name) != 0; }
  const Weights& real() const { return real_; }

  void put(const std::string& name, std::vector<std::int64_t> shape, const std::vector<std::int64_t>& values);
  void put_scalar(const std::string& name, std::int64_t value);
  void put_width(const std::string& name, int bits);  // name.bits, where it is not p
  void put_shift(const std::string& name, int shift);

  // name.weight, .bias, .shift, .bits: the real map from inputs at `in` to outputs at `fraction`.
  void map(const std::string& name, std::int64_t rows, const InputScale& in, int fraction, int bits);
  // Maps whose exact sums are added before one shift: weights at one common product scale, which is returned.
  struct Summand {
    std::string name;
    InputScale in;
  };
  int summed_maps(const std::vector<Summand>& maps, std::int64_t rows);
  // Rows of weights that multiply single channels: row r reads integers at in[r]. Returns the products'
  // common fraction.
  int row_weights(const std::string& name, std::int64_t columns, const std::vector<int>& in,
                  std::vector<std::int64_t> shape);
  // The same with one number more a row, `bias`, whose fraction is the products' and more[r].
  int row_weights(const std::string& name, std::int64_t columns, const std::vector<int>& in,
                  std::vector<std::int64_t> shape, const std::string& bias, const std::vector<int>& more);

  // name.table, .low: the real function behind `name` (the file's own, or the default) over [low, high] at
  // fraction `in`, its values at `out`, clipped to `clip` bits.
  void function_table(const std::string& name, const char* fallback, std::int64_t low, std::int64_t high,
                      int in, int out, int clip);
  // The same over all numbers of `bits` bits. REQUIRES bits <= kTableBits.
  void channel_table(const std::string& name, const char* fallback, int bits, int in, int out, int clip);
  // Clips the values of a written table, at fraction `out`, to [low, high]: no function of the list stands behind it then.
  void limit_table(const std::string& name, int out, double low, double high);

  void refuse(Error error) {
    if (!error_) error_ = std::move(error);
  }
  const std::optional<Error>& error() const { return error_; }

 private:
  int product_fraction(const std::vector<Summand>& maps, std::int64_t rows);
  std::vector<double> columns(const Summand& map, std::int64_t rows);

  const Weights& real_;
  const Calibration& seen_;
  int bits_, state_bits_, weight_bits_;
  const ScaleChoice& choice_;
  std::optional<Error> error_;
};

// Entries of a table over whole channels: at most 2^16.
inline constexpr int kTableBits = 16;
// Gates lie in [0, 2^kGateFraction].
inline constexpr int kGateFraction = 16;

// Writes the mixer's tensors under `prefix`; returns the fraction of every output. REQUIRES a quantisable
// mixer.
std::vector<int> quantise_mixer(IntegerModel& model, const MixerShape& mixer, const std::string& prefix,
                                const InputScale& in);

}  // namespace rung
