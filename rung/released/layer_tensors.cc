#include "rung/released/layer_tensors.h"

#include <fmt/ranges.h>

#include <cmath>

#include "rung/base/nearest_word.h"

namespace rung {

const nlohmann::json* LayerTensors::find(const char* name) const {
  const auto found = config_.find(name);
  return found == config_.end() || found->is_null() ? nullptr : &*found;
}

bool LayerTensors::has_field(const char* name) const { return find(name) != nullptr; }

std::int64_t LayerTensors::size(const char* name, std::optional<std::int64_t> absent) {
  const auto* value = find(name);
  if (!value && absent) return *absent;
  if (!value)
    refuse(fail(ErrorCode::missing, "[import] config.json has no \"{}\"", name));
  else if (!value->is_number_integer() || value->get<std::int64_t>() < 1 ||
           value->get<std::int64_t>() > kMaxSize)
    refuse(fail(ErrorCode::range, "[import] config.json: \"{}\" is {}; a whole number in 1..2^31 expected",
                name, rung::quoted(value->dump())));
  else
    return value->get<std::int64_t>();
  return 1;
}

double LayerTensors::number(const char* name, double absent) {
  const auto* value = find(name);
  if (!value) return absent;
  if (value->is_number())
    if (const auto number = value->get<double>(); number >= 0 && std::isfinite(number)) return number;
  refuse(fail(ErrorCode::range, "[import] config.json: \"{}\" is {}; a number of at least 0 expected", name,
              rung::quoted(value->dump())));
  return absent;
}

bool LayerTensors::flag(const char* name, bool absent) {
  const auto* value = find(name);
  if (!value) return absent;
  if (value->is_boolean()) return value->get<bool>();
  refuse(fail(ErrorCode::range, "[import] config.json: \"{}\" is {}; true or false expected", name,
              rung::quoted(value->dump())));
  return absent;
}

std::string LayerTensors::word(const char* name, const std::string& absent) {
  const auto* value = find(name);
  if (!value) return absent;
  if (value->is_string()) return value->get<std::string>();
  refuse(fail(ErrorCode::range, "[import] config.json: \"{}\" is {}; a text expected", name,
              rung::quoted(value->dump())));
  return absent;
}

void LayerTensors::expect(const char* name, const nlohmann::json& value) {
  const auto* found = find(name);
  if (found && *found != value)
    refuse(fail(ErrorCode::unsupported, "[import] config.json: \"{}\" is {}; only {} can be mapped", name,
                rung::quoted(found->dump()), value.dump()));
}

const Tensor* LayerTensors::model(const std::string& name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second;
}

std::int64_t LayerTensors::rows(const std::string& name) {
  const auto found = tensors_.find(prefix_ + name);
  if (found != tensors_.end() && !found->second.shape.empty() && found->second.shape[0] > 0)
    return found->second.shape[0];
  refuse(fail(ErrorCode::missing, "[import] tensor \"{}{}\" is missing", prefix_, name));
  return 1;
}

Tensor LayerTensors::take(const std::string& name, const std::vector<std::int64_t>& shape) {
  const auto empty = [&] {
    std::vector<std::int64_t> some = shape;
    std::int64_t count = 1;
    for (auto& extent : some) count *= extent = std::clamp<std::int64_t>(extent, 1, 1);
    const std::vector<double> none(static_cast<std::size_t>(count));
    return real_tensor(some, none, DType::f64);
  };
  const auto found = tensors_.find(prefix_ + name);
  if (found == tensors_.end()) {
    refuse(fail(ErrorCode::missing, "[import] tensor \"{}{}\" is missing; shape [{}] expected", prefix_, name,
                fmt::join(shape, ", ")));
    return empty();
  }
  taken_.insert(found->first);
  const Tensor& tensor = found->second;
  bool same = tensor.shape.size() == shape.size();
  for (std::size_t i = 0; same && i < shape.size(); ++i) same = shape[i] < 0 || shape[i] == tensor.shape[i];
  if (!same || tensor.is_integer()) {
    refuse(fail(ErrorCode::format, "[import] tensor \"{}\" is {} [{}]; floats [{}] expected", found->first,
                dtype_name(tensor.dtype), fmt::join(tensor.shape, ", "), fmt::join(shape, ", ")));
    return empty();
  }
  return tensor;
}

void LayerTensors::move(const std::string& name, const std::string& to, std::int64_t rows,
                        std::int64_t columns) {
  put(to + ".weight", take(name + ".weight", {rows, columns}));
  if (has(name + ".bias")) put(to + ".bias", take(name + ".bias", {rows}));
}

std::vector<std::string> LayerTensors::left() const {
  std::vector<std::string> out;
  for (auto at = tensors_.lower_bound(prefix_); at != tensors_.end() && at->first.starts_with(prefix_); ++at)
    if (!taken_.count(at->first)) out.push_back(at->first);
  return out;
}

}  // namespace rung
