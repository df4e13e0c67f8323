// How a released layer differs from the plain form of the theory (docs/parity.md): what stands around a recurrence
// or an attention, as data. Every member is plain unless said otherwise.
#pragma once

#include <cstdint>

namespace rung {

enum class Activation { none, silu, relu, elu1, sigmoid };
enum class KeyNorm { none, l2, sum, unit };  // of q and k: x/√(Σx²+1e-6), x/Σx, x/max(‖x‖, 1e-12)
enum class OutputNorm {
  none,
  before,
  after
};                                        // where the norm of the output stands: before or after its gate
enum class Skip { none, head, channel };  // D x added to the output, one D a head or a channel
enum class InnerNorms {
  none,
  after,
  before
};  // of B, C and the time step, after or before its map (FalconMamba)
enum class Compression { map, mean, pool, weighted, linear };  // of a block's keys and values
enum class Rope { none, half, interleaved };                   // which entries of a head turn together

struct MixerForm {
  bool conv_bias = false;
  Activation act = Activation::none;      // of v (x, b, c), after the short convolution
  Activation key_act = Activation::none;  // of q and k
  KeyNorm key_norm = KeyNorm::none;
  bool scaled = false;     // q is divided by √dim
  bool beta = true;        // false: the write strength is 1
  bool step = false;       // decay exp(-e^A softplus(.)); mamba2: the step also weighs what is written
  bool bounded = false;    // kda: decay exp(bound σ(e^A (.)))
  Skip skip = Skip::none;  // mamba2
  Activation gate = Activation::none;  // of the output
  OutputNorm norm = OutputNorm::none;  // root mean square of the output
  std::int64_t norm_groups = 1;        // mamba2: parts that are normalised apart
  bool strong = false;                 // loglinear: the strong partition
  bool select_conv = false;            // mamba: the time step, B and C come from the convolved x
  InnerNorms inner_norms = InnerNorms::none;
  // Bottlenecks of low-rank maps; 0: one full map. rank: the decay's; kda: of the output gate too.
  std::int64_t rank = 0, rank_a = 0, rank_g = 0, rank_v = 0;
  bool first_values = false;  // rwkv7: mixes its values with those of the stack's first layer
  Rope rope = Rope::none, index_rope = Rope::none;
  std::int64_t rope_dim = 0, theta = 0;  // entries of a head that turn; base of the angles
  Compression compress = Compression::map;
  std::int64_t span = 0, stride = 0;  // compressed windows: tokens, and tokens between two beginnings
  std::int64_t first_blocks = 0, local_blocks = 0;  // blocks that are selected before all others
  std::int64_t q_rank = 0, kv_rank = 0;  // topk: latents of queries, and of keys and values; 0: none
  bool index_norm = false;               // topk: layer norm of index keys
  bool operator==(const MixerForm&) const = default;

  // What the theory speaks about and proofs write down.
  bool plain() const { return *this == MixerForm{}; }
};

}  // namespace rung
