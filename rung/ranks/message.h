// What ranks write to each other.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rung {

struct Message {
  enum class Kind : std::uint8_t {
    beat,      // I am alive
    draw,      // to rank 0: a piece of this queue, please           -> piece or closed
    piece,     // the answer: its number and its order
    closed,    // this queue (empty: every queue) has no more pieces
    result,    // to rank 0: what came of a piece
    question,  // to rank 0, about a piece that I hold               -> answer or lost
    answer,
    lost,     // the piece is another's by now
    trouble,  // to rank 0: why I take no part
    gone,     // to rank 0: I have nothing left to do
    leave,    // to all: the job is over; `number` is its exit code
  };
  Kind kind = Kind::beat;
  std::uint64_t ticket = 0;  // of a draw or a question; its answer has the same
  std::uint64_t number = 0;  // of the piece
  std::string queue = {}, text = {};
};

std::string pack(const Message& message);
// REQUIRES bytes that pack() made: ranks of one job run one program.
Message unpack(std::string_view bytes);

}  // namespace rung
