// Released models: a Hugging Face config.json read as an Architecture.
//
// Every field comes from the file, or from the class default that a shipped file omits because it is equal;
// the layer list is never guessed. A `.partial` file (a quotation of some fields) gets class defaults only on
// request. Families and their rules are in docs/released.md; a family is one function in *_families.cc and
// one line in families().
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rung/spec/accounting.h"
#include "rung/spec/architecture.h"

namespace rung {

struct ConfigOptions {
  bool partial = false;          // the text quotes only some fields of the real file
  bool assume_defaults = false;  // fill what a partial file leaves out with class defaults
};

// Where the width of a stored number comes from.
struct StorageOrigin {
  std::string text;      // "the model's type bfloat16"
  bool assumed = false;  // a convention, which every verdict that counts with it must name
};

struct ReleasedModel {
  std::string model_type;     // after unwrapping text_config
  Architecture architecture;  // every size stands in the mixers' own options
  StorageBits bits;           // what the file declares, or the convention that a note states
  std::optional<std::int64_t> parameters,
      layer_parameters;  // dense families whose tensors the fields determine
  std::vector<std::string>
      unknown;  // dimensions that the file does not give: "width", "heads", "vocabulary", "context"
  std::vector<std::string> notes;  // class defaults and class code that the layers rest on
  // Where `bits` come from; a caller that changes one of them changes its origin too. Empty: nothing to say.
  StorageOrigin state_origin, conv_origin, cache_origin;

  // What is taken for granted about how numbers are stored, one sentence each.
  std::vector<std::string> storage_assumptions() const;
  std::string storage_note() const;  // one sentence on what is stored how; empty: nothing to say
};

// ENSURES: a stack of at most kMaxLayers layers that resolves; errors are one line, "[config] <model_type>:
// ...".
Result<ReleasedModel> read_config(std::string_view json, const ConfigOptions& options);

// The same for a file; `*.partial.json` is partial. Only options.assume_defaults is read.
Result<ReleasedModel> read_config_file(const std::string& path, const ConfigOptions& options);

// account() with what the reader knows: parameters of the real tensors (absent with the reason, never those
// of the language's own tensors), and the notes. `bits` are the ones to count with; REQUIRES layers ==
// resolve(architecture).
Account account_released(const ReleasedModel& model, const std::vector<LayerShape>& layers,
                         const StorageBits& bits);

// The model types that can be read, sorted.
std::vector<std::string_view> known_model_types();

}  // namespace rung
