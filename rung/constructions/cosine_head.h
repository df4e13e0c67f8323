// One head of dimension 3 that matches numbers by cosines against a blank (trigonometric_match.h).
//
// The blank is a token of its own position. Its key must not depend on its number: keys are kept as differences
// of two coordinates that are never negative, the blank's position adds more than any number to both, the
// embedding saturates both at the same largest number, and the difference is 0.
#pragma once

#include <algorithm>

#include "rung/constructions/model_writer.h"
#include "rung/theory/trigonometric_match.h"

namespace rung {

struct CosineHead {
  Slot ask, key, base, third;

  // `blank`: its position; `which`: the same in words; `query`, `blank_key`: what two slots are called.
  CosineHead(ModelWriter& model, const TrigonometricMatch& match, std::int64_t blank,
             const std::string& which, const std::string& query, const std::string& blank_key)
      : ask(model.slot("cos sin", 2, "cos and sin of 2πx/M, times 2^f: " + query)),
        key(model.slot("cos+ cos- sin+ sin-", 4,
                       "positive and negative parts of the same; at the " + which +
                           " position all 2^(f+1)-1, so that their differences are 0")),
        base(model.slot("scale", 1, "2^f")),
        third(model.slot("third", 1, "-2^f; at the " + which + " position " + blank_key)) {
    const std::int64_t one = match.one();
    auto& token = model.field_table("token", match.modulus);
    for (std::int64_t x = 0; x < match.modulus; ++x) {
      const std::int64_t cosine = match.cosine(x), sine = match.sine(x);
      token.set(x, ask.at(0), cosine);
      token.set(x, ask.at(1), sine);
      token.set(x, key.at(0), std::max<std::int64_t>(0, cosine));
      token.set(x, key.at(1), std::max<std::int64_t>(0, -cosine));
      token.set(x, key.at(2), std::max<std::int64_t>(0, sine));
      token.set(x, key.at(3), std::max<std::int64_t>(0, -sine));
      token.set(x, base.at(0), one);
      token.set(x, third.at(0), -one);
    }
    auto& position = model.position_table();
    for (std::int64_t c = 0; c < key.size; ++c) position.set(blank, key.at(c), 2 * one);
    position.set(blank, third.at(0), one + match.blank_key);
  }

  // Head 0 of the layer: queries, keys and scores.
  void write(LayerWriter& layer, const TrigonometricMatch& match) const {
    layer.map("q").select(0, ask, 1);
    layer.map("q").set(2, base.at(0), 1);
    layer.map("k").set(0, key.at(0), 1);
    layer.map("k").set(0, key.at(1), -1);
    layer.map("k").set(1, key.at(2), -1);
    layer.map("k").set(1, key.at(3), 1);
    layer.map("k").set(2, third.at(0), 1);
    layer.scores(match.scores);
    layer.scalar("score.shift", match.shift);
    layer.scalar("score.bits", digits_for(-match.scores.low + 1) + 2);
  }
};

}  // namespace rung
