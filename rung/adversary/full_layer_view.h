// The first full layer of a model, seen from below: what its tokens add to a query's softmax sums. Sums of
// mode X are exact, so they add up over tokens; where only position-wise layers stand below, each token's
// share depends on that token alone.
#pragma once

#include <optional>

#include "rung/adversary/target.h"
#include "rung/exact/model_parts.h"
#include "rung/exact/split_mixer.h"

namespace rung {

class FullLayerView {
 public:
  // Nothing unless a layer is causal `full` without window, chunk or convolution, alone in its layer, and all
  // layers before it have bounded state. The target outlives the view.
  static std::optional<FullLayerView> make(const Target& target);

  std::int64_t layer() const { return layer_; }
  // Whether the layers before are position-wise: then a token's share does not depend on other tokens.
  bool first() const { return first_; }

  using Row = std::vector<std::int64_t>;
  // The layer's input rows at positions [begin, end).
  std::vector<Row> inputs(const Prompt& prompt, std::int64_t begin, std::int64_t end) const;
  // The numbers that the layers before carry after `positions`.
  Row states_before(const Prompt& prompt, std::int64_t positions) const;
  // All heads' queries of a token with this input row.
  Row query(const Row& input) const;
  // Sums of these tokens at a query: per head num, then den.
  Row sums(const std::vector<Row>& inputs, const Row& query) const;

 private:
  // Runs positions [0, end); calls take(t, input row) for those from `begin` on, and gives the states'
  // numbers.
  template <class Take>
  Row run(const Prompt& prompt, std::int64_t begin, std::int64_t end, const Take& take) const;

  const ModelParts* parts_ = nullptr;
  std::vector<FieldSpec> fields_;
  const SplitSoftmax* softmax_ = nullptr;
  std::int64_t layer_ = 0;
  bool first_ = true;
};

}  // namespace rung
