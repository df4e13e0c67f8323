// Who owns which positions. Players own consecutive positions, so causality lets knowledge flow one way: what
// the owner of later positions knows may depend on all earlier tokens, never the other way round.
//
//   two-party   Alice owns the positions before the cut, Bob the rest
//   players     L-SeqComp in the hard order: players L, ..., 1 own z_L, ..., z_1, player 0 owns z_0, player
//   -1 owns
//               w_1, ..., w_{L-1} and `=` (Chen, Peng, Wu 2412.02975)
//   sparse      every complete block of B tokens before the last answer position is a player, the rest is one
//   more
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rung/spec/architecture.h"
#include "rung/tasks/task.h"

namespace rung {

enum class ProtocolForm { automatic, two_party, players, sparse };
Result<ProtocolForm> parse_protocol_form(std::string_view text);
std::string_view protocol_form_name(ProtocolForm form);  // "auto", "two-party", "players", "sparse"

struct OwnedSegment {
  std::string name;                 // "2", "Alice", "block 0"
  std::string owns;                 // "z_2", "positions before the cut"
  std::int64_t first = 0, end = 0;  // positions first .. end - 1, at least one
  std::int64_t size() const { return end - first; }
};

inline constexpr std::int64_t kMaxPlayers = 4096;

// Where the two-party form cuts unless told: after z_L (seqcomp in the hard order), after the first string
// (equality, disjointness), before the first answer position otherwise.
std::int64_t natural_cut(const Task& task);
// The form that `automatic` stands for: players for seqcomp in the hard order, sparse where a layer has
// blocks, else two-party.
ProtocolForm automatic_form(const Task& task, const std::vector<LayerShape>& layers);
// REQUIRES form != automatic. Errors: a form that the task or the model does not have, a cut outside 1 ..
// T-1, too many players.
Result<std::vector<OwnedSegment>> make_segments(const Task& task, const std::vector<LayerShape>& layers,
                                                ProtocolForm form, std::optional<std::int64_t> cut);

}  // namespace rung
