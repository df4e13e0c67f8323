// What one block-sparse layer hands from block to query: compressed messages and the selection, as the exact
// machine computes them. Certificates of kind sparse-pair state these numbers.
#pragma once

#include <optional>

#include "rung/adversary/target.h"
#include "rung/exact/model_parts.h"
#include "rung/exact/split_mixer.h"

namespace rung {

class SparseView {
 public:
  // Nothing unless exactly one layer lets tokens see each other, and that is `sparse` without a window
  // branch. The target outlives the view.
  static std::optional<SparseView> make(const Target& target);

  struct Message {
    std::vector<std::int64_t> key, value;  // [K·dk], [K·dv]
    bool operator==(const Message&) const = default;
  };
  // REQUIRES a valid prompt that holds the whole block.
  Message message(const Prompt& prompt, std::int64_t block) const;
  // Per selection group the blocks that the query at `position` reads, increasing.
  std::vector<std::vector<std::int64_t>> selected(const Prompt& prompt, std::int64_t position) const;

  const MixerShape& shape() const { return *shape_; }
  std::int64_t message_bits() const {
    return message_bits_;
  }  // K·(dk·bits of compress_k + dv·bits of compress_v)
  std::int64_t blocks(std::int64_t position) const {
    return position / shape_->block;
  }  // complete before the query's own

 private:
  // The layer's input row at a position.
  std::vector<std::int64_t> input(const Prompt& prompt, std::int64_t t) const;

  const Target* target_ = nullptr;
  std::vector<FieldSpec> fields_;
  std::int64_t layer_ = 0, message_bits_ = 0;
  const MixerShape* shape_ = nullptr;
  const ExactMixer* mixer_ = nullptr;
};

// A sparse-pair certificate when the prompts differ inside `block` only, hand over the same message, select
// the same blocks, not this one, end alike and should not; nothing otherwise. `forced` where
// sparse-two-sum or sparse-two-sum-positions says that such a pair exists for all weights.
Result<std::optional<Certificate>> certify_sparse_pair(const Target& target, const SparseView& view,
                                                       const Prompt& first, const Prompt& second,
                                                       std::int64_t block);

// Why two-sum forces a pair: `values` as docs/certificate_v1.md has it ("sparse-pair"), 0 without a position
// code. Nothing where no theorem does.
std::optional<std::int64_t> forcing_values(const Target& target, const SparseView& view);

}  // namespace rung
