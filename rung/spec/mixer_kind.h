// The kinds of mixers and what they choose between, without anything else: device code reads them too.
#pragma once

namespace rung {

// The words of the language, one enumerator each; mixers.h describes them.
enum class MixerKind {
  full,    // softmax attention; with window=w or chunk=c a bounded one, which counts as recurrent
  linear,  // linear attention with a feature map
  rnn,     // Elman
  gru,
  mamba,   // selective state space, per channel
  mamba2,  // SSD
  delta,
  gdelta,
  gla,         // gated linear attention: a decay per key channel (real form only)
  kda,         // Kimi delta attention: the delta rule with a decay per key channel (real form only)
  rwkv7,       // RWKV-7 time mixing (real form only)
  loglinear,   // over linear, mamba2 or gdelta
  sparse,      // block compression + selection (+ window)
  topk,        // token-level learned selection
  heads,       // head-wise mixture: parts side by side in one layer
  conv,        // causal depthwise convolution
  identity,    // y_t = v_t: the projections and the MLP stay, no token sees another
  none,        // MLP only
  recurrent,   // opaque: a released recurrence, counted and bounded, not evaluated
  compressed,  // opaque: a released compressed-block attention, counted, not evaluated
};

enum class FeatureMap { identity, relu, elu1, exp, taylor2 };
// How linear attention keeps its sums: as wide as they grow, or in entries of a fixed width.
enum class Accumulator { exact, wrap, round };

}  // namespace rung
