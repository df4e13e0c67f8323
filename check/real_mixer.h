// The mixers of a real file (docs/weights.md, "Mode Q"), in intervals: all rows of a prompt at once.
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "check/architecture.h"
#include "check/interval.h"
#include "check/safetensors.h"

namespace rung_check {

// What a part of the network reads: tensors below a prefix, and the functions that the metadata names for its
// tables.
struct RealSource {
  Source source;
  const std::map<std::string, RealFunction>& functions;
  const Architecture& architecture;

  RealSource under(const std::string& part) const { return {source.under(part), functions, architecture}; }
  bool named(const std::string& table) const { return functions.contains(source.prefix + table); }
  RealFunction function(const std::string& table, const std::string& otherwise) const;
  std::vector<double> reals(const std::string& name, const Row& shape) const {
    return source.file.reals(source.prefix + name, shape, source.budget);
  }
  double real(const std::string& name, double otherwise) const {
    return source.has(name) ? reals(name, {}).front() : otherwise;
  }
  // Charged before it is done: multiply-adds of intervals.
  void work(std::uint64_t multiply_adds) const { source.budget.work(kPerInterval * multiply_adds); }
  // A width is read, and of no use: nothing is rounded.
  void width(const std::string& name) const { source.bits(name); }
};

struct RealMap {
  std::int64_t rows = 0, cols = 0, shift = 0;
  std::vector<double> weight, bias;

  RealMap() = default;
  RealMap(const RealSource& source, const std::string& name, std::int64_t rows, std::int64_t cols,
          bool sums_only = false);
  Real sum(std::int64_t row, const Real* x) const;  // weight x + bias, not shifted
  Reals operator()(const Reals& x, Budget& budget) const;
};

// x · gain · 2^fraction / √(Σ x² / count + epsilon); 0 where the root is.
Reals real_normalised(const Reals& x, const std::vector<double>& gain, double count, std::int64_t fraction,
                      double epsilon);

// The indices of the k largest, ties to the smaller index, increasing. Rejected where the intervals do not
// say which they are:
// every one in is above every one out, or both are the same number and the smaller index is in.
Row certainly_largest(const Reals& values, std::int64_t k, Budget& budget);

class RealMixer {
 public:
  virtual ~RealMixer() = default;
  // The outputs at all positions, given the layer's input rows.
  virtual std::vector<Reals> mix(const std::vector<Reals>& u) const = 0;
};
// nullptr for `none`. Malformed: a mixer that cannot be evaluated.
std::unique_ptr<RealMixer> make_real_mixer(const Shape& shape, const RealSource& source);
// full, topk, sparse; nullptr for any other word.
std::unique_ptr<RealMixer> make_real_attention(const Shape& shape, const RealSource& source);
std::unique_ptr<RealMixer> make_real_recurrence(const Shape& shape, const RealSource& source);
// Those of them that have no matrix: mamba, rnn, gru, conv, identity.
std::unique_ptr<RealMixer> make_real_row_recurrence(const Shape& shape, const RealSource& source);

// Maps side by side, with the short convolution over those that have one.
class RealChannels {
 public:
  RealChannels(const RealSource& source, std::int64_t taps) : source_(source), taps_(taps) {}
  void add(const std::string& name, std::int64_t rows, bool convolved = true);
  // The rows of maps [first, last) go through a function, behind the convolution; `word` none: they do not.
  void activate(const std::string& name, const std::string& word, std::size_t first, std::size_t last);
  void finish(bool bias = false);  // after the last add; `bias`: the convolution has one
  std::vector<Reals> all(const std::vector<Reals>& u) const;
  std::int64_t offset(std::size_t map) const { return offsets_[map]; }

 private:
  RealSource source_;
  std::vector<RealMap> maps_;
  Row offsets_;
  std::vector<double> weight_, bias_;
  std::int64_t taps_, channels_ = 0, convolved_ = 0, shift_ = 0;
  std::optional<RealFunction> function_;
  struct Activation {
    std::size_t first, last;  // maps
    RealFunction function;
  };
  std::vector<Activation> activations_;
};

// Numbers of name.epsilon and the like: what no norm can have is Malformed.
double real_epsilon(const RealSource& source, const std::string& name);

// From what a recurrence read to the layer's output: gate and norm of a released form, in its order.
class RealStage {
 public:
  // `gain` numbers of ynorm.gain repeat along the row; `group` are normalised together.
  RealStage(const Shape& shape, const RealSource& source, std::int64_t gain, std::int64_t group);
  bool gated() const { return gate_.has_value(); }
  // `z`: the gate's channels, or null.
  Reals operator()(Reals o, const Real* z) const;

 private:
  std::string norm_;
  std::optional<RealFunction> gate_;
  std::vector<double> gain_;
  std::int64_t group_, gated_shift_ = 0;
  double epsilon_ = 0;
};

}  // namespace rung_check
