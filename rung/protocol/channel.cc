#include "rung/protocol/channel.h"

#include <algorithm>

namespace rung {

bool is_charged(MessageKind kind) {
  return kind == MessageKind::partial_sums || kind == MessageKind::state || kind == MessageKind::summary;
}

int number_bits(Int128 x, bool has_sign) {
  if (x < 0) x = -(x + 1);
  int bits = has_sign ? 1 : 0;
  for (; x > 0; x >>= 1) ++bits;
  return bits;
}

Result<void> Channel::send(Message message, std::vector<Int128> numbers,
                           std::span<const NumberWidth> widths) {
  RUNG_REQUIRE(!widths.empty() && numbers.size() % widths.size() == 0, "{} numbers, {} widths",
               numbers.size(), widths.size());
  message.numbers = static_cast<std::int64_t>(numbers.size());
  message.bits = 0;
  for (const auto& width : widths) message.bits += width.bits;
  message.bits *= static_cast<std::int64_t>(numbers.size() / widths.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto& width = widths[i % widths.size()];
    const int needed = number_bits(numbers[i], width.has_sign);
    if (needed > width.bits || (numbers[i] < 0 && !width.has_sign))
      return fail(ErrorCode::range,
                  "[protocol] layer {}: a number of {} bits among the {}; {} bits are declared",
                  message.epoch, needed, message_kind_name(message.kind), width.bits);
    message.widest = std::max(message.widest, needed);
  }
  const Address address{message.epoch, message.part, message.from, message.to, message.kind};
  const auto [entry, fresh] = entries_.try_emplace(address, log_.size());
  if (fresh) {
    log_.push_back(message);
  } else {
    Message& logged = log_[entry->second];
    logged.tokens += message.tokens;
    logged.numbers += message.numbers;
    logged.bits += message.bits;
    logged.widest = std::max(logged.widest, message.widest);
  }
  if (tamper_ && !tamper_(message, numbers)) return {};
  waiting_[address] = std::move(numbers);
  return {};
}

Result<std::vector<Int128>> Channel::receive(std::int64_t epoch, std::int64_t part, std::int64_t from,
                                             std::int64_t to, MessageKind kind) {
  if (from < to) {
    const auto published = waiting_.find({epoch, part, from, kLaterPlayers, kind});
    if (published != waiting_.end()) return published->second;
  }
  const auto sent = waiting_.find({epoch, part, from, to, kind});
  if (sent == waiting_.end())
    return fail(ErrorCode::missing,
                "[protocol] layer {}: player {} of the order waits for {} from player {}, and none came",
                epoch, to, message_kind_name(kind), from);
  std::vector<Int128> numbers = std::move(sent->second);
  waiting_.erase(sent);
  return numbers;
}

}  // namespace rung
