// A case of tests/cases/parity: the weights, inputs and outputs of a released layer, made by running its public
// reference (README.md there), and a small model in the layout of its library that holds those weights.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "rung/released/layer_import.h"

namespace rung::parity {

struct ReleasedCase {
  std::string name;  // of the file, without .json
  nlohmann::json content;

  std::int64_t tokens() const { return content["dims"]["T"]; }
  std::int64_t width() const { return content["dims"]["d_model"]; }
  // All numbers of an array, row-major.
  std::vector<double> numbers(const char* key) const;
  std::vector<double> state(const char* key) const;
};

void PrintTo(const ReleasedCase& one, std::ostream* out);

std::vector<ReleasedCase> released_cases();

// The case as layer `layer` of a model on disk: config.json and two shards.
struct ReleasedModelDirectory {
  std::filesystem::path path;
  TensorNaming from = TensorNaming::transformers;
  std::int64_t layer = 0;
};
// `change` sees the fields and all tensors before they are written.
using ChangeModel = std::function<void(nlohmann::json& config, std::map<std::string, Tensor>& tensors)>;
ReleasedModelDirectory write_model(const ReleasedCase& one, const std::filesystem::path& folder,
                                   const ChangeModel& change = {});

std::vector<double> flat(const nlohmann::json& array);

}  // namespace rung::parity
