// Invariant: after a batch the table holds, for every key met so far, the first prompt that ended in it.
// Entries are hashes: a match is believed only after `meet` has rerun both prompts.
#include "rung/adversary/birthday.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <unordered_map>

#include "rung/spec/parallel.h"
#include "rung/spec/random.h"

namespace rung {
namespace {

constexpr std::uint64_t kNothingNew = 4096;  // evaluations without a new ending: there are no others
constexpr std::uint64_t kLargestBatch = 1 << 16;
constexpr double kBatchSeconds = 0.25;     // batches grow until one takes about this long
constexpr std::uint64_t kEntryBytes = 64;  // of the table, with its overhead

struct Seen {
  std::uint64_t tag = 0, index = 0;
};

}  // namespace

std::uint64_t hash_numbers(std::uint64_t start, const std::vector<std::int64_t>& numbers) {
  std::uint64_t hash = start;
  for (const auto number : numbers) hash = Random(hash, static_cast<std::uint64_t>(number)).next();
  return hash;
}

Result<void> search_birthday(const Birthday& birthday, const SearchOptions& options, AttackOutcome& outcome) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  std::unordered_map<std::uint64_t, Seen> table;
  std::uint64_t next = 0, last_new = 0, batch = static_cast<std::uint64_t>(worker_count());
  const double before = outcome.seconds;
  outcome.reason = "the budget ended before two prompts met";
  while (elapsed() < options.seconds && !(options.stop && options.stop())) {
    batch = std::min(batch, birthday.limit - next);
    std::vector<std::optional<Result<std::vector<Ending>>>> endings(batch);
    const double began = elapsed();
    parallel_for(static_cast<std::int64_t>(batch), 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        endings[static_cast<std::size_t>(i)] = birthday.evaluate(next + static_cast<std::uint64_t>(i));
    });
    for (std::uint64_t i = 0; i < batch && outcome.verdict != AttackVerdict::refuted; ++i) {
      if (!endings[i]->ok()) return endings[i]->error();
      ++outcome.evaluations;
      for (const Ending& ending : **endings[i]) {
        const auto [entry, fresh] = table.try_emplace(ending.key, Seen{ending.tag, next + i});
        if (fresh) last_new = next + i;
        if (fresh || entry->second.tag == ending.tag) continue;
        RUNG_TRY(outcome.certificate, birthday.meet(entry->second.index, next + i));
        if (!outcome.certificate) continue;
        outcome.verdict = AttackVerdict::refuted;
        outcome.effective_bits = 2 * std::log2(static_cast<double>(next + i + 1));
        outcome.reason = fmt::format("two of {} prompts end alike, their answers differ", next + i + 1);
        break;
      }
    }
    next += batch;
    outcome.memory_bytes = std::max(outcome.memory_bytes, table.size() * kEntryBytes);
    outcome.seconds = before + elapsed();
    if (options.progress)
      options.progress(
          {outcome.evaluations, birthday.expected_evaluations, outcome.memory_bytes, birthday.stage});
    if (outcome.verdict == AttackVerdict::refuted) break;
    if (next >= birthday.limit || next - last_new > kNothingNew) {
      outcome.reason = "no further ending appears among these prompts, and none of those seen is shared";
      break;
    }
    if (table.size() * kEntryBytes > options.memory_bytes) {
      outcome.reason = "the table of endings reached the memory limit";
      break;
    }
    if (elapsed() - began < kBatchSeconds) batch = std::min(2 * batch, kLargestBatch);
  }
  outcome.details["endings"] = std::to_string(table.size());
  outcome.seconds = before + elapsed();
  return {};
}

}  // namespace rung
