// Named tensors under a prefix, read with a sticky error: the first thing that is missing, of the wrong shape
// or out of range is kept, later reads return empty values, and the caller asks once at the end. Also
// remembers which tensors were read, so that a stray one is an error and not a silent no-op.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "rung/exact/linear_map.h"
#include "rung/spec/weights.h"

namespace rung {

class TensorSource {
 public:
  // The observer, if any, is told of every width that is asked for.
  explicit TensorSource(const Weights& weights, ValueObserver* observer = nullptr)
      : weights_(&weights), observer_(observer), log_(std::make_shared<Log>()) {}

  // The source one level down: under("layers.0").
  TensorSource under(const std::string& name) const {
    TensorSource child = *this;
    child.prefix_ = prefix_ + name + ".";
    return child;
  }

  bool has(const std::string& name) const { return weights_->tensors.count(prefix_ + name) != 0; }
  const Tensor* tensor(const std::string& name, const std::vector<std::int64_t>& shape);

  // A whole number stored as a 0-d tensor; `fallback` when absent.
  std::int64_t scalar(const std::string& name, std::int64_t fallback, std::int64_t low, std::int64_t high);
  double real_scalar(const std::string& name, double fallback);
  int shift(const std::string& name) { return static_cast<int>(scalar(name, 0, -40, 100)); }
  Width width(const std::string& name);  // `name` + ".bits"
  // The observer's number for what is stored under this name; -1 without one.
  int site(const std::string& name) const { return observer_ ? observer_->site(prefix_ + name) : -1; }

  template <class Value>
  std::vector<Value> numbers(const std::string& name, const std::vector<std::int64_t>& shape);
  // name.weight [rows, cols], name.bias [rows] optional, name.shift, name.bits.
  template <class A>
  LinearMap<A> map(const std::string& name, std::int64_t rows, std::int64_t cols);
  // name.weight and name.bias alone, where only the sums are used.
  template <class A>
  LinearMap<A> sums(const std::string& name, std::int64_t rows, std::int64_t cols);
  // name.table [len] from name.low on; in a real file the function alone, from the metadata.
  Table table(const std::string& name, const char* default_function);
  bool has_table(const std::string& name) const {
    return integer() ? has(name + ".table") : weights_->tables.count(prefix_ + name) != 0;
  }

  int bits() const { return weights_->architecture.dimensions.precision.bits; }
  bool integer() const { return weights_->mode == WeightMode::integer; }
  const Weights& weights() const { return *weights_; }
  const std::string& prefix() const { return prefix_; }

  void refuse(Error error) {
    if (!log_->error) log_->error = std::move(error);
  }
  const std::optional<Error>& error() const { return log_->error; }
  // The first tensor that nothing has read, if any.
  std::optional<std::string> stray() const;

 private:
  template <class A>
  LinearMap<A> read_map(const std::string& name, std::int64_t rows, std::int64_t cols, int shift_by,
                        Width bits_of);
  struct Log {
    std::optional<Error> error;
    std::set<std::string> read;
  };
  const Weights* weights_;
  ValueObserver* observer_;
  std::string prefix_;
  std::shared_ptr<Log> log_;
};

template <>
std::vector<std::int64_t> TensorSource::numbers(const std::string& name,
                                                const std::vector<std::int64_t>& shape);
template <>
std::vector<double> TensorSource::numbers(const std::string& name, const std::vector<std::int64_t>& shape);

}  // namespace rung
