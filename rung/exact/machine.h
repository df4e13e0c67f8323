// The exact machine: what an architecture with weights means, bit for bit, on a prompt.
//
//   auto weights = read_weights("model.safetensors");
//   auto machine = Machine::load(*weights, {.positions = prompt.positions});
//   auto out = (*machine)->forward(prompt, {last});        // one Readout per wanted position
//   (*out)[0].answer                                       // decoded as the file's output says
//
// Mode X for integer weights; mode Q (quantised reals) when `quantised` names a format, and for real weights.
// A Machine is immutable and may be used from several threads.
//
// A layer: x' = sat(x + W_O mix(norm1(x))), x'' = sat(x' + mlp(norm2(x'))); after the last layer norm (when
// the architecture has norms) and the output map. Only what the wanted positions need is computed: the last
// layer's queries and MLP run at the wanted positions alone, and one layer over a million tokens is streamed.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rung/exact/value_observer.h"
#include "rung/spec/prompt.h"
#include "rung/spec/weights.h"

namespace rung {

struct Readout {
  std::int64_t position = 0;
  // Mode X fills the integers, mode Q the reals. `activation` is the residual row after the last layer (and
  // norm).
  std::vector<std::int64_t> activation, logits;
  std::vector<double> real_activation, real_logits;
  // Decoded: one token (logits, binary, threshold) or `size` numbers (vector; mode Q rounds to the nearest
  // integer).
  std::vector<std::int64_t> answer;
};

// The model token by token: key/value caches and recurrent states carried on.
class Session {
 public:
  virtual ~Session() = default;
  // Appends one position: `row` holds every field's numbers in field order. The readout is computed when
  // wanted.
  virtual Result<std::optional<Readout>> append(std::span<const std::int64_t> row, bool wanted) = 0;
  virtual std::int64_t positions() const = 0;
  // Everything that a later token can depend on, layer by layer; in mode Q the bits of the doubles that
  // hold it.
  virtual std::vector<std::vector<std::int64_t>> state() const = 0;
};

struct MachineOptions {
  std::int64_t positions = 0;          // the longest prompt (with its chain of thought) that will be run
  std::optional<Precision> quantised;  // mode Q with this format
  bool unrounded = false;              // mode Q in double, no rounding
  ValueObserver* observer = nullptr;   // mode Q: sees what is computed; outlives the machine
  bool force_wide = false;             // Int128 sums even where int64 would do (tests)
};

// Sees every layer's output rows, for reports and protocol checks: layer index, position, the residual row
// (mode X).
using LayerObserver =
    std::function<void(std::int64_t layer, std::int64_t position, std::span<const std::int64_t> row)>;

class ModelParts;  // model_parts.h

class Machine {
 public:
  virtual ~Machine() = default;

  // ENSURES: tensors complete, of the right shape and type, none left over; no sum can overflow at these
  // sizes.
  static Result<std::unique_ptr<Machine>> load(const Weights& weights, const MachineOptions& options);

  // REQUIRES wanted increasing, within the prompt. Errors: fields outside their domain, a prompt longer than
  // promised.
  virtual Result<std::vector<Readout>> forward(const Prompt& prompt, std::span<const std::int64_t> wanted,
                                               const LayerObserver& observer = {}) const = 0;
  // Many last positions on one prefix: readout i is that of the last position of `prefix` followed by rows[i]
  // (every field's numbers, in field order). The same numbers as one forward() a row; the prefix is computed
  // once. Errors: as forward(); encoders, whose earlier positions see the last one.
  virtual Result<std::vector<Readout>> forward_variants(
      const Prompt& prefix, std::span<const std::vector<std::int64_t>> rows) const = 0;
  // Errors: encoders have no steps.
  virtual Result<std::unique_ptr<Session>> start() const = 0;
  // Chain of thought: the generated tokens, as DecodeSpec says. REQUIRES decode.steps >= 1.
  virtual Result<std::vector<std::int64_t>> generate(const Prompt& prompt) const = 0;

  // The machine taken apart; null in mode Q. Lives as long as the machine.
  virtual const ModelParts* parts() const = 0;

  virtual bool exact() const = 0;                   // mode X
  virtual std::string_view arithmetic() const = 0;  // "int64", "int128" or "real"
};

// The row of one position, fields side by side.
std::vector<std::int64_t> prompt_row(const Prompt& prompt, const std::vector<FieldSpec>& fields,
                                     std::int64_t position);

}  // namespace rung
