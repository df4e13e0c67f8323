// A call is three lines: the search's name, the method, the seconds that it may take.
#include "rung/adversary/shared_search.h"

#include <cstdlib>

#include "rung/base/require.h"

namespace rung {
namespace {

constexpr const char* kCalls = "searches";

bool shared(const SearchOptions& options) { return options.ranks && !options.ranks->alone(); }

}  // namespace

SharedSearches::SharedSearches(const SearchOptions& options) {
  if (shared(options)) calls_.emplace(*options.ranks, kCalls);
}

Result<AttackOutcome> SharedSearches::run(const Target& target, const AttackMethod& method,
                                          const SearchOptions& options) {
  SearchOptions own = options;
  if (!calls_ || !method.spreads) {
    if (calls_ && options.log)
      options.log(fmt::format("{} is not split: it runs on rank 0 alone", method.name));
    own.ranks = nullptr;
    return method.run(target, own);
  }
  own.queue = fmt::format("search {}", ++searches_);
  const TaskQueue whole(*options.ranks, own.queue);  // closes what stands below it
  for (int other = 1; other < options.ranks->count(); ++other)
    calls_->post(fmt::format("{}\n{}\n{}", own.queue, method.name, own.seconds));
  return method.run(target, own);
}

void help_attack(const Target& target, const SearchOptions& options) {
  RUNG_REQUIRE(options.ranks && !options.ranks->leads(), "rank 0 searches itself");
  QueueWorker calls(*options.ranks, kCalls);
  while (const auto call = calls.draw()) {
    const std::size_t first = call->order.find('\n'), second = call->order.find('\n', first + 1);
    SearchOptions own = options;
    own.queue = call->order.substr(0, first);
    own.seconds = std::atof(call->order.c_str() + second + 1);
    own.checkpoint.clear();
    own.progress = {};
    const QueueWorker whole(*options.ranks, own.queue);
    own.stop = [&] { return whole.closed() || (options.stop && options.stop()); };
    const auto method = find_attack_method(call->order.substr(first + 1, second - first - 1));
    RUNG_REQUIRE(method.ok(), "a call to {}", call->order);
    if (!own.stop()) {
      const auto helped = (*method)->run(target, own);
      if (!helped) options.ranks->take_no_part(helped.error().message);
    }
    calls.hand_in(*call, "");
  }
}

}  // namespace rung
