// Invariant: after a batch the table holds, for every key met so far, the first prompt that ended in it.
// Entries are hashes: a match is believed only after `meet` has rerun both prompts.
#include "rung/adversary/birthday.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <map>
#include <thread>
#include <unordered_map>

#include "rung/adversary/checkpoint.h"
#include "rung/base/parallel.h"
#include "rung/base/random.h"
#include "rung/ranks/task_queue.h"

namespace rung {
namespace {

constexpr std::uint64_t kNothingNew = 4096;  // evaluations without a new ending: there are no others
constexpr std::uint64_t kLargestBatch = 1 << 16;
constexpr double kBatchSeconds = 0.25;             // batches grow until one takes about this long
constexpr std::uint64_t kBirthdayEntryBytes = 64;  // of the table, with its overhead

struct Seen {
  std::uint64_t tag = 0, index = 0;
};

}  // namespace

std::uint64_t hash_numbers(std::uint64_t start, const std::vector<std::int64_t>& numbers) {
  std::uint64_t hash = start;
  for (const auto number : numbers) hash = Random(hash, static_cast<std::uint64_t>(number)).next();
  return hash;
}

namespace {

using Clock = std::chrono::steady_clock;
using Endings = std::vector<Ending>;

// Where the endings of prompts come from, a batch at a time and in order.
class EndingSource {
 public:
  virtual ~EndingSource() = default;
  // Those of the prompts first, first + 1, ...: as many as it pleases, at least one. REQUIRES limit - first
  // >= 1; `first` is where the last batch ended.
  virtual Result<std::vector<Endings>> next(std::uint64_t first, std::uint64_t limit) = 0;
};

// `wanted` false: what is left is not evaluated, and the endings are worth nothing.
Result<std::vector<Endings>> evaluate_all(
    const Birthday& birthday, std::uint64_t first, std::uint64_t count,
    const std::function<bool()>& wanted = [] { return true; }) {
  std::vector<std::optional<Result<Endings>>> found(count);
  parallel_for(static_cast<std::int64_t>(count), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      found[static_cast<std::size_t>(i)] =
          wanted() ? birthday.evaluate(first + static_cast<std::uint64_t>(i)) : Result<Endings>(Endings{});
  });
  std::vector<Endings> endings;
  endings.reserve(count);
  for (auto& one : found) {
    if (!one->ok()) return one->error();
    endings.push_back(std::move(**one));
  }
  return endings;
}

// Batches grow until one takes about kBatchSeconds.
class GrowingBatch {
 public:
  std::uint64_t size() const { return size_; }
  void took(double seconds) {
    if (seconds < kBatchSeconds) size_ = std::min(2 * size_, kLargestBatch);
  }

 private:
  std::uint64_t size_ = static_cast<std::uint64_t>(worker_count());
};

class OwnEndings : public EndingSource {
 public:
  explicit OwnEndings(const Birthday& birthday) : birthday_(birthday) {}
  Result<std::vector<Endings>> next(std::uint64_t first, std::uint64_t limit) override {
    const auto began = Clock::now();
    auto endings = evaluate_all(birthday_, first, std::min(batch_.size(), limit - first));
    batch_.took(std::chrono::duration<double>(Clock::now() - began).count());
    return endings;
  }

 private:
  const Birthday& birthday_;
  GrowingBatch batch_;
};

// A item is "first count"; its result the seconds that it took, then for each prompt the number of its
// endings, keys and tags.
void evaluate_pieces(const Birthday& birthday, QueueWorker& worker) {
  while (const auto item = worker.draw()) {
    const auto began = Clock::now();
    char* end = nullptr;
    const std::uint64_t first = std::strtoull(item->order.c_str(), &end, 10),
                        count = std::strtoull(end, nullptr, 10);
    const auto all = evaluate_all(birthday, first, count, [&] { return !worker.closed(); });
    CheckpointWriter writer;
    writer.put(std::bit_cast<std::uint64_t>(std::chrono::duration<double>(Clock::now() - began).count()));
    if (all)
      for (const Endings& endings : *all) {
        writer.put(endings.size());
        for (const Ending& ending : endings) writer.put(ending.key), writer.put(ending.tag);
      }
    worker.hand_in(*item, all ? writer.bytes() : all.error().message);
  }
}

// Batches evaluated by all ranks; results wait until those before them are there, so that the search finds
// the pair that one rank finds.
class SharedEndings : public EndingSource {
 public:
  SharedEndings(const Birthday& birthday, Ranks& ranks, const std::string& name)
      : ranks_(ranks), queue_(ranks, name), own_([this, &birthday, name] {
          QueueWorker worker(ranks_, name);
          evaluate_pieces(birthday, worker);
        }) {}
  ~SharedEndings() override { queue_.close(); }  // then the own thread ends, too

  Result<std::vector<Endings>> next(std::uint64_t first, std::uint64_t limit) override {
    for (;;) {
      while (posted_ - taken_ < kPiecesARank * static_cast<std::uint64_t>(ranks_.living()) &&
             planned_ < limit) {
        const std::uint64_t count = std::min(batch_.size(), limit - planned_);
        RUNG_REQUIRE(planned_ >= first, "planned {} before {}", planned_, first);
        counts_[queue_.post(fmt::format("{} {}", planned_, count))] = count;
        planned_ += count;
        ++posted_;
      }
      if (const auto ready = results_.find(taken_); ready != results_.end()) {
        ++taken_;
        return read(ready->first, ready->second);
      }
      if (auto event = queue_.collect(1.0)) results_[event->number] = std::move(event->text);
    }
  }

 private:
  static constexpr std::uint64_t kPiecesARank = 2;  // in hand, and waiting for it or for those before it

  Result<std::vector<Endings>> read(std::uint64_t number, const std::string& text) {
    CheckpointReader reader(text);
    std::uint64_t seconds = 0, size = 0;
    std::vector<Endings> all(counts_.at(number));
    bool good = reader.take(seconds);
    for (Endings& endings : all) {
      good = good && reader.take(size) && size <= text.size();
      endings.resize(good ? size : 0);
      for (Ending& ending : endings) good = good && reader.take(ending.key) && reader.take(ending.tag);
    }
    if (!good || !reader.done())
      return fail(ErrorCode::resource, "{}", text);  // the error of the rank that evaluated it
    batch_.took(std::bit_cast<double>(seconds));
    counts_.erase(number);
    results_.erase(number);
    return all;
  }

  Ranks& ranks_;
  TaskQueue queue_;
  GrowingBatch batch_;
  std::map<std::uint64_t, std::uint64_t> counts_;  // prompts, by item
  std::map<std::uint64_t, std::string> results_;
  std::uint64_t planned_ = 0, posted_ = 0, taken_ = 0;
  std::jthread own_;  // ends first
};

}  // namespace

Result<void> search_birthday(const Birthday& birthday, const SearchOptions& options, AttackOutcome& outcome) {
  const std::string name = options.queue + "/" + birthday.stage;
  if (options.ranks && !options.ranks->leads()) {
    QueueWorker worker(*options.ranks, name);
    evaluate_pieces(birthday, worker);
    return {};
  }
  const auto start = Clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  std::unique_ptr<EndingSource> source;
  if (options.ranks)
    source = std::make_unique<SharedEndings>(birthday, *options.ranks, name);
  else
    source = std::make_unique<OwnEndings>(birthday);
  std::unordered_map<std::uint64_t, Seen> table;
  std::uint64_t next = 0, last_new = 0;
  const double before = outcome.seconds;
  outcome.reason = "the budget ended before two prompts met";
  while (elapsed() < options.seconds && !(options.stop && options.stop())) {
    RUNG_TRY(const std::vector<Endings> endings, source->next(next, birthday.limit));
    for (std::uint64_t i = 0; i < endings.size() && outcome.verdict != Evidence::refuted; ++i) {
      ++outcome.evaluations;
      for (const Ending& ending : endings[i]) {
        const auto [entry, fresh] = table.try_emplace(ending.key, Seen{ending.tag, next + i});
        if (fresh) last_new = next + i;
        if (fresh || entry->second.tag == ending.tag) continue;
        RUNG_TRY(outcome.certificate, birthday.meet(entry->second.index, next + i));
        if (!outcome.certificate) continue;
        outcome.verdict = Evidence::refuted;
        outcome.effective_bits = 2 * std::log2(static_cast<double>(next + i + 1));
        outcome.reason =
            fmt::format("two of {} prompts reach the same end; their answers differ", next + i + 1);
        break;
      }
    }
    next += endings.size();
    outcome.memory_bytes = std::max(outcome.memory_bytes, table.size() * kBirthdayEntryBytes);
    outcome.seconds = before + elapsed();
    if (options.progress)
      options.progress(
          {outcome.evaluations, birthday.expected_evaluations, outcome.memory_bytes, birthday.stage});
    if (outcome.verdict == Evidence::refuted) break;
    if (next >= birthday.limit || next - last_new > kNothingNew) {
      outcome.reason =
          "no new end state appears among these prompts, and no two with different answers share one";
      break;
    }
    if (table.size() * kBirthdayEntryBytes > options.memory_bytes) {
      outcome.reason = "the table of endings reached the memory limit";
      break;
    }
  }
  outcome.details["endings"] = std::to_string(table.size());
  outcome.seconds = before + elapsed();
  return {};
}

}  // namespace rung
