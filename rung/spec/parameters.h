// The tensors of a network in the language, by name and shape: what a weights file holds and what
// `parameters` counts.
//
// Projections carry no bias, MLP matrices do. Layer I (0-based) has the prefix "layers.I."; the groups of
// heads(...) are "layers.I.part.J."; names and shapes are listed in docs/language.md. Tables, shifts and
// other numbers of the exact machine that are no weights are not here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rung/spec/architecture.h"

namespace rung {

struct ParameterTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  std::int64_t size() const;  // product; REQUIRES it to fit
};

// REQUIRES shapes from resolve(). Errors: opaque mixers have no tensors here; log-linear needs a fixed
// context.
Result<std::vector<ParameterTensor>> layer_tensors(const LayerShape& layer, std::size_t index, Norm norm);

// Embeddings, final norm, output table. Errors: a position table or binary code without a context.
Result<std::vector<ParameterTensor>> outer_tensors(const Dimensions& dimensions);

// Digits of the binary position code: ⌈lg context⌉, at least 1.
std::int64_t position_digits(std::int64_t context);

}  // namespace rung
