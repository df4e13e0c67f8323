#include "rung/exact/tensor_source.h"

#include <fmt/ranges.h>

#include <cmath>

#include "rung/base/nearest_word.h"

namespace rung {

const Tensor* TensorSource::tensor(const std::string& name, const std::vector<std::int64_t>& shape) {
  const auto found = weights_->tensors.find(prefix_ + name);
  if (found == weights_->tensors.end()) {
    refuse(fail(ErrorCode::format, "[weights] tensor \"{}{}\" is missing; shape [{}] expected", prefix_, name,
                fmt::join(shape, ", ")));
    return nullptr;
  }
  log_->read.insert(found->first);
  if (found->second.shape != shape) {
    refuse(fail(ErrorCode::format, "[weights] tensor \"{}\" has shape [{}]; [{}] expected", found->first,
                fmt::join(found->second.shape, ", "), fmt::join(shape, ", ")));
    return nullptr;
  }
  if (integer() && !found->second.is_integer()) {
    refuse(fail(ErrorCode::format, "[weights] tensor \"{}\" has dtype {}; an integer model needs integers",
                found->first, dtype_name(found->second.dtype)));
    return nullptr;
  }
  return &found->second;
}

std::int64_t TensorSource::scalar(const std::string& name, std::int64_t fallback, std::int64_t low,
                                  std::int64_t high) {
  if (!has(name)) return fallback;
  const auto& stored = weights_->tensors.at(prefix_ + name);
  log_->read.insert(prefix_ + name);
  if (!stored.shape.empty() || !stored.is_integer()) {
    refuse(fail(ErrorCode::format, "[weights] \"{}{}\" must be a 0-d integer tensor", prefix_, name));
    return fallback;
  }
  const std::int64_t value = stored.integer(0);
  if (value < low || value > high) {
    refuse(fail(ErrorCode::range, "[weights] \"{}{}\" is {}; {} to {} expected", prefix_, name, value, low,
                high));
    return fallback;
  }
  return value;
}

double TensorSource::real_scalar(const std::string& name, double fallback) {
  if (!has(name)) return fallback;
  const auto& stored = weights_->tensors.at(prefix_ + name);
  log_->read.insert(prefix_ + name);
  if (!stored.shape.empty() || (integer() && stored.dtype != DType::f64)) {
    refuse(fail(ErrorCode::format, "[weights] \"{}{}\" must be a 0-d tensor{}", prefix_, name,
                integer() ? " of dtype F64" : ""));
    return fallback;
  }
  const double value = stored.real(0);
  if (!std::isfinite(value)) {
    refuse(fail(ErrorCode::range, "[weights] \"{}{}\" is not finite", prefix_, name));
    return fallback;
  }
  return value;
}

Width TensorSource::width(const std::string& name) {
  if (!has(name + ".bits")) return Width{bits(), false, site(name)};
  return Width{static_cast<int>(scalar(name + ".bits", bits(), 1, 48)), true, site(name)};
}

template <>
std::vector<std::int64_t> TensorSource::numbers(const std::string& name,
                                                const std::vector<std::int64_t>& shape) {
  const Tensor* stored = tensor(name, shape);
  if (!stored) return {};
  if (!stored->is_integer()) {
    refuse(fail(ErrorCode::format, "[weights] tensor \"{}{}\" is real; quantise the model first", prefix_,
                name));
    return {};
  }
  std::vector<std::int64_t> values(static_cast<std::size_t>(stored->size()));
  for (std::int64_t i = 0; i < stored->size(); ++i) {
    const std::int64_t value = stored->integer(i);
    if (value < -kMaxWeight || value > kMaxWeight) {
      refuse(fail(ErrorCode::range, "[weights] tensor \"{}{}\" holds {}; at most 2^46 in size expected",
                  prefix_, name, value));
      return {};
    }
    values[static_cast<std::size_t>(i)] = value;
  }
  return values;
}

template <>
std::vector<double> TensorSource::numbers(const std::string& name, const std::vector<std::int64_t>& shape) {
  const Tensor* stored = tensor(name, shape);
  if (!stored) return {};
  std::vector<double> values(static_cast<std::size_t>(stored->size()));
  for (std::int64_t i = 0; i < stored->size(); ++i) {
    const double value = stored->real(i);
    if (!std::isfinite(value)) {
      refuse(fail(ErrorCode::range, "[weights] tensor \"{}{}\" holds a number that is not finite", prefix_,
                  name));
      return {};
    }
    values[static_cast<std::size_t>(i)] = value;
  }
  return values;
}

template <class A>
LinearMap<A> TensorSource::map(const std::string& name, std::int64_t rows, std::int64_t cols) {
  return read_map<A>(name, rows, cols, shift(name + ".shift"), width(name));
}
template <class A>
LinearMap<A> TensorSource::sums(const std::string& name, std::int64_t rows, std::int64_t cols) {
  return read_map<A>(name, rows, cols, 0, Width{bits(), false, site(name)});
}
template <class A>
LinearMap<A> TensorSource::read_map(const std::string& name, std::int64_t rows, std::int64_t cols,
                                    int shift_by, Width bits_of) {
  using Value = typename A::Value;
  auto weight = numbers<Value>(name + ".weight", {rows, cols});
  std::vector<Value> bias;
  if (has(name + ".bias")) bias = numbers<Value>(name + ".bias", {rows});
  if (error()) return {};
  return LinearMap<A>(rows, cols, std::move(weight), std::move(bias), shift_by, bits_of);
}
template LinearMap<Exact64> TensorSource::map(const std::string&, std::int64_t, std::int64_t);
template LinearMap<Exact128> TensorSource::map(const std::string&, std::int64_t, std::int64_t);
template LinearMap<RealArithmetic> TensorSource::map(const std::string&, std::int64_t, std::int64_t);
template LinearMap<Exact64> TensorSource::sums(const std::string&, std::int64_t, std::int64_t);
template LinearMap<Exact128> TensorSource::sums(const std::string&, std::int64_t, std::int64_t);
template LinearMap<RealArithmetic> TensorSource::sums(const std::string&, std::int64_t, std::int64_t);

Table TensorSource::table(const std::string& name, const char* default_function) {
  constexpr std::int64_t kMaxTable = std::int64_t{1} << 24;
  Table result;
  if (const auto known = weights_->tables.find(prefix_ + name); known != weights_->tables.end()) {
    result.function = known->second;
    if (!known_function(known->second.function)) {
      refuse(fail(ErrorCode::unsupported, "[weights] table \"{}{}\" stands for {}, which rung does not know",
                  prefix_, name, rung::quoted(known->second.function)));
      result.function.reset();
    }
  }
  if (!integer()) {  // a real file has no tables: one that it holds belongs to nothing
    if (!result.function) result.function = TableFunction{default_function, 0, 0};
    result.values = {0};
    return result;
  }
  const auto found = weights_->tensors.find(prefix_ + name + ".table");
  if (found == weights_->tensors.end()) {
    refuse(fail(ErrorCode::format, "[weights] table \"{}{}.table\" is missing", prefix_, name));
    result.values = {0};
    return result;
  }
  log_->read.insert(found->first);
  if (found->second.shape.size() != 1 || found->second.shape[0] < 1 || found->second.shape[0] > kMaxTable ||
      !found->second.is_integer()) {
    refuse(fail(ErrorCode::format, "[weights] table \"{}\" must be 1-d, integer, of 1 to 2^24 entries",
                found->first));
    result.values = {0};
    return result;
  }
  result.low = scalar(name + ".low", 0, -(std::int64_t{1} << 47), std::int64_t{1} << 47);
  result.values.resize(static_cast<std::size_t>(found->second.shape[0]));
  for (std::size_t i = 0; i < result.values.size(); ++i) {
    result.values[i] = found->second.integer(static_cast<std::int64_t>(i));
    if (result.values[i] < -kMaxWeight || result.values[i] > kMaxWeight) {
      refuse(fail(ErrorCode::range, "[weights] table \"{}\" holds {}; at most 2^46 in size expected",
                  found->first, result.values[i]));
      break;
    }
  }
  return result;
}

std::optional<std::string> TensorSource::stray() const {
  for (const auto& [name, tensor] : weights_->tensors)
    if (!log_->read.count(name)) return name;
  return std::nullopt;
}

}  // namespace rung
