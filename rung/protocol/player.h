// One player: the owner of consecutive positions. It knows the model, who owns which positions, its own
// tokens, and what the channel brought; nothing else reaches it.
//
// Invariant between epochs: rows() are the residual rows of its own positions after the layers so far, a
// function of its own tokens and of those before them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "rung/exact/model_parts.h"
#include "rung/exact/split_mixer.h"
#include "rung/protocol/channel.h"
#include "rung/protocol/formula.h"
#include "rung/protocol/segments.h"

namespace rung {

class Player {
 public:
  // `tokens`: its own positions' rows of fields, side by side. REQUIRES model and players outlive it.
  Player(const ModelParts& model, const std::vector<OwnedSegment>& players, std::int64_t self,
         std::span<const std::vector<std::int64_t>> tokens);

  // A mixer of a layer, and where its outputs stand among those of its neighbours.
  struct Site {
    std::int64_t layer = 0, part = 0, offset = 0;
    const ExactMixer* mixer = nullptr;
  };

  // An epoch: begin, then for every mixer of the layer one of the three ways below, then finish.
  void begin(std::int64_t layer, std::int64_t mixed_width);
  void finish(std::int64_t layer);

  // Recurrences: takes the state from the player before, runs its own tokens, hands the state on.
  Result<void> hand_over(Channel& channel, const Site& site);

  // Full attention. Everyone attends (keys and values of its own tokens); a later player asks an earlier one,
  // who answers and forgets; the later one takes the sums, and closes with its own causal part.
  Result<void> attend(Channel& channel, const Site& site);
  Result<void> ask(Channel& channel, const Site& site, std::int64_t sender) const;
  Result<void> answer(Channel& channel, const Site& site, std::int64_t receiver, SumWidths widths) const;
  Result<void> take(Channel& channel, const Site& site, std::int64_t sender);
  void close(const Site& site);

  // Sparse and top-k attention: takes what is published, runs its own tokens, publishes its own units.
  // `turn(j)` lets player j answer a selection; it carries nothing.
  using Turn = std::function<Result<void>(std::int64_t player)>;
  Result<void> select(Channel& channel, const Site& site, const Turn& turn);
  Result<void> answer_selection(Channel& channel, const Site& site, std::int64_t receiver) const;

  const OwnedSegment& segment() const { return players_[static_cast<std::size_t>(self_)]; }
  // Row-major, one row an own position.
  const std::vector<std::int64_t>& rows() const { return x_; }
  Readout read(std::int64_t position) const;  // REQUIRES an own position

 private:
  bool first() const { return self_ == 0; }
  bool last() const { return self_ + 1 == static_cast<std::int64_t>(players_.size()); }
  const std::int64_t* input(std::int64_t i) const { return u_.data() + i * model_.width(); }
  std::int64_t* output(const Site& site, std::int64_t i) {
    return mixed_.data() + i * mixed_width_ + site.offset;
  }
  Message to(const Site& site, std::int64_t receiver, MessageKind kind, std::int64_t tokens) const;
  // The state message between neighbours; nothing is sent, and zeros stand for it, where it has no numbers or
  // no sender.
  Result<std::vector<std::int64_t>> take_state(Channel& channel, const Site& site,
                                               const std::vector<int>& widths) const;
  Result<void> pass_state(Channel& channel, const Site& site, const std::vector<std::int64_t>& numbers,
                          const std::vector<int>& widths) const;
  // Units that this player completes: those whose last token it owns.
  std::pair<std::int64_t, std::int64_t> own_units(std::int64_t player, std::int64_t unit) const;
  Result<void> read_units(Channel& channel, const Site& site, const std::vector<std::int64_t>& units,
                          const Turn& turn);

  const ModelParts& model_;
  const std::vector<OwnedSegment>& players_;
  std::int64_t self_;
  std::vector<std::int64_t> x_, u_, mixed_;
  std::int64_t mixed_width_ = 0;
  std::unique_ptr<AttentionSegment> attention_;  // of the full attention at hand
  std::vector<std::vector<SoftmaxSums>> sums_;   // per own token: what the players before sent, added up
  std::unique_ptr<ExactState> selected_;         // of the selecting attention at hand
  std::vector<bool> known_;                      // earlier tokens whose keys and values it was told there
};

}  // namespace rung
