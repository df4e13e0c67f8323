// What an import reads and writes: the fields of config.json and the tensors of one layer, with a sticky error as
// TensorSource has it. A mapping takes every tensor that its layer has and asks for nothing by guess; the caller asks
// once at the end whether something was missing or nobody took it.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "rung/released/tensor_rows.h"
#include "rung/spec/weights.h"

namespace rung {

class LayerTensors {
 public:
  // `tensors` of the directory; those of the layer begin with `prefix`. REQUIRES both to outlive this.
  LayerTensors(const nlohmann::json& config, const std::map<std::string, Tensor>& tensors, std::string prefix,
               std::int64_t layer, Weights& weights)
      : config_(config), tensors_(tensors), prefix_(std::move(prefix)), layer_(layer), weights_(weights) {}

  // Fields. `absent`: what the class takes; without it the field must be there.
  std::int64_t size(const char* name, std::optional<std::int64_t> absent = std::nullopt);
  double number(const char* name, double absent);  // at least 0
  bool flag(const char* name, bool absent);
  std::string word(const char* name, const std::string& absent);
  // The field is absent, null or has this value; another would be another layer.
  void expect(const char* name, const nlohmann::json& value);
  bool has_field(const char* name) const;
  // The same fields inside an object of the file.
  const nlohmann::json& config() const { return config_; }

  // Tensors, without the prefix. take() refuses another shape; an extent of -1 is any.
  bool has(const std::string& name) const { return tensors_.count(prefix_ + name) != 0; }
  Tensor take(const std::string& name, const std::vector<std::int64_t>& shape);
  std::int64_t rows(const std::string& name);  // the first extent
  // A tensor of the model, by its whole name; nullptr when absent. It is not a tensor of the layer.
  const Tensor* model(const std::string& name) const;

  void put(const std::string& name, Tensor tensor) {
    weights_.tensors["layers.0." + name] = std::move(tensor);
  }
  void put_real(const std::string& name, double value) {
    put(name, real_tensor({}, std::span(&value, 1), DType::f64));
  }
  // NAME.weight and, where the layer has one, NAME.bias, as TO.weight and TO.bias.
  void move(const std::string& name, const std::string& to, std::int64_t rows, std::int64_t columns);
  Weights& weights() { return weights_; }

  void refuse(Error error) {
    if (!error_) error_ = std::move(error);
  }
  const std::optional<Error>& error() const { return error_; }
  const std::string& prefix() const { return prefix_; }
  std::int64_t layer() const { return layer_; }
  // Tensors under the prefix that nothing has taken.
  std::vector<std::string> left() const;

 private:
  const nlohmann::json* find(const char* name) const;
  const nlohmann::json& config_;
  const std::map<std::string, Tensor>& tensors_;
  std::string prefix_;
  std::int64_t layer_;
  Weights& weights_;
  std::set<std::string> taken_;
  std::optional<Error> error_;
};

// One family: writes the mixer's tensors and returns its line.
using MapLayer = std::string (*)(LayerTensors& in);

// Where a family keeps what stands around its layers; "{}" is the layer's number.
struct ImportFamily {
  std::string_view model_type;
  bool fla = false;              // the collection
  std::string_view mixer, norm;  // prefix of the mixer's tensors; name of the norm before it
  std::string_view embedding, final_norm;
  MapLayer map;
  std::string_view epsilon = "norm_eps";  // the field of the norms' epsilon, with its class default
  double epsilon_default = 1e-6;
  bool gain_plus_one = false;  // the norm multiplies by 1 + weight
};
std::vector<ImportFamily> recurrent_imports();  // import_recurrences.cc
std::vector<ImportFamily> attention_imports();  // import_attention.cc

}  // namespace rung
