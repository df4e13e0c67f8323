// kind (1 byte), ticket, number, length of the board's name (8 bytes each, this machine's order), name, text.
#include "rung/ranks/dispatch.h"

#include <cstring>

#include "rung/spec/require.h"

namespace rung {
namespace {

constexpr std::size_t kHead = 1 + 3 * sizeof(std::uint64_t);

}  // namespace

std::string pack(const Dispatch& letter) {
  std::string bytes(1, static_cast<char>(letter.kind));
  bytes.reserve(kHead + letter.board.size() + letter.text.size());
  for (const std::uint64_t value :
       {letter.ticket, letter.number, static_cast<std::uint64_t>(letter.board.size())})
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  return bytes += letter.board, bytes += letter.text;
}

Dispatch unpack(std::string_view bytes) {
  RUNG_REQUIRE(bytes.size() >= kHead, "a letter of {} bytes", bytes.size());
  Dispatch letter;
  letter.kind = static_cast<Dispatch::Kind>(bytes[0]);
  RUNG_REQUIRE(letter.kind <= Dispatch::Kind::leave, "a letter of kind {}", static_cast<int>(letter.kind));
  std::uint64_t name = 0;
  std::memcpy(&letter.ticket, bytes.data() + 1, sizeof name);
  std::memcpy(&letter.number, bytes.data() + 1 + sizeof name, sizeof name);
  std::memcpy(&name, bytes.data() + 1 + 2 * sizeof name, sizeof name);
  bytes.remove_prefix(kHead);
  RUNG_REQUIRE(name <= bytes.size(), "a name of {} bytes in {}", name, bytes.size());
  letter.board = bytes.substr(0, name);
  letter.text = bytes.substr(name);
  return letter;
}

}  // namespace rung
