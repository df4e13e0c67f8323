// What a model file says of itself (docs/weights.md): its architecture, fields, output and decoding.
#pragma once

#include <map>
#include <optional>

#include "check/architecture.h"
#include "check/interval.h"
#include "check/safetensors.h"

namespace rung_check {

// One field of every position: `length` numbers, each in [low, low + size).
struct Field {
  std::string name;
  std::int64_t size = 0, length = 1, low = 0;
};
struct Prompt {
  std::int64_t positions = 0;
  std::vector<Row> fields;  // position after position, `length` numbers each
};

struct Output {
  std::string kind;  // logits, binary, threshold, vector
  std::int64_t size = 1, fraction = 0;
};

// What the metadata says.
struct ModelHeader {
  Architecture architecture;
  std::string mode, accumulator = "exact";
  std::vector<Field> fields;
  Output output;
  std::int64_t steps = 0;  // of the chain of thought; 0: none
  std::optional<std::int64_t> stop;
  std::map<std::string, RealFunction> functions;  // by the table that they stand for
};
ModelHeader read_header(const TensorFile& file);

}  // namespace rung_check
