// The options that several mixers share, for their descriptors (mixers.cc): sizes, and what released layers have around them.
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "rung/spec/mixers.h"

namespace rung::mixer_options {

inline OptionWord size_option(Sets sets, std::string_view name, std::string_view help) {
  return {.name = name, .help = help, .sets = sets, .low = 1, .high = kMaxSize};
}
inline OptionWord required_option(Sets sets, std::string_view name, std::string_view help) {
  return {.name = name, .help = help, .sets = sets, .low = 1, .high = kMaxSize, .required = true};
}
inline OptionWord number_option(Sets sets, std::string_view name, std::string_view help, std::int64_t low,
                                std::int64_t default_number, std::int64_t high = kMaxSize) {
  return {
      .name = name, .help = help, .sets = sets, .low = low, .high = high, .default_number = default_number};
}
inline OptionWord choice_option(Sets sets, std::string_view name, std::string_view help,
                                std::vector<std::string_view> words) {
  const auto first = words.front();
  return {.name = name,
          .help = help,
          .sets = sets,
          .is_number = false,
          .words = std::move(words),
          .default_word = first};
}
inline OptionWord released_kind() {
  return {.name = "kind", .help = "its name", .sets = Sets::released, .is_number = false, .required = true};
}

inline const auto kHeads = [] { return size_option(Sets::heads, "heads", "heads (default: the model's)"); };
inline const auto kDim = [] {
  return size_option(Sets::key_dim, "dim",
                     "key dimension of a head (default: the model's, or width / heads)");
};
inline const auto kVdim = [] {
  return size_option(Sets::value_dim, "vdim",
                     "value dimension of a head (default: the model's, or the key dimension)");
};
inline const auto kConv = [] {
  return number_option(Sets::taps, "conv", "taps of a short causal convolution on q, k, v; 0: none", 0, 0);
};
inline const auto kKeyHeads = [] {
  return size_option(Sets::key_heads, "kv", "key heads, a divisor of heads (default: heads)");
};
inline const auto kKvHeads = [] {
  return size_option(Sets::kv_heads, "kv",
                     "key and value heads, a divisor of heads (default: the model's, or heads)");
};
inline const auto kCache = [] {
  return size_option(
      Sets::cache, "cache",
      "KV-cache elements per token, where keys and values share a latent (default: kv·(dim+vdim))");
};
inline const auto kGroups = [] {
  return size_option(Sets::key_groups, "groups",
                     "groups of heads that share B and C, a divisor of heads (default: heads)");
};
inline const auto kAcc = [] {
  return choice_option(Sets::accumulator, "acc",
                       "how its sums are kept: exact, or rounded or wrapped to the width of a state entry",
                       {"exact", "round", "wrap"});
};
// Options of form=released: the plain value first, then the released one.
inline OptionWord form_option(std::string_view name, std::string_view help,
                              std::vector<std::string_view> words, std::string_view released = {}) {
  OptionWord option = choice_option(Sets::form, name, help, std::move(words));
  option.released_word = released;
  return option;
}
inline OptionWord form_size(std::string_view name, std::string_view help) {
  return size_option(Sets::form, name, help);
}
inline OptionWord form_number(std::string_view name, std::string_view help, std::int64_t low,
                              std::int64_t plain, std::optional<std::int64_t> released = std::nullopt) {
  OptionWord option = number_option(Sets::form, name, help, low, plain);
  option.released_number = released;
  return option;
}
inline const auto kForm = [] {
  return form_option("form", "all options below as released layers have them, or as the theory does",
                     {"released", "plain"});
};
inline const auto kPlainForm = [] {
  return form_option("form", "all options below as the theory has them, or as released layers do",
                     {"plain", "released"});
};
inline const auto kReleasedOnly = [] {
  return form_option("form", "it has the form of released layers alone", {"released"});
};
inline const auto kConvBias = [](std::string_view released) {
  return form_option("conv_bias", "whether the short convolution has a bias", {"no", "yes"}, released);
};
inline const auto kAct = [] {
  return form_option("act", "activation behind the short convolution", {"none", "silu"}, "silu");
};
inline const auto kGate = [](std::string_view released) {
  return form_option("gate", "activation of the output gate", {"none", "silu", "sigmoid"}, released);
};
inline const auto kOutputNorm = [](std::string_view released) {
  return form_option("norm", "root mean square norm of the output: before its gate, or after it",
                     {"none", "before", "after"}, released);
};
inline const auto kKeyNorm = [] {
  return form_option("qk_norm", "what q and k are divided by, head by head: their length, their sum, nothing",
                     {"none", "l2", "sum"}, "l2");
};
inline const auto kKeyAct = [] {
  return form_option("qk_act", "activation of q and k", {"none", "silu", "relu", "elu1"}, "silu");
};
inline const auto kScale = [] {
  return form_option("scale", "divide q by the root of dim", {"no", "yes"}, "yes");
};
inline const auto kRange = [] {
  return number_option(Sets::range, "range",
                       "write strengths lie between 0 and this: 2 allows negative eigenvalues", 1, 1, 2);
};
inline const auto kSteps = [] {
  return number_option(Sets::steps, "steps",
                       "steps of the rule a token, each with a key, value and beta of its own", 1, 1,
                       kMaxDeltaSteps);
};
inline const auto kStepDecay = [](std::string_view help) {
  return form_option("decay", help, {"sigmoid", "step"}, "step");
};
inline const auto kSkip = [] {
  return form_option("skip", "the input added to the output, with a weight per head or channel",
                     {"none", "head", "channel"}, "head");
};
inline const auto kNormGroups = [] {
  return form_size("norm_groups", "parts of the output that are normalised apart (default: groups)");
};
inline const auto kRope = [] {
  return form_option("rope",
                     "pairs of entries that turn with the position: auto takes half where positions are rope",
                     {"auto", "none", "half", "interleaved"}, "half");
};
inline const auto kTheta = [] { return form_number("theta", "base of the angles of rope", 1, 10000); };
inline const auto kRopeDim = [] {
  return form_size("rope_dim", "entries of a head that turn (default: dim)");
};

inline const auto kHidden = [] {
  return size_option(Sets::inner, "size", "hidden numbers (default: width)");
};

}  // namespace rung::mixer_options
