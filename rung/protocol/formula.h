// What the theorems count, from sizes alone (Chen, Peng, Wu 2412.02975 for full layers; docs/protocol.md):
//
//   F  Σ_i senders_i · tokens_i · H (d p_num + p_den)          p_num = bits(E_max) + p_v + ⌈lg N⌉ + 1, p_den
//   = bits(E_max) + ⌈lg N⌉ R  Σ over hand-overs of the layer's state bits             linear attention: H d
//   (d + 1) a S  complete blocks · b_cmp                                 published once each
//
// senders_i: players before i; N: tokens of the prompt. Nothing here looks at a message; the transcript is
// compared with it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rung/exact/model_parts.h"
#include "rung/exact/split_mixer.h"
#include "rung/protocol/channel.h"
#include "rung/protocol/segments.h"

namespace rung {

struct SumWidths {
  int num = 0, den = 0;  // num has a sign, den has none
};
// REQUIRES summed_tokens >= 1. `override` replaces both widths.
SumWidths sum_widths(const SplitSoftmax::Sizes& sizes, std::int64_t summed_tokens,
                     std::optional<int> override_bits);

struct FormulaTerm {
  std::int64_t layer = 0, part = 0;
  MessageKind kind = MessageKind::state;
  std::string text;  // "Σ senders·tokens · H(d·p_num + p_den) = 11 · 2·(4·27 + 17)"
  std::int64_t bits = 0;
};
// One term per layer, mixer and kind of message that is sent.
std::vector<FormulaTerm> formula_terms(const ModelParts& model, const std::vector<OwnedSegment>& players,
                                       std::optional<int> sum_bits);

}  // namespace rung
