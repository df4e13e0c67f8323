// The exact machine taken apart, for those who run it position by position in an order of their own: the
// players of a protocol. Mode X only. forward() is the composition of these parts:
//
//   embed; for every layer: input(), the mixers side by side, finish(); read()
//
// Immutable; may be used from several threads.
#pragma once

#include <cstdint>
#include <vector>

#include "rung/exact/machine.h"
#include "rung/exact/mixer.h"

namespace rung {

class ModelParts {
 public:
  virtual ~ModelParts() = default;
  virtual std::int64_t layers() const = 0;
  virtual std::int64_t width() const = 0;  // numbers of a residual row
  virtual Result<void> check(const Prompt& prompt) const = 0;
  // The residual row of a position; `row` as prompt_row() gives it. REQUIRES a checked prompt.
  virtual void embed(const std::int64_t* row, std::int64_t position, std::int64_t* x) const = 0;
  // The layer's mixers: one, several for heads(...), none for `none`.
  virtual std::vector<const ExactMixer*> mixers(std::int64_t layer) const = 0;
  // What the mixers read at a position whose residual row is x.
  virtual void input(std::int64_t layer, const std::int64_t* x, std::int64_t* u) const = 0;
  // x ← the layer's output row; `mixed` holds the mixers' outputs side by side.
  virtual void finish(std::int64_t layer, const std::int64_t* mixed, std::int64_t* x) const = 0;
  virtual Readout read(std::int64_t position, const std::int64_t* x) const = 0;
};

}  // namespace rung
