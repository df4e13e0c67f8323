// What ranks write to each other.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rung {

struct RankMessage {
  enum class Kind : std::uint8_t {
    beat,      // I am alive
    draw,      // to rank 0: a item of this queue, please           -> item or closed
    item,      // the answer: its number and its order
    closed,    // this queue (empty: every queue) has no more pieces
    result,    // to rank 0: what came of a item
    question,  // to rank 0, about a item that I hold               -> answer or lost
    answer,
    lost,     // the item is another's by now
    refusal,  // to rank 0: why I take no part
    gone,     // to rank 0: I have nothing left to do
    leave,    // to all: the job is over; `number` is its exit code
  };
  Kind kind = Kind::beat;
  std::uint64_t ticket = 0;  // of a draw or a question; its answer has the same
  std::uint64_t number = 0;  // of the item
  std::string queue = {}, text = {};
};

std::string pack(const RankMessage& message);
// REQUIRES bytes that pack() made: ranks of one job run one program.
RankMessage unpack(std::string_view bytes);

}  // namespace rung
