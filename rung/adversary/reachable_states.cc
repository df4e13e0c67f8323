// Claim: the number of different states after the values of a function is exactly |A_n|, A_0 = {empty},
// A_{i+1} = all successors of A_i. Where it is smaller than the number of functions, two functions share a
// state (pigeonhole), and the first level with fewer states than paths shows such a pair.
//
// Invariant: A_i is one bit a state (2^s bits, s the state's bits on paper), in the memory of the processor or of a
// device. Until the first collision every
// state has one path, kept as parent and row, so the pair can be read off.
#include "rung/adversary/method_list.h"

#include <atomic>
#include <bit>
#include <cmath>
#include <memory>
#include <unordered_map>

#include "rung/adversary/checkpoint.h"
#include "rung/adversary/device_program.h"
#include "rung/adversary/distinguished_points.h"
#include "rung/adversary/search_clock.h"
#include "rung/base/parallel.h"
#include "rung/base/plural.h"

namespace rung {
namespace {

constexpr std::int64_t kMostBits =
    36;  // two bit sets of 2^36 bits are 16 GiB: the limit of memory comes first
constexpr std::size_t kMostPaths = std::size_t{1}
                                   << 25;  // paths that are kept while looking for the first collision
constexpr std::uint64_t kPathBytes = 96;   // of a path, with its place in the table of states
constexpr std::int64_t kReachableStatesChunk = 1024;  // states whose successors are computed together
constexpr std::int64_t kGrainWords = 1 << 12;         // words of a bit set that one worker scans at a time
constexpr std::size_t kPartWords = 1 << 20;           // copied from or to a device at once
constexpr double kSecondsWorthSaving = 5;             // a level that took longer is saved

class StateSet {
 public:
  explicit StateSet(std::size_t words) : words_(words) {}
  // Whether it was new. Callable from several threads.
  bool insert(std::uint64_t key) {
    const std::uint64_t bit = std::uint64_t{1} << (key & 63);
    auto& word = words_[key >> 6];
    if (word.load(std::memory_order_relaxed) & bit) return false;
    return (word.fetch_or(bit, std::memory_order_relaxed) & bit) == 0;
  }
  void prefetch(std::uint64_t key) const { __builtin_prefetch(&words_[key >> 6], 1, 0); }
  std::uint64_t word(std::size_t i) const { return words_[i].load(std::memory_order_relaxed); }
  void set_word(std::size_t i, std::uint64_t value) { words_[i].store(value, std::memory_order_relaxed); }
  std::size_t words() const { return words_.size(); }
  void clear() {
    parallel_for(static_cast<std::int64_t>(words_.size()), 1 << 16,
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t i = begin; i < end; ++i)
                     words_[static_cast<std::size_t>(i)].store(0, std::memory_order_relaxed);
                 });
  }

 private:
  std::vector<std::atomic<std::uint64_t>> words_;
};

class ReachableStatesSearch {
 public:
  ReachableStatesSearch(const Target& target, const SearchOptions& options,
                        std::unique_ptr<StateKernel> kernel, std::unique_ptr<DeviceProgram> device,
                        std::optional<DeviceStates> states)
      : target_(target),
        options_(options),
        clock_(options),
        kernel_(std::move(kernel)),
        device_(std::move(device)),
        states_(std::move(states)),
        depth_(kernel_->layers()),
        bits_(static_cast<int>(kernel_->bits(depth_))),
        words_((std::size_t{1} << bits_) / 64 + 1),
        now_(device_ ? 0 : words_),
        next_(device_ ? 0 : words_),
        fingerprint_(search_fingerprint(target, "reachable", 0, std::to_string(bits_))) {}

  Result<AttackOutcome> run() {
    RUNG_CHECK(find_pair());
    RUNG_TRY(const bool complete, count_all());
    AttackOutcome outcome{.method = "reachable", .nominal_bits = target_.nominal_bits};
    outcome.evaluations = evaluations_;
    outcome.seconds = clock_.seconds();
    outcome.memory_bytes = 2 * words_ * 8;
    if (device_) outcome.details["device"] = lanes::device_name();
    std::string counts;
    for (std::size_t i = 0; i < levels_.size(); ++i) counts += fmt::format("{}{}", i ? " " : "", levels_[i]);
    outcome.details["states_by_tokens"] = counts;
    const double all = kernel_->space().lg_size();
    if (complete) {
      outcome.effective_bits = std::log2(static_cast<double>(levels_.back()));
      outcome.details["states"] = std::to_string(levels_.back());
      outcome.details["beginnings_lg"] = fmt::format("{:.2f}", all);
    }
    outcome.certificate = std::move(certificate_);
    const std::string counted =
        complete ? fmt::format("exactly {} states (2^{:.2f}) are reachable by 2^{:.2f} beginnings",
                               levels_.back(), *outcome.effective_bits, all)
                 : fmt::format("{} states after {} of {} tokens when the budget ended", levels_.back(),
                               levels_.size() - 1, kernel_->space().slots.size());
    if (outcome.certificate) {
      outcome.verdict = Evidence::refuted;
      outcome.reason = counted;
    } else {
      outcome.no_collision = complete && std::abs(*outcome.effective_bits - all) < 1e-9;
      outcome.reason =
          outcome.no_collision ? "all beginnings reach different states: there is no collision" : counted;
    }
    return outcome;
  }

 private:
  std::int64_t rows(std::int64_t slot) const {
    return static_cast<std::int64_t>(kernel_->space().slots[static_cast<std::size_t>(slot)].rows.size());
  }

  // Levels with one path a state, until two paths meet.
  Result<void> find_pair() {
    struct Node {
      std::uint64_t key;
      std::uint32_t parent;
      std::uint16_t row;
    };
    std::vector<std::vector<Node>> levels{{{0, 0, 0}}};
    const auto path = [&](std::size_t level, std::uint32_t index) {
      std::vector<std::uint16_t> choices(level);
      for (std::size_t l = level; l > 0; --l) {
        const Node& node = levels[l][index];
        choices[l - 1] = node.row;
        index = node.parent;
      }
      return choices;
    };
    std::size_t kept = 1;
    const auto slots = static_cast<std::int64_t>(kernel_->space().slots.size());
    for (std::int64_t slot = 0; slot < slots && !certificate_ && !clock_.over(); ++slot) {
      const std::int64_t count = rows(slot);
      if (kept + levels.back().size() * static_cast<std::size_t>(count) >
          std::min<std::uint64_t>(kMostPaths, options_.memory_bytes / kPathBytes))
        break;
      std::unordered_map<std::uint64_t, std::uint32_t> seen;
      levels.emplace_back();
      const auto level = static_cast<std::size_t>(slot) + 1;
      std::vector<std::uint64_t> after(static_cast<std::size_t>(count));
      for (std::uint32_t i = 0; i < levels[level - 1].size() && !certificate_; ++i) {
        kernel_->successors(depth_, slot, &levels[level - 1][i].key, 1, after.data());
        evaluations_ += static_cast<std::uint64_t>(count);
        for (std::int64_t v = 0; v < count && !certificate_; ++v) {
          const std::uint64_t key = after[static_cast<std::size_t>(v)];
          const auto index = static_cast<std::uint32_t>(levels[level].size());
          levels[level].push_back({key, i, static_cast<std::uint16_t>(v)});
          const auto [place, fresh] = seen.try_emplace(key, index);
          if (fresh) continue;
          RUNG_TRY(certificate_,
                   certify_beginnings(target_, kernel_->space().prefix(path(level, place->second)),
                                      kernel_->space().prefix(path(level, index))));
        }
      }
      kept += levels[level].size();
    }
    return {};
  }

  // True when every level was counted; false when the budget ended.
  Result<bool> count_all() {
    std::int64_t slot = 0;
    levels_ = {1};
    if (device_) {
      const std::uint64_t empty = 1;
      RUNG_CHECK(states_->write(0, {&empty, 1}));
    } else {
      now_.insert(0);
    }
    RUNG_CHECK(resume(slot));
    for (; slot < slots(); ++slot) {
      const double begun = clock_.seconds();
      RUNG_TRY(const auto found, device_ ? advance_on_device(slot) : advance(slot));
      if (!found) return false;
      levels_.push_back(*found);
      if (clock_.seconds() - begun > kSecondsWorthSaving) RUNG_CHECK(save(slot + 1));
    }
    return true;
  }
  std::int64_t slots() const { return static_cast<std::int64_t>(kernel_->space().slots.size()); }
  std::size_t device_words() const { return std::max<std::size_t>(1, words_ - 1); }
  void report(std::int64_t slot) {
    clock_.report({evaluations_,
                   {},
                   2 * words_ * 8,
                   fmt::format("token {} of {}, {} states", slot + 1, slots(), levels_.back())});
  }

  // The next level: its states, or nothing when the budget ended.
  Result<std::optional<std::uint64_t>> advance_on_device(std::int64_t slot) {
    RUNG_TRY(const auto found,
             states_->advance(
                 *device_, *kernel_, slot, [&] { report(slot); }, [&] { return clock_.over(); }));
    if (found) evaluations_ += levels_.back() * static_cast<std::uint64_t>(rows(slot));
    return found;
  }
  Result<std::optional<std::uint64_t>> advance(std::int64_t slot) {
    next_.clear();
    std::atomic<std::uint64_t> found{0};
    std::atomic<bool> late{false};
    parallel_for(
        static_cast<std::int64_t>(now_.words()), kGrainWords, [&](std::int64_t begin, std::int64_t end) {
          if (late) return;
          std::vector<std::uint64_t> keys,
              after(static_cast<std::size_t>(kReachableStatesChunk * rows(slot)));
          keys.reserve(kReachableStatesChunk + 64);
          std::uint64_t fresh = 0;
          const auto flush = [&] {
            if (keys.empty()) return;
            for (std::size_t from = 0; from < keys.size(); from += kReachableStatesChunk) {
              const auto count =
                  static_cast<std::int64_t>(std::min<std::size_t>(kReachableStatesChunk, keys.size() - from));
              kernel_->successors(depth_, slot, keys.data() + from, count, after.data());
              const std::int64_t total = count * rows(slot);
              constexpr std::int64_t kAhead = 16;
              for (std::int64_t i = 0; i < total; ++i) {
                if (i + kAhead < total) next_.prefetch(after[static_cast<std::size_t>(i + kAhead)]);
                fresh += next_.insert(after[static_cast<std::size_t>(i)]);
              }
            }
            evaluations_ += keys.size() * static_cast<std::uint64_t>(rows(slot));
            keys.clear();
          };
          for (std::int64_t w = begin; w < end; ++w) {
            for (std::uint64_t word = now_.word(static_cast<std::size_t>(w)); word != 0; word &= word - 1)
              keys.push_back(static_cast<std::uint64_t>(w) * 64 +
                             static_cast<std::uint64_t>(std::countr_zero(word)));
            if (keys.size() >= static_cast<std::size_t>(kReachableStatesChunk)) flush();
          }
          flush();
          found += fresh;
          report(slot);
          if (clock_.over()) late = true;
        });
    if (late) return std::optional<std::uint64_t>{};
    std::swap(now_, next_);
    return std::optional<std::uint64_t>(found);
  }

  Result<void> resume(std::int64_t& slot) {
    if (options_.checkpoint.empty()) return {};
    RUNG_TRY(const auto bytes, load_checkpoint(options_.checkpoint, fingerprint_));
    if (!bytes) return {};
    CheckpointReader reader(*bytes);
    std::uint64_t done = 0, value = 0;
    bool good = reader.take(done) && done < kernel_->space().slots.size() + 1;
    levels_.clear();
    for (std::uint64_t i = 0; good && i <= done; ++i) {
      good = reader.take(value);
      levels_.push_back(value);
    }
    good = good && reader.rest().size() == words_ * 8;
    for (std::size_t w = 0; good && w < now_.words(); ++w) {
      good = reader.take(value);
      now_.set_word(w, value);
    }
    if (good && device_) {
      std::vector<std::uint64_t> part;
      for (std::size_t w = 0; w < device_words(); w += part.size()) {
        part.resize(std::min(kPartWords, device_words() - w));
        for (auto& word : part) reader.take(word);
        RUNG_CHECK(states_->write(w, part));
      }
    }
    if (!good) return fail(ErrorCode::format, "[break] the checkpoint {} is cut short", options_.checkpoint);
    slot = static_cast<std::int64_t>(done);
    return {};
  }
  Result<void> save(std::int64_t slot) {
    if (options_.checkpoint.empty()) return {};
    CheckpointWriter writer;
    writer.put(static_cast<std::uint64_t>(slot));
    for (const auto count : levels_) writer.put(count);
    writer.reserve(words_ + levels_.size() + 1);
    for (std::size_t w = 0; w < now_.words(); ++w) writer.put(now_.word(w));
    if (device_) {
      std::vector<std::uint64_t> part;
      for (std::size_t w = 0; w < device_words(); w += part.size()) {
        part.resize(std::min(kPartWords, device_words() - w));
        RUNG_CHECK(states_->read(w, part));
        for (const auto word : part) writer.put(word);
      }
      for (std::size_t w = device_words(); w < words_; ++w) writer.put(0);
    }
    return save_checkpoint(options_.checkpoint, fingerprint_, writer.bytes());
  }

  const Target& target_;
  const SearchOptions& options_;
  SearchClock clock_;
  std::unique_ptr<StateKernel> kernel_;
  std::unique_ptr<DeviceProgram> device_;  // null: the sets are the processor's
  std::optional<DeviceStates> states_;
  std::int64_t depth_;
  int bits_;
  std::size_t words_;    // of a set, and one more
  StateSet now_, next_;  // empty where the sets are on a device
  std::string fingerprint_;
  std::atomic<std::uint64_t> evaluations_{0};
  std::vector<std::uint64_t> levels_;
  std::optional<Certificate> certificate_;
};

Fitness reachable_states_fitness(const Target& target) {
  if (const auto reason = not_purely_recurrent(target)) return {false, *reason, 0};
  if (target.nominal_bits > kMostBits)
    return {false,
            fmt::format("{} bits of state are too many to list; at most {}", target.nominal_bits, kMostBits),
            0};
  if (target.nominal_bits < 1) return {false, "no state", 0};
  const auto space = beginnings(*target.task, kMostChoices);
  const auto kernel = make_state_kernel(target, *space);
  if (!kernel || !(*kernel)->restarts())
    return {false, "these mixers have no kernel that restarts from a state", 0};
  if ((*kernel)->bits((*kernel)->layers()) > kMostBits)
    return {false, "states of exact accumulators are too wide to list", 0};
  const double work = std::min(space->lg_size(), static_cast<double>(target.nominal_bits));
  return {true, fmt::format("a state of {} can be listed", counted(target.nominal_bits, "bit")),
          work + std::log2(static_cast<double>(space->slots[0].rows.size()))};
}

Result<AttackOutcome> run_reachable_states(const Target& target, const SearchOptions& options) {
  RUNG_TRY(auto kernel, make_state_kernel(target, *beginnings(*target.task, kMostChoices)));
  RUNG_TRY(auto device, program_for(*kernel, options));
  const auto bits = static_cast<int>(kernel->bits(kernel->layers()));
  // On a device the sets lie there, and one of them passes through this memory when it is saved.
  const std::uint64_t set = (std::uint64_t{1} << bits) / 8 + 8, sets = !device                      ? 2
                                                                       : options.checkpoint.empty() ? 0
                                                                                                    : 1;
  if (sets * set > options.memory_bytes)
    return AttackOutcome{.method = "reachable",
                         .reason = fmt::format("{} of states need {} bytes of memory{}; the limit is {}",
                                               counted(static_cast<std::int64_t>(sets), "set"), sets * set,
                                               device ? " when saved" : "", options.memory_bytes),
                         .nominal_bits = target.nominal_bits};
  std::optional<DeviceStates> states;
  if (device) {
    RUNG_TRY(states, DeviceStates::make(bits));
  }
  return ReachableStatesSearch(target, options, std::move(kernel), std::move(device), std::move(states))
      .run();
}

}  // namespace

AttackMethod reachable_states_method() {
  return {"reachable",
          "all states that can be reached: the exact capacity",
          &reachable_states_fitness,
          &run_reachable_states,
          /*seeks_collision=*/true,
          /*spreads=*/false,
          /*on_device=*/true};
}

}  // namespace rung
