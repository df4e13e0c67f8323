// The descriptors: a mixer is its enumerator and its case here.
#include "rung/spec/mixers.h"

#include <algorithm>

#include "rung/base/require.h"
#include "rung/spec/mixer_options.h"

namespace rung {
namespace {

using X = Extent;
using Tensors = std::vector<MixerTensor>;

Tensors attention_tensors(Tensors more = {}) {
  Tensors all{{.name = "q", .rows = {X::heads, X::key_dim}, .convolved = true},
              {.name = "k", .rows = {X::kv_heads, X::key_dim}, .convolved = true},
              {.name = "v", .rows = {X::kv_heads, X::value_dim}, .convolved = true}};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}
Tensors delta_tensors(Tensors more = {}) {
  Tensors all{{.name = "q", .rows = {X::kv_heads, X::key_dim}, .convolved = true},
              {.name = "k", .rows = {X::steps, X::kv_heads, X::key_dim}, .convolved = true},
              {.name = "v", .rows = {X::steps, X::heads, X::value_dim}, .convolved = true},
              {.name = "beta", .rows = {X::steps, X::heads}}};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}
const auto kMatrixState = [] { return StateParts{{{X::heads, X::value_dim, X::key_dim}}}; };
const auto kHeadValues = [] { return Extents{X::heads, X::value_dim}; };

// Nothing for a value that is no enumerator: the list below ends there.
std::optional<MixerDescriptor> describe(MixerKind kind) {
  using namespace mixer_options;
  switch (kind) {
    case MixerKind::full:
      return MixerDescriptor{
          .kind = kind,
          .name = "full",
          .help = "softmax attention; with window or chunk a bounded one, which counts as recurrent",
          .options = {size_option(Sets::window, "window",
                                  "a token sees itself and the window-1 tokens before it"),
                      size_option(Sets::chunk, "chunk",
                                  "a token sees the tokens of its own block of this many, up to itself"),
                      kHeads(), kKvHeads(), kDim(), kVdim(), kConv(), kCache(),
                      choice_option(
                          Sets::key_source, "keys",
                          "whose keys and values it reads: its own, or those that an earlier layer caches "
                          "(counted and bounded, not evaluated)",
                          {"own", "earlier"}),
                      kPlainForm(), kRope(), kTheta(), kRopeDim()},
          .tensors = attention_tensors(),
          .state = StateParts{},
          .output = kHeadValues(),
          .letter = Letter::full,
          .memory = Memory::past,
          .cache = Cache::tokens,
          .decay = Decay::none,
          .update = Update::none,
          .encoder = true};
    case MixerKind::linear:
      return MixerDescriptor{
          .kind = kind,
          .name = "linear",
          .help = "linear attention",
          .options = {choice_option(Sets::feature, "feature", "feature map of q and k",
                                    {"elu1", "identity", "relu", "exp", "taylor2"}),
                      choice_option(Sets::normalised, "normalised", "divide by the sum of weights",
                                    {"yes", "no"}),
                      kAcc(), kHeads(), kDim(), kVdim(), kConv()},
          .tensors = Tensors{{.name = "q", .rows = {X::heads, X::key_dim}, .convolved = true},
                             {.name = "k", .rows = {X::heads, X::key_dim}, .convolved = true},
                             {.name = "v", .rows = {X::heads, X::value_dim}, .convolved = true}},
          .state = StateParts{{{X::heads, X::feature_dim, X::value_dim}, StatePart::Holds::sums},
                              {{X::heads, X::feature_dim}, StatePart::Holds::counts}},
          .output = kHeadValues(),
          .letter = Letter::recurrent,
          .memory = Memory::fixed,
          .cache = Cache::none,
          .decay = Decay::none,
          .update = Update::entrywise,
          .encoder = true};
    case MixerKind::rnn:
      return MixerDescriptor{
          .kind = kind,
          .name = "rnn",
          .help = "Elman network",
          .options = {choice_option(Sets::cell, "cell", "non-linearity", {"tanh", "relu"}), kHidden()},
          .tensors = Tensors{{.name = "x", .rows = {X::inner}},
                             {.name = "h", .rows = {X::inner}, .columns = {X::inner}}},
          .state = StateParts{{{X::inner}}},
          .output = Extents{X::inner},
          .letter = Letter::recurrent,
          .memory = Memory::fixed,
          .cache = Cache::none,
          .decay = Decay::none,
          .update = Update::coupled,
          .encoder = false};
    case MixerKind::gru:
      return MixerDescriptor{.kind = kind,
                             .name = "gru",
                             .help = "gated recurrent unit",
                             .options = {kHidden()},
                             .tensors = Tensors{{.name = "xz", .rows = {X::inner}},
                                                {.name = "hz", .rows = {X::inner}, .columns = {X::inner}},
                                                {.name = "xr", .rows = {X::inner}},
                                                {.name = "hr", .rows = {X::inner}, .columns = {X::inner}},
                                                {.name = "xn", .rows = {X::inner}},
                                                {.name = "hn", .rows = {X::inner}, .columns = {X::inner}}},
                             .state = StateParts{{{X::inner}}},
                             .output = Extents{X::inner},
                             .letter = Letter::recurrent,
                             .memory = Memory::fixed,
                             .cache = Cache::none,
                             .decay = Decay::none,
                             .update = Update::coupled,
                             .encoder = false};
    case MixerKind::mamba:
      return MixerDescriptor{
          .kind = kind,
          .name = "mamba",
          .help = "selective state space, one recurrence per channel",
          .options = {size_option(Sets::inner, "inner", "channels (default: width)"),
                      size_option(Sets::state, "state", "state size N (default: the model's)"), kConv(),
                      kForm(), kConvBias("yes"), kAct(), kGate("silu"),
                      form_option(
                          "select",
                          "what the time step, B and C are made from: the layer's input, or the convolved x",
                          {"input", "conv"}, "conv"),
                      form_size("rank",
                                "bottleneck of the time step's map (default: width / 16; form=plain: none)"),
                      form_option("norms",
                                  "root mean square norms of B, C and the time step, after or before its map",
                                  {"none", "after", "before"})},
          .tensors = Tensors{{.name = "x", .rows = {X::inner}, .convolved = true},
                             {.name = "b", .rows = {X::state}},
                             {.name = "c", .rows = {X::state}},
                             {.name = "delta", .rows = {X::inner}},
                             {.name = "a", .rows = {X::inner}, .columns = {X::state}},
                             {.name = "skip", .rows = {X::inner}, .columns = {}}},
          .state = StateParts{{{X::inner, X::state}}},
          .output = Extents{X::inner},
          .letter = Letter::recurrent,
          .memory = Memory::fixed,
          .cache = Cache::none,
          .decay = Decay::table,
          .decay_table = "decay",
          .update = Update::entrywise,
          .encoder = false};
    case MixerKind::mamba2:
      return MixerDescriptor{
          .kind = kind,
          .name = "mamba2",
          .help = "SSD: scalar decay per head",
          .options =
              {kHeads(),
               size_option(
                   Sets::only_dim, "dim",
                   "channels of a head (default: the model's value or head dimension, or width / heads)"),
               size_option(Sets::state_rows, "state", "state size N (default: the model's)"), kGroups(),
               kConv(), kForm(), kConvBias("yes"), kAct(),
               kStepDecay("a decay of its own, or a step that sets decay and write strength"), kSkip(),
               kGate("silu"), kOutputNorm("after"), kNormGroups()},
          .tensors = Tensors{{.name = "x", .rows = {X::heads, X::value_dim}, .convolved = true},
                             {.name = "b", .rows = {X::kv_heads, X::key_dim}, .convolved = true},
                             {.name = "c", .rows = {X::kv_heads, X::key_dim}, .convolved = true},
                             {.name = "gate", .rows = {X::heads}}},
          .state = kMatrixState(),
          .output = kHeadValues(),
          .letter = Letter::recurrent,
          .memory = Memory::fixed,
          .cache = Cache::none,
          .decay = Decay::table,
          .decay_table = "gate",
          .update = Update::entrywise,
          .encoder = false};
    case MixerKind::delta:
      return MixerDescriptor{
          .kind = kind,
          .name = "delta",
          .help = "delta rule",
          .options = {kHeads(), kKeyHeads(), kDim(), kVdim(), kConv(), kRange(), kSteps(), kForm(),
                      kConvBias("no"), kAct(), kKeyAct(), kKeyNorm(), kScale(),
                      form_option("beta", "whether the write strength is learned, or 1", {"yes", "no"}),
                      kGate("none"), kOutputNorm("before")},
          .tensors = delta_tensors(),
          .state = kMatrixState(),
          .output = kHeadValues(),
          .letter = Letter::recurrent,
          .memory = Memory::fixed,
          .cache = Cache::none,
          .decay = Decay::none,
          .update = Update::coupled,
          .encoder = false};
    case MixerKind::gdelta:
      return MixerDescriptor{
          .kind = kind,
          .name = "gdelta",
          .help = "gated delta rule",
          .options = {kHeads(), kKeyHeads(), kDim(), kVdim(), kConv(), kRange(), kSteps(), kForm(),
                      kConvBias("no"), kAct(), kKeyAct(), kKeyNorm(), kScale(),
                      kStepDecay("of a gate alone, or exp(-e^A softplus) with a rate per head"),
                      kGate("silu"), kOutputNorm("before")},
          .tensors = delta_tensors({{.name = "gate", .rows = {X::heads}}}),
          .state = kMatrixState(),
          .output = kHeadValues(),
          .letter = Letter::recurrent,
          .memory = Memory::fixed,
          .cache = Cache::none,
          .decay = Decay::table,
          .decay_table = "gate",
          .update = Update::coupled,
          .encoder = false};
    case MixerKind::gla:  // a released layer; heads that share keys and values have the same state
      return MixerDescriptor{
          .kind = kind,
          .name = "gla",
          .help = "gated linear attention: a decay per key channel (no integer form)",
          .options = {kHeads(),
                      size_option(Sets::key_heads, "kv",
                                  "key and value heads, a divisor of heads (default: heads)"),
                      kDim(), kVdim(), kConv(), kReleasedOnly(),
                      form_number("rank", "bottleneck of the decay's map", 1, 16),
                      form_option("conv_bias", "whether the short convolution has a bias", {"no", "yes"}),
                      form_option("gate", "activation of the output gate", {"silu", "sigmoid", "none"})},
          .tensors = attention_tensors(),
          .state = StateParts{{{X::kv_heads, X::value_dim, X::key_dim}}},
          .output = kHeadValues(),
          .letter = Letter::recurrent,
          .memory = Memory::fixed,
          .cache = Cache::none,
          .decay = Decay::positive,
          .update = Update::entrywise,
          .encoder = false};
    case MixerKind::kda:
      return MixerDescriptor{
          .kind = kind,
          .name = "kda",
          .help = "Kimi delta attention: the delta rule with a decay per key channel (no integer form)",
          .options = {kHeads(), kKeyHeads(), kDim(), kVdim(), kConv(), kRange(), kReleasedOnly(),
                      form_size("rank", "bottleneck of the maps of decay and output gate (default: vdim)"),
                      form_option("decay", "exp(-e^A softplus), or between a bound and 1",
                                  {"step", "bounded"}),
                      form_option("conv_bias", "whether the short convolution has a bias", {"no", "yes"})},
          .tensors = delta_tensors(),
          .state = kMatrixState(),
          .output = kHeadValues(),
          .letter = Letter::recurrent,
          .memory = Memory::fixed,
          .cache = Cache::none,
          .decay = Decay::positive,
          .update = Update::coupled,
          .encoder = false};
    case MixerKind::rwkv7:  // its buffer is the input row before (resolve_form.cc)
      return MixerDescriptor{
          .kind = kind,
          .name = "rwkv7",
          .help = "RWKV-7 time mixing (no integer form)",
          .options = {kHeads(), kDim(), kVdim(), kReleasedOnly(),
                      form_number("rank_w", "bottleneck of the decay's map", 1, 64),
                      form_number("rank_a", "bottleneck of the removal's map", 1, 64),
                      form_number("rank_g", "bottleneck of the output gate's map", 1, 128),
                      form_number("rank_v", "bottleneck of the map that mixes values (values=first)", 1, 16),
                      form_option("values", "its own, or mixed with those of the first rwkv7 layer",
                                  {"own", "first"}),
                      form_option("key_norm", "length of removed keys: x/√(Σx²+1e-6), or x/max(‖x‖, 1e-12)",
                                  {"l2", "unit"})},
          .tensors = Tensors{},
          .state = kMatrixState(),
          .output = kHeadValues(),
          .letter = Letter::recurrent,
          .memory = Memory::fixed,
          .cache = Cache::none,
          .decay = Decay::positive,
          .update = Update::coupled,
          .encoder = false};
    case MixerKind::loglinear:  // tensors and state: the base's
      return MixerDescriptor{
          .kind = kind,
          .name = "loglinear",
          .help = "log-linear attention: one state of the base per power of two of the past",
          .options =
              {choice_option(Sets::base, "base", "recurrence of the buckets", {"linear", "mamba2", "gdelta"}),
               choice_option(Sets::feature, "feature", "feature map of q and k (base=linear)",
                             {"identity", "relu", "elu1", "exp", "taylor2"}),
               kAcc(), kHeads(),
               size_option(Sets::key_heads, "kv", "key heads (base=gdelta; default: heads)"), kDim(), kVdim(),
               size_option(Sets::state_rows, "state", "state size N (base=mamba2; default: the model's)"),
               size_option(Sets::key_groups, "groups",
                           "groups of heads that share B and C (base=mamba2; default: heads)"),
               kConv(), kRange(),
               form_option("partition", "levels that double, or that keep the newest tokens apart",
                           {"weak", "strong"}),
               kForm(),  // auto below is what the base's own form has
               form_option("conv_bias", "whether the short convolution has a bias", {"auto", "no", "yes"}),
               form_option("skip", "the input added to the output (base=mamba2)",
                           {"auto", "none", "head", "channel"}),
               form_option("gate", "activation of the output gate", {"auto", "none", "silu", "sigmoid"}),
               form_option("norm", "norm of the output: before its gate, or after it",
                           {"auto", "none", "before", "after"}),
               kNormGroups()},
          .tensors = Tensors{},
          .state = StateParts{},
          .output = kHeadValues(),
          .letter = Letter::recurrent,
          .memory = Memory::levels,
          .cache = Cache::none,
          .decay = Decay::none,
          .update = Update::by_position,
          .encoder = false};
    case MixerKind::sparse:
      return MixerDescriptor{
          .kind = kind,
          .name = "sparse",
          .help = "block compression and selection",
          .options =
              {required_option(Sets::block, "B", "block length"),
               required_option(Sets::select, "k", "selected blocks"),
               size_option(Sets::window, "window",
                           "sliding branch over this many tokens (default: no branch)"),
               size_option(Sets::selection_groups, "groups",
                           "groups of heads that select together, a divisor of heads (default: kv)"),
               kHeads(), kKvHeads(), kDim(), kVdim(),
               choice_option(
                   Sets::score, "score",
                   "what ranks a block: its compressed key, or the best index score of its tokens, with "
                   "nothing compressed (counted, not evaluated)",
                   {"compressed", "tokens"}),
               size_option(Sets::token_index_dim, "index_dim",
                           "dimension of an index key (score=tokens; default: dim)"),
               kForm(),
               form_option(
                   "compress",
                   "a block's key and value: a map of its inputs; the means of its turned keys and of its "
                   "values; or, before keys turn, means, weights per place or linear maps",
                   {"map", "mean", "pool", "weighted", "linear"}, "mean"),
               form_size("span", "tokens of a compressed window (form=released; default: B)"),
               form_size("stride", "tokens between two windows (form=released; default: span)"),
               form_number("first", "first blocks that are always selected", 0, 0, 1),
               form_number("local", "last blocks, the own included, that are always selected", 0, 0, 2),
               kRope(), kTheta(), kRopeDim()},
          .tensors = attention_tensors(
              {{.name = "compress_k", .rows = {X::kv_heads, X::key_dim}, .columns = {X::block, X::width}},
               {.name = "compress_v", .rows = {X::kv_heads, X::value_dim}, .columns = {X::block, X::width}},
               {.name = "mix", .rows = {X::heads, X::branches}}}),
          .state = StateParts{},
          .output = kHeadValues(),
          .letter = Letter::full,
          .coverage = Coverage::sketch,
          .memory = Memory::past,
          .cache = Cache::blocks,
          .decay = Decay::none,
          .update = Update::none,
          .encoder = false};
    case MixerKind::topk:
      return MixerDescriptor{
          .kind = kind,
          .name = "topk",
          .help = "token-level learned selection",
          .options = {required_option(Sets::select, "k", "selected tokens"), kHeads(), kKvHeads(), kDim(),
                      kVdim(), number_option(Sets::index_heads, "index_heads", "heads of the indexer", 1, 1),
                      size_option(Sets::index_dim, "index_dim", "dimension of an index key (default: dim)"),
                      kCache(), kForm(),
                      form_option("weights", "index weights: their positive part, or with their sign",
                                  {"clamped", "signed"}, "signed"),
                      form_size("q_rank", "latent of the queries (default: none)"),
                      form_size("kv_rank", "latent of keys and values (default: none)"), kRope(), kTheta(),
                      kRopeDim(),
                      form_option("index_rope", "the same for index keys", {"none", "half", "interleaved"},
                                  "half"),
                      form_option("index_norm", "layer norm of index keys", {"no", "yes"}, "yes")},
          .tensors = attention_tensors({{.name = "index_q", .rows = {X::index_heads, X::index_dim}},
                                        {.name = "index_k", .rows = {X::index_dim}},
                                        {.name = "index_mix", .rows = {X::index_heads}}}),
          .state = StateParts{},
          .output = kHeadValues(),
          .letter = Letter::full,
          .coverage = Coverage::none,
          .memory = Memory::past,
          .cache = Cache::index_keys,
          .decay = Decay::none,
          .update = Update::none,
          .encoder = true};
    case MixerKind::heads:
      return MixerDescriptor{.kind = kind,
                             .name = "heads",
                             .help = "head-wise mixture: groups of heads side by side, written mixer:count",
                             .tensors = Tensors{},
                             .state = StateParts{},
                             .output = Extents{},
                             .letter = Letter::of_parts,
                             .memory = Memory::of_parts,
                             .cache = Cache::of_parts,
                             .decay = Decay::none,
                             .update = Update::of_parts,
                             .encoder = true};
    case MixerKind::conv:
      return MixerDescriptor{
          .kind = kind,
          .name = "conv",
          .help = "causal depthwise convolution",
          .options = {required_option(Sets::taps, "width", "taps"),
                      size_option(Sets::inner, "channels", "channels (default: width of the network)")},
          .tensors = Tensors{{.name = "v", .rows = {X::inner}, .convolved = true}},
          .state = StateParts{},
          .output = Extents{X::inner},
          .letter = Letter::recurrent,
          .memory = Memory::fixed,
          .cache = Cache::none,
          .decay = Decay::none,
          .update = Update::none,
          .encoder = false,
          .taps = "taps"};
    case MixerKind::identity:
      return MixerDescriptor{
          .kind = kind,
          .name = "identity",
          .help = "no token sees another: the values alone",
          .options = {kHeads(),
                      size_option(
                          Sets::shared_dim, "vdim",
                          "value dimension of a head (default: the model's value or head dimension, or width "
                          "/ heads)")},
          .tensors = Tensors{{.name = "v", .rows = {X::heads, X::value_dim}}},
          .state = StateParts{},
          .output = kHeadValues(),
          .letter = Letter::none,
          .memory = Memory::none,
          .cache = Cache::none,
          .decay = Decay::none,
          .update = Update::none,
          .encoder = true};
    case MixerKind::none:
      return MixerDescriptor{.kind = kind,
                             .name = "none",
                             .help = "MLP only",
                             .tensors = Tensors{},
                             .state = StateParts{},
                             .output = Extents{},
                             .letter = Letter::none,
                             .memory = Memory::none,
                             .cache = Cache::none,
                             .decay = Decay::none,
                             .update = Update::none,
                             .encoder = true};
    case MixerKind::recurrent:
      return MixerDescriptor{
          .kind = kind,
          .name = "recurrent",
          .help = "opaque recurrence of a released model: counted and bounded, not evaluated",
          .options = {released_kind(),
                      {.name = "elements",
                       .help = "state elements",
                       .sets = Sets::elements,
                       .low = 1,
                       .high = kMaxElements,
                       .required = true},
                      number_option(Sets::buffer_elements, "conv", "elements of its convolution buffer", 0, 0,
                                    kMaxElements)},
          .tensors = Tensors{},
          .state = StateParts{{{X::elements}}},
          .output = Extents{},
          .letter = Letter::recurrent,
          .memory = Memory::fixed,
          .cache = Cache::none,
          .decay = Decay::unknown,
          .update = Update::unknown,
          .encoder = false,
          .opaque = true};
    case MixerKind::compressed:
      return MixerDescriptor{
          .kind = kind,
          .name = "compressed",
          .help = "opaque compressed-block attention of a released model: counted, not evaluated",
          .options = {released_kind(), required_option(Sets::block, "ratio", "tokens per compressed entry"),
                      required_option(Sets::elements, "entry", "cached elements per compressed entry"),
                      size_option(Sets::window, "window", "uncompressed tokens kept beside (default: none)"),
                      size_option(Sets::cache, "cache",
                                  "elements per uncompressed token of the window (default: entry)")},
          .tensors = Tensors{},
          .state = StateParts{},
          .output = Extents{},
          .letter = Letter::full,
          .coverage = Coverage::none,
          .memory = Memory::past,
          .cache = Cache::entries,
          .decay = Decay::none,
          .update = Update::none,
          .encoder = false,
          .opaque = true};
  }
  return std::nullopt;
}

// A fixed memory that is charged no bits would make a false `impossible`.
void require_whole(const MixerDescriptor& d) {
  const bool buffers =
      std::any_of(d.tensors.value.begin(), d.tensors.value.end(), [](const auto& t) { return t.convolved; });
  const bool stores = !d.state.value.empty() || (buffers && d.update == Update::none);
  RUNG_REQUIRE(d.memory != Memory::fixed || stores, "{} has a memory and stores nothing", d.name);
  RUNG_REQUIRE(d.memory != Memory::past || d.cache != Cache::none, "{} sees the past and caches nothing",
               d.name);
  RUNG_REQUIRE((d.memory == Memory::none) == (d.letter == Letter::none), "{}: letter and memory disagree",
               d.name);
  RUNG_REQUIRE((d.decay == Decay::table) == !d.decay_table.empty(), "{}: decay without its table", d.name);
}

}  // namespace

std::span<const MixerDescriptor> mixer_descriptors() {
  static const std::vector<MixerDescriptor> list = [] {
    std::vector<MixerDescriptor> all;
    while (auto next = describe(static_cast<MixerKind>(all.size()))) {
      require_whole(*next);
      all.push_back(std::move(*next));
    }
    return all;
  }();
  return list;
}

const MixerDescriptor& mixer_descriptor(MixerKind kind) {
  return mixer_descriptors()[static_cast<std::size_t>(kind)];
}

}  // namespace rung
