// The descriptors: a mixer is its enumerator and its case here.
#include "rung/spec/mixers.h"

#include <algorithm>

#include "rung/base/require.h"

namespace rung {
namespace {

using X = Extent;
using Tensors = std::vector<MixerTensor>;

OptionWord size_option(Sets sets, std::string_view name, std::string_view help) {
  return {.name = name, .help = help, .sets = sets, .low = 1, .high = kMaxSize};
}
OptionWord required_option(Sets sets, std::string_view name, std::string_view help) {
  return {.name = name, .help = help, .sets = sets, .low = 1, .high = kMaxSize, .required = true};
}
OptionWord number_option(Sets sets, std::string_view name, std::string_view help, std::int64_t low,
                         std::int64_t default_number, std::int64_t high = kMaxSize) {
  return {
      .name = name, .help = help, .sets = sets, .low = low, .high = high, .default_number = default_number};
}
OptionWord choice_option(Sets sets, std::string_view name, std::string_view help,
                         std::vector<std::string_view> words) {
  const auto first = words.front();
  return {.name = name,
          .help = help,
          .sets = sets,
          .is_number = false,
          .words = std::move(words),
          .default_word = first};
}
OptionWord released_kind() {
  return {.name = "kind", .help = "its name", .sets = Sets::released, .is_number = false, .required = true};
}

const auto kHeads = [] { return size_option(Sets::heads, "heads", "heads (default: --heads)"); };
const auto kDim = [] {
  return size_option(Sets::key_dim, "dim", "key dimension of a head (default: --head-dim, or width / heads)");
};
const auto kVdim = [] {
  return size_option(Sets::value_dim, "vdim",
                     "value dimension of a head (default: --value-dim, or the key dimension)");
};
const auto kConv = [] {
  return number_option(Sets::taps, "conv", "taps of a short causal convolution on q, k, v; 0: none", 0, 0);
};
const auto kKeyHeads = [] {
  return size_option(Sets::key_heads, "kv", "key heads, a divisor of heads (default: heads)");
};
const auto kKvHeads = [] {
  return size_option(Sets::kv_heads, "kv",
                     "key and value heads, a divisor of heads (default: --kv-heads, or heads)");
};
const auto kCache = [] {
  return size_option(
      Sets::cache, "cache",
      "KV-cache elements per token, where keys and values share a latent (default: kv·(dim+vdim))");
};
const auto kGroups = [] {
  return size_option(Sets::key_groups, "groups",
                     "groups of heads that share B and C, a divisor of heads (default: heads)");
};
const auto kAcc = [] {
  return choice_option(Sets::accumulator, "acc",
                       "how its sums are kept: exact, or rounded or wrapped to the width of a state entry",
                       {"exact", "round", "wrap"});
};
const auto kHidden = [] { return size_option(Sets::inner, "size", "hidden numbers (default: width)"); };

Tensors attention_tensors(Tensors more = {}) {
  Tensors all{{.name = "q", .rows = {X::heads, X::key_dim}, .convolved = true},
              {.name = "k", .rows = {X::kv_heads, X::key_dim}, .convolved = true},
              {.name = "v", .rows = {X::kv_heads, X::value_dim}, .convolved = true}};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}
Tensors delta_tensors(Tensors more = {}) {
  Tensors all{{.name = "q", .rows = {X::kv_heads, X::key_dim}, .convolved = true},
              {.name = "k", .rows = {X::kv_heads, X::key_dim}, .convolved = true},
              {.name = "v", .rows = {X::heads, X::value_dim}, .convolved = true},
              {.name = "beta", .rows = {X::heads}}};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}
const auto kMatrixState = [] { return StateParts{{{X::heads, X::value_dim, X::key_dim}}}; };
const auto kHeadValues = [] { return Extents{X::heads, X::value_dim}; };

// Nothing for a value that is no enumerator: the list below ends there.
std::optional<MixerDescriptor> describe(MixerKind kind) {
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
                          {"own", "earlier"})},
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
                      size_option(Sets::state, "state", "state size N (default: --state)"), kConv()},
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
          .options = {kHeads(),
                      size_option(Sets::only_dim, "dim",
                                  "channels of a head (default: --value-dim, --head-dim, or width / heads)"),
                      size_option(Sets::state_rows, "state", "state size N (default: --state)"), kGroups(),
                      kConv()},
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
      return MixerDescriptor{.kind = kind,
                             .name = "delta",
                             .help = "delta rule",
                             .options = {kHeads(), kKeyHeads(), kDim(), kVdim(), kConv()},
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
      return MixerDescriptor{.kind = kind,
                             .name = "gdelta",
                             .help = "gated delta rule",
                             .options = {kHeads(), kKeyHeads(), kDim(), kVdim(), kConv()},
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
    case MixerKind::loglinear:  // tensors and state: the base's
      return MixerDescriptor{
          .kind = kind,
          .name = "loglinear",
          .help = "log-linear attention: one state of the base per power of two of the past",
          .options = {choice_option(Sets::base, "base", "recurrence of the buckets",
                                    {"linear", "mamba2", "gdelta"}),
                      choice_option(Sets::feature, "feature", "feature map of q and k (base=linear)",
                                    {"identity", "relu", "elu1", "exp", "taylor2"}),
                      kAcc(), kHeads(),
                      size_option(Sets::key_heads, "kv", "key heads (base=gdelta; default: heads)"), kDim(),
                      kVdim(),
                      size_option(Sets::state_rows, "state", "state size N (base=mamba2; default: --state)"),
                      size_option(Sets::key_groups, "groups",
                                  "groups of heads that share B and C (base=mamba2; default: heads)"),
                      kConv()},
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
                           "dimension of an index key (score=tokens; default: dim)")},
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
                      kCache()},
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
                      size_option(Sets::shared_dim, "vdim",
                                  "value dimension of a head (default: --value-dim, --head-dim, or width "
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

CheckedSize extent_size(Extent extent, const MixerShape& m, std::int64_t width) {
  switch (extent) {
    case Extent::width:
      return width;
    case Extent::heads:
      return m.heads;
    case Extent::kv_heads:
      return m.kv_heads;
    case Extent::key_dim:
      return m.key_dim;
    case Extent::feature_dim:
      return m.feature == FeatureMap::taylor2
                 ? CheckedSize(1) + m.key_dim + CheckedSize(m.key_dim) * m.key_dim
                 : CheckedSize(m.key_dim);
    case Extent::value_dim:
      return m.value_dim;
    case Extent::inner:
      return m.inner;
    case Extent::state:
      return m.state;
    case Extent::block:
      return m.block;
    case Extent::branches:
      return m.window ? 3 : 1;
    case Extent::index_heads:
      return m.index_heads;
    case Extent::index_dim:
      return m.index_dim;
    case Extent::elements:
      return m.elements;
  }
  return 0;
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

const MixerDescriptor& recurrence_of(const MixerShape& mixer) {
  return mixer_descriptor(mixer.kind == MixerKind::loglinear ? mixer.base : mixer.kind);
}

bool can_stand_in_heads(const MixerDescriptor& mixer) {
  return std::any_of(mixer.options.begin(), mixer.options.end(),
                     [](const OptionWord& option) { return option.name == "heads"; });
}

CheckedSize size_of(const Extents& extents, const MixerShape& mixer, std::int64_t width) {
  CheckedSize product = 1;
  for (const Extent extent : extents) product = product * extent_size(extent, mixer, width);
  return product;
}

std::vector<std::pair<std::string_view, std::int64_t>> convolved_channels(const MixerShape& mixer) {
  std::vector<std::pair<std::string_view, std::int64_t>> out;
  for (const MixerTensor& tensor : recurrence_of(mixer).tensors.value)
    if (tensor.convolved) out.emplace_back(tensor.name, size_of(tensor.rows, mixer, 1).or_zero());
  return out;
}

Letter letter_of(const MixerShape& mixer) {
  const MixerDescriptor& descriptor = mixer_descriptor(mixer.kind);
  const bool bounded = descriptor.cache == Cache::tokens && (mixer.window || mixer.chunk);
  return bounded ? Letter::recurrent : descriptor.letter.value;
}

Coverage coverage_of(const MixerShape& mixer) {
  return mixer.token_scores ? Coverage::none : mixer_descriptor(mixer.kind).coverage;
}

bool has_part(const MixerShape& mixer, const StatePart& part) {
  return part.holds != StatePart::Holds::counts || mixer.normalised;
}

std::int64_t state_numbers(const MixerShape& mixer) {
  CheckedSize total = 0;
  for (const StatePart& part : recurrence_of(mixer).state.value)
    if (has_part(mixer, part)) total += size_of(part.extents, mixer, 1);
  RUNG_REQUIRE(total.ok(), "a state of more than 2^62 numbers");
  return *total.value();
}

bool Mixer::operator==(const Mixer& other) const {
  return kind == other.kind && options == other.options && parts == other.parts;
}

std::optional<std::int64_t> Mixer::number(std::string_view option) const {
  for (const auto& given : options)
    if (given.name == option && std::holds_alternative<std::int64_t>(given.value))
      return std::get<std::int64_t>(given.value);
  return std::nullopt;
}

std::optional<std::string> Mixer::word(std::string_view option) const {
  for (const auto& given : options)
    if (given.name == option && std::holds_alternative<std::string>(given.value))
      return std::get<std::string>(given.value);
  return std::nullopt;
}

}  // namespace rung
