// A model on disk: safetensors whose metadata say what the numbers mean (docs/weights.md is the format).
// The neck of the house: a construction writes it, the trainer writes it, the exact machine reads it, the
// adversary attacks it, and rung-check reads the same file with code of its own.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rung/spec/architecture.h"
#include "rung/spec/prompt.h"
#include "rung/spec/safetensors.h"

namespace rung {

enum class WeightMode {
  integer,  // mode X: every tensor integer, bit-reproducible
  real,     // mode T: trained floats; evaluated in mode Q only
};

struct OutputSpec {
  enum class Kind {
    logits,     // out.table [size, width]: argmax, ties to the smaller token
    binary,     // out.table [size, width] against out.threshold [size]: bit d is coordinate d > threshold d
    threshold,  // the same with size 1: yes or no
    vector,     // out.table [size, width]: `size` numbers meaning k * 2^-fraction
  };
  Kind kind = Kind::logits;
  std::int64_t size = 0;
  int fraction = 0;
  bool operator==(const OutputSpec&) const = default;
};

// Chain of thought: append the decoded token (the other fields 0) and go on, for `steps` tokens or until
// `stop`.
struct DecodeSpec {
  std::int64_t steps = 0;  // 0: no chain of thought, the answer is read from the prompt's query positions
  std::optional<std::int64_t> stop;
  bool operator==(const DecodeSpec&) const = default;
};

// The real function behind an integer table, so that mode Q can evaluate it: 2^out * f(x / 2^in).
struct TableFunction {
  std::string function;  // sigmoid softplus tanh silu gelu elu1 exp relu identity decay (= 1 - sigmoid)
  int in_fraction = 0, out_fraction = 0;
  bool operator==(const TableFunction&) const = default;
};

struct Weights {
  Architecture architecture;
  WeightMode mode = WeightMode::integer;
  // How recurrent states add up, in all layers (linear attention; gated recurrences saturate unless `wrap`).
  // The lines of the stack have no `acc`: separate_accumulator takes it out.
  Accumulator accumulator = Accumulator::exact;
  std::vector<FieldSpec> fields;
  OutputSpec output;
  DecodeSpec decode;
  std::string task;  // JSON text, {"name": "eva", "size": {"n": 64}} (rung/tasks/task_record.h); empty: none
  std::map<std::string, TableFunction> tables;  // by table name, e.g. "layers.0.beta"
  std::map<std::string, std::string>
      notes;  // every other metadata string, kept as it is (claim, reference, ...)
  std::map<std::string, Tensor> tensors;
};

// A mixer that says no form is plain in the first version; the second says every form.
inline constexpr std::string_view kWeightsFormat = "rung.weights/2", kFirstWeightsFormat = "rung.weights/1";
inline constexpr std::int64_t kMaxWeight = std::int64_t{1} << 46;  // integer weights lie in [-2^46, 2^46]

// ENSURES on success: metadata complete and consistent; tensor names and shapes are the exact machine's
// business.
Result<Weights> read_weights(const std::string& path);
Result<Weights> weights_from_tensors(TensorFile file, const std::string& where);
Result<void> write_weights(const std::string& path, const Weights& weights);
TensorFile tensors_from_weights(const Weights& weights);

std::string_view accumulator_name(Accumulator accumulator);
// Takes the option `acc` out of the layers' words, into weights.accumulator (kept where no layer has it).
// Errors: layers that disagree, for a file has one accumulator.
Result<void> separate_accumulator(Weights& weights);

}  // namespace rung
