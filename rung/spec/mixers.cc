// The word list of the architecture language: a mixer is added by its enumerator and its line here.
#include "rung/base/require.h"
#include "rung/spec/architecture.h"

namespace rung {
namespace {

OptionWord size(std::string_view name, std::string_view help) {
  return {.name = name, .help = help, .low = 1, .high = kMaxSize};
}
OptionWord required_size(std::string_view name, std::string_view help) {
  return {.name = name, .help = help, .low = 1, .high = kMaxSize, .required = true};
}
OptionWord number(std::string_view name, std::string_view help, std::int64_t low,
                  std::int64_t default_number) {
  return {.name = name, .help = help, .low = low, .high = kMaxSize, .default_number = default_number};
}
OptionWord choice(std::string_view name, std::string_view help, std::vector<std::string_view> words) {
  const auto first = words.front();
  return {.name = name, .help = help, .is_number = false, .words = std::move(words), .default_word = first};
}
OptionWord required_word(std::string_view name, std::string_view help, std::vector<std::string_view> words) {
  return {.name = name, .help = help, .is_number = false, .words = std::move(words), .required = true};
}

const auto kHeads = [] { return size("heads", "heads (default: --heads)"); };
const auto kDim = [] {
  return size("dim", "key dimension of a head (default: --head-dim, or width / heads)");
};
const auto kVdim = [] {
  return size("vdim", "value dimension of a head (default: --value-dim, or the key dimension)");
};
const auto kConv = [] {
  return number("conv", "taps of a short causal convolution on q, k, v; 0: none", 0, 0);
};
const auto kKeyHeads = [] { return size("kv", "key heads, a divisor of heads (default: heads)"); };
const auto kKvHeads = [] {
  return size("kv", "key and value heads, a divisor of heads (default: --kv-heads, or heads)");
};
const auto kCache = [] {
  return size("cache",
              "KV-cache elements per token, where keys and values share a latent (default: kv·(dim+vdim))");
};
const auto kState = [] { return size("state", "state size N (default: --state)"); };
const auto kGroups = [] {
  return size("groups", "groups of heads that share B and C, a divisor of heads (default: heads)");
};
const auto kFeature = [] {
  return choice("feature", "feature map of q and k", {"elu1", "identity", "relu", "exp", "taylor2"});
};
const auto kAcc = [] {
  return choice("acc", "how its sums are kept: exact, or rounded or wrapped to the width of a state entry",
                {"exact", "round", "wrap"});
};
const auto kNormalised = [] { return choice("normalised", "divide by the sum of weights", {"yes", "no"}); };

std::vector<MixerWord> make_words() {
  using enum MixerKind;
  return {
      {full,
       "full",
       "softmax attention; with window or chunk a bounded one, which counts as recurrent",
       {size("window", "a token sees itself and the window-1 tokens before it"),
        size("chunk", "a token sees the tokens of its own block of this many, up to itself"), kHeads(),
        kKvHeads(), kDim(), kVdim(), kConv(), kCache(),
        choice("keys",
               "whose keys and values it reads: its own, or those that an earlier layer caches (counted and "
               "bounded, not evaluated)",
               {"own", "earlier"})}},
      {linear,
       "linear",
       "linear attention",
       {kFeature(), kNormalised(), kAcc(), kHeads(), kDim(), kVdim(), kConv()}},
      {rnn,
       "rnn",
       "Elman network",
       {choice("cell", "non-linearity", {"tanh", "relu"}), size("size", "hidden numbers (default: width)")}},
      {gru, "gru", "gated recurrent unit", {size("size", "hidden numbers (default: width)")}},
      {mamba,
       "mamba",
       "selective state space, one recurrence per channel",
       {size("inner", "channels (default: width)"), kState(), kConv()}},
      {mamba2,
       "mamba2",
       "SSD: scalar decay per head",
       {kHeads(), size("dim", "channels of a head (default: --value-dim, --head-dim, or width / heads)"),
        kState(), kGroups(), kConv()}},
      {delta, "delta", "delta rule", {kHeads(), kKeyHeads(), kDim(), kVdim(), kConv()}},
      {gdelta, "gdelta", "gated delta rule", {kHeads(), kKeyHeads(), kDim(), kVdim(), kConv()}},
      {loglinear,
       "loglinear",
       "log-linear attention: one state of the base per power of two of the past",
       {choice("base", "recurrence of the buckets", {"linear", "mamba2", "gdelta"}),
        choice("feature", "feature map of q and k (base=linear)",
               {"identity", "relu", "elu1", "exp", "taylor2"}),
        kAcc(), kHeads(), size("kv", "key heads (base=gdelta; default: heads)"), kDim(), kVdim(),
        size("state", "state size N (base=mamba2; default: --state)"),
        size("groups", "groups of heads that share B and C (base=mamba2; default: heads)"), kConv()}},
      {sparse,
       "sparse",
       "block compression and selection",
       {required_size("B", "block length"), required_size("k", "selected blocks"),
        size("window", "sliding branch over this many tokens (default: no branch)"),
        size("groups", "groups of heads that select together, a divisor of heads (default: kv)"), kHeads(),
        kKvHeads(), kDim(), kVdim(),
        choice("score",
               "what ranks a block: its compressed key, or the best index score of its tokens, with nothing "
               "compressed (counted, not evaluated)",
               {"compressed", "tokens"}),
        size("index_dim", "dimension of an index key (score=tokens; default: dim)")}},
      {topk,
       "topk",
       "token-level learned selection",
       {required_size("k", "selected tokens"), kHeads(), kKvHeads(), kDim(), kVdim(),
        number("index_heads", "heads of the indexer", 1, 1),
        size("index_dim", "dimension of an index key (default: dim)"), kCache()}},
      {heads, "heads", "head-wise mixture: groups of heads side by side, written mixer:count", {}},
      {conv,
       "conv",
       "causal depthwise convolution",
       {required_size("width", "taps"), size("channels", "channels (default: width of the network)")}},
      {identity,
       "identity",
       "no token sees another: the values alone",
       {kHeads(),
        size("vdim", "value dimension of a head (default: --value-dim, --head-dim, or width / heads)")}},
      {none, "none", "MLP only", {}},
      {recurrent,
       "recurrent",
       "opaque recurrence of a released model: counted and bounded, not evaluated",
       {required_word("kind", "its name", {}),
        {.name = "elements", .help = "state elements", .low = 1, .high = kMaxElements, .required = true},
        {.name = "conv",
         .help = "elements of its convolution buffer",
         .low = 0,
         .high = kMaxElements,
         .default_number = 0}}},
      {compressed,
       "compressed",
       "opaque compressed-block attention of a released model: counted, not evaluated",
       {required_word("kind", "its name", {}), required_size("ratio", "tokens per compressed entry"),
        required_size("entry", "cached elements per compressed entry"),
        size("window", "uncompressed tokens kept beside (default: none)"),
        size("cache", "elements per uncompressed token of the window (default: entry)")}},
  };
}

}  // namespace

std::span<const MixerWord> mixer_words() {
  static const std::vector<MixerWord> words = make_words();
  return words;
}

const MixerWord& mixer_word(MixerKind kind) {
  for (const auto& word : mixer_words())
    if (word.kind == kind) return word;
  RUNG_REQUIRE(false, "kind {} is not in the word list", static_cast<int>(kind));
  return mixer_words().front();
}

bool is_opaque(MixerKind kind) { return kind == MixerKind::recurrent || kind == MixerKind::compressed; }

bool can_stand_in_heads(MixerKind kind) {
  for (const auto& option : mixer_word(kind).options)
    if (option.name == "heads") return true;
  return false;
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
