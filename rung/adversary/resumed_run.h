// A prompt computed once up to some position and continued many times: searches whose prompts share their
// beginning pay for what differs only.
//
//   auto run = ResumedRun::make(*target.machine, base, 1000);
//   run->last(prompt)            // prompt agrees with base before position 1000; what forward() reads at its
//   last position
//
// Invariant: the numbers are those of Machine::forward and Session::state, bit for bit (tested for every
// mixer).
#pragma once

#include <memory>
#include <optional>

#include "rung/exact/machine.h"
#include "rung/exact/model_parts.h"
#include "rung/exact/split_mixer.h"

namespace rung {

class ResumedRun {
 public:
  // Nothing where a layer selects among earlier tokens or sees later ones. The machine outlives the run.
  // REQUIRES mode X, a valid prompt, shared <= base.positions.
  static std::optional<ResumedRun> make(const Machine& machine, const std::vector<FieldSpec>& fields,
                                        const Prompt& base, std::int64_t shared);

  // REQUIRES a valid prompt that agrees with the base at every position before `shared`. Callable from
  // several threads.
  Readout last(const Prompt& prompt) const;
  // What every layer carries after `positions` > shared positions, layer by layer, as Session::state(); full
  // layers carry nothing here.
  std::vector<std::vector<std::int64_t>> states(const Prompt& prompt, std::int64_t positions) const;

 private:
  struct Continuation;
  ResumedRun(const Machine& machine, std::vector<FieldSpec> fields)
      : parts_(machine.parts()), fields_(std::move(fields)) {}
  Continuation begin() const;
  // The residual row of position t after the last layer.
  void step(Continuation& run, const Prompt& prompt, std::int64_t t, std::vector<std::int64_t>& x) const;

  struct SharedMixer {
    const ExactMixer* mixer = nullptr;
    std::vector<std::int64_t> state;           // numbers of a bounded state, or
    std::shared_ptr<AttentionSegment> tokens;  // the shared tokens of a full layer
  };
  const ModelParts* parts_;
  std::vector<FieldSpec> fields_;
  std::int64_t shared_ = 0;
  std::vector<std::vector<SharedMixer>> layers_;
};

}  // namespace rung
