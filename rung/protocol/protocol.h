// A model run as a communication protocol. Players own consecutive positions and compute from their own
// tokens and from what one counted channel brings (player.h, channel.h); a layer is an epoch.
//
//   auto transcript = run_protocol(weights, task, prompt, {});
//   transcript->equal_rows      // every row after every layer is the exact machine's, bit for bit
//   transcript->charged_bits == transcript->formula_bits
//
// Claim (Chen, Peng, Wu 2412.02975, with handed-over states for recurrent layers). In mode X the protocol's
// activations are the model's: full layers cost Σ_i senders_i tokens_i H (d p_num + p_den) bits, recurrent
// layers their state once per hand-over, sparse layers b_cmp bits a block. What a player knows depends on its
// own tokens and earlier ones alone. Determinism: a function of (weights, prompt, options).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rung/protocol/channel.h"
#include "rung/protocol/formula.h"
#include "rung/protocol/segments.h"
#include "rung/spec/weights.h"
#include "rung/tasks/task.h"

namespace rung {

inline constexpr int kMaxProtocolSumBits = 126;  // sums are Int128

struct ProtocolOptions {
  ProtocolForm form = ProtocolForm::automatic;
  std::optional<std::int64_t> cut;  // two-party: Bob's first position
  std::optional<int> sum_bits;      // --sum-bits: width of every num and den
  Channel::Tamper tamper = {};      // tests
};

struct Transcript {
  ProtocolForm form = ProtocolForm::two_party;  // never automatic
  std::vector<OwnedSegment> players;
  struct Epoch {
    std::string mixer;    // in the language, with its own sizes
    std::string letters;  // "F", "R", "RF", "(F∥R)", ""
    std::vector<FormulaTerm> terms;
    std::int64_t charged_bits = 0, formula_bits = 0;
    std::int64_t asked_bits = 0;  // queries and selections
    std::int64_t read_bits = 0;   // keys and values of selected tokens
    // Per player: charged and read bits that it has received up to the end of this epoch.
    std::vector<std::int64_t> received;
  };
  std::vector<Epoch> epochs;
  std::vector<Message> messages;  // by epoch
  std::int64_t charged_bits = 0, formula_bits = 0, asked_bits = 0, read_bits = 0;
  // Every message of the theorem's kinds has as many bits as its term of the formula says, term by term.
  bool counts_equal = false;

  struct Difference {
    std::int64_t layer = 0, position = 0, coordinate = 0, protocol = 0, machine = 0;
  };
  bool equal_rows = false;  // rows of all layers, and activations, logits and answers at the answer positions
  std::optional<Difference> first_difference;
  std::int64_t rows_compared = 0;
  std::vector<std::int64_t> answer, machine_answer,
      reference;  // at the answer positions; reference as the task says
  std::vector<std::string> notes;
};

inline constexpr std::int64_t kMaxProtocolNumbers = std::int64_t{1} << 26;  // of all rows after all layers

// Errors: real weights (rung quantise makes integer ones), encoders, prompts that are no instance, forms that
// do not fit, sums wider than options.sum_bits.
Result<Transcript> run_protocol(const Weights& weights, const Task& task, const Prompt& prompt,
                                const ProtocolOptions& options);

}  // namespace rung
