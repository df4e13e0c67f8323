// kind (1 byte), ticket, number, length of the queue's name (8 bytes each, this machine's order), name, text.
#include "rung/ranks/message.h"

#include <cstring>

#include "rung/base/require.h"

namespace rung {
namespace {

constexpr std::size_t kHead = 1 + 3 * sizeof(std::uint64_t);

}  // namespace

std::string pack(const RankMessage& message) {
  std::string bytes(1, static_cast<char>(message.kind));
  bytes.reserve(kHead + message.queue.size() + message.text.size());
  for (const std::uint64_t value :
       {message.ticket, message.number, static_cast<std::uint64_t>(message.queue.size())})
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  return bytes += message.queue, bytes += message.text;
}

RankMessage unpack(std::string_view bytes) {
  RUNG_REQUIRE(bytes.size() >= kHead, "a message of {} bytes", bytes.size());
  RankMessage message;
  message.kind = static_cast<RankMessage::Kind>(bytes[0]);
  RUNG_REQUIRE(message.kind <= RankMessage::Kind::leave, "a message of kind {}",
               static_cast<int>(message.kind));
  std::uint64_t name = 0;
  std::memcpy(&message.ticket, bytes.data() + 1, sizeof name);
  std::memcpy(&message.number, bytes.data() + 1 + sizeof name, sizeof name);
  std::memcpy(&name, bytes.data() + 1 + 2 * sizeof name, sizeof name);
  bytes.remove_prefix(kHead);
  RUNG_REQUIRE(name <= bytes.size(), "a name of {} bytes in {}", name, bytes.size());
  message.queue = bytes.substr(0, name);
  message.text = bytes.substr(name);
  return message;
}

}  // namespace rung
