// The one way by which a player learns what it does not own. Every number travels with a declared width and
// is counted; a number that does not fit its width is not sent. A query is heard and forgotten (its reply is
// computed by a const member of the sender), which is why the theorems do not charge it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

#include "rung/base/words.h"
#include "rung/exact/integer.h"

namespace rung {

enum class MessageKind {
  query,  // a later player's queries of one layer, all its tokens and heads: asked, answered, forgotten
  partial_sums,  // (num, den) per receiving token and head over the sender's tokens
  state,         // what a recurrence, a convolution, a window or an incomplete block hands to the next player
  summary,       // compressed blocks (sparse) or index keys (topk), published once for all later players
  selection,     // the selected units that a later player wants to read: asked, answered, forgotten
  tokens,        // keys and values of the tokens of selected units
};
template <>
inline constexpr auto kWords<MessageKind> =
    std::to_array<std::string_view>({"queries", "partial sums", "state", "summaries", "selection", "tokens"});
inline std::string_view message_kind_name(MessageKind kind) { return name_of(kind); }
// Whether the theorems' counts charge it. Queries and selections go to a player who forgets them; what a
// selection reads is counted apart, because it depends on the input.
bool is_charged(MessageKind kind);

inline constexpr std::int64_t kLaterPlayers = -1;  // Message::to of a published message

struct Message {
  std::int64_t epoch = 0;         // the layer, from 0
  std::int64_t part = 0;          // the mixer inside heads(...); 0 otherwise
  std::int64_t from = 0, to = 0;  // players by index, earliest positions first
  MessageKind kind = MessageKind::state;
  std::int64_t tokens =
      0;  // partial sums, queries: receiving tokens; summary, tokens: tokens told about; state: 0
  std::int64_t numbers = 0;
  std::int64_t bits = 0;  // declared
  int widest = 0;         // bits that the widest of its numbers really needs
};

struct NumberWidth {
  int bits = 0;
  bool has_sign = true;
};
// Bits that x needs.
int number_bits(Int128 x, bool has_sign);

class Channel {
 public:
  // May change the numbers of a message, or lose it by returning false: the negative control of tests.
  using Tamper = std::function<bool(const Message& message, std::vector<Int128>& numbers)>;
  explicit Channel(Tamper tamper = {}) : tamper_(std::move(tamper)) {}

  // `message` without its counts; number i has width widths[i % widths.size()]. Errors: a number that does
  // not fit.
  Result<void> send(Message message, std::vector<Int128> numbers, std::span<const NumberWidth> widths);
  // The numbers sent from `from` to `to`, or published by `from` < `to`. Errors: nothing was sent.
  Result<std::vector<Int128>> receive(std::int64_t epoch, std::int64_t part, std::int64_t from,
                                      std::int64_t to, MessageKind kind);
  void end_epoch() { waiting_.clear(); }

  // Everything sent so far, one entry per (epoch, part, from, to, kind) in the order of the first sending.
  const std::vector<Message>& log() const { return log_; }

 private:
  using Address = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, MessageKind>;
  Tamper tamper_;
  std::map<Address, std::vector<Int128>> waiting_;
  std::map<Address, std::size_t> entries_;
  std::vector<Message> log_;
};

}  // namespace rung
