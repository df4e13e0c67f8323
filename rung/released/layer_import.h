// A layer of a released model as a weights file: the tensors of its norm and its mixer under the names of
// docs/weights.md, bit for bit in meaning (docs/parity.md). The MLP is left out.
//
//   RUNG_TRY(const ImportedLayer layer, import_layer({.directory = "DIR", .from = TensorNaming::fla, .layer = 3}));
//   RUNG_CHECK(write_weights("layer3.safetensors", layer.weights));
//
// Shards are mapped, not read: what is copied is the layer itself, where its rows must be cut or reordered. A family,
// a field or a tensor that has no place here is refused by name.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rung/spec/weights.h"

namespace rung {

enum class TensorNaming { transformers, fla };  // whose tensor names a directory uses

struct LayerImport {
  std::string directory;  // with config.json and *.safetensors
  TensorNaming from = TensorNaming::transformers;
  std::int64_t layer = 0;              // from 0
  std::optional<std::int64_t> tokens;  // only the first of the vocabulary; all of it unless given
};

struct ImportedLayer {
  Weights weights;                    // mode real, one layer
  std::string prefix;                 // of the mixer's tensors in the directory
  std::vector<std::string> left_out;  // tensors of the layer that are not in the file (the MLP), sorted
  std::vector<std::string> notes;     // one sentence each
};

// Errors: "[import] DIR: ..."; an unknown model_type, a layer that there is not, a field that changes the meaning
// of a layer and is not known here, a tensor of the mixer that is missing, of another shape, or mapped to nothing.
Result<ImportedLayer> import_layer(const LayerImport& wanted);

// The model types whose layers can be imported, sorted.
std::vector<std::string> importable_types(TensorNaming from);

}  // namespace rung
