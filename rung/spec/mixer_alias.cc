#include "rung/spec/mixer_alias.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

#include "rung/spec/mixers.h"

namespace rung {
namespace {

// Not here: "linear_attention", which is gated delta rule in one family's files and lightning attention in
// another's.
constexpr std::array<MixerAlias, 44> kMixerAliases{{
    {"attention", MixerKind::full},
    {"attn", MixerKind::full},
    {"softmax", MixerKind::full},
    {"mha", MixerKind::full},
    {"gqa", MixerKind::full},
    {"sdpa", MixerKind::full},
    {"full_attention", MixerKind::full},
    {"global_attention", MixerKind::full},
    {"swa", MixerKind::full, "window"},
    {"sliding", MixerKind::full, "window"},
    {"sliding_window", MixerKind::full, "window"},
    {"sliding_attention", MixerKind::full, "window"},
    {"local", MixerKind::full, "window"},
    {"local_attention", MixerKind::full, "window"},
    {"chunked", MixerKind::full, "chunk"},
    {"chunked_attention", MixerKind::full, "chunk"},
    {"linattn", MixerKind::linear},
    {"lin_attn", MixerKind::linear},
    {"elman", MixerKind::rnn},
    {"mamba1", MixerKind::mamba},
    {"mamba-1", MixerKind::mamba},
    {"s6", MixerKind::mamba},
    {"mamba-2", MixerKind::mamba2},
    {"mamba_2", MixerKind::mamba2},
    {"ssd", MixerKind::mamba2},
    {"deltanet", MixerKind::delta},
    {"delta_net", MixerKind::delta},
    {"gdn", MixerKind::gdelta},
    {"gated_delta", MixerKind::gdelta},
    {"gated_deltanet", MixerKind::gdelta},
    {"gated_delta_net", MixerKind::gdelta},
    {"gated-deltanet", MixerKind::gdelta},
    {"gateddeltanet", MixerKind::gdelta},
    {"log_linear", MixerKind::loglinear},
    {"log-linear", MixerKind::loglinear},
    {"nsa", MixerKind::sparse},
    {"dsa", MixerKind::topk},
    {"top_k", MixerKind::topk},
    {"top-k", MixerKind::topk},
    {"shortconv", MixerKind::conv},
    {"short_conv", MixerKind::conv},
    {"mlp", MixerKind::none},
    {"ffn", MixerKind::none},
    {"moe", MixerKind::none},
}};

}  // namespace

std::span<const MixerAlias> mixer_aliases() { return kMixerAliases; }

std::optional<MixerAlias> find_mixer(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const MixerDescriptor& word : mixer_descriptors())
    if (word.name == lower) return MixerAlias{word.name, word.kind};
  for (const MixerAlias& alias : kMixerAliases)
    if (alias.name == lower) return alias;
  return std::nullopt;
}

}  // namespace rung
