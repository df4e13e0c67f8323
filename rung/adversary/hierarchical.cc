// Claim: a stack of L recurrent layers with s bits each collides after about r K^(L-1) 2^(s/2) token steps, K
// = s/2 + O(1), not 2^(Ls/2), on prompts of r K^(L-1) tokens.
//
// collide(1) is a birthday on layer 1 over one segment of r tokens. collide(l) lines up segments, each a pair
// from collide(l-1) started where the one before ended: all 2^K mixtures of their sides agree on the layers
// below l, and among them two agree on layer l. The segments are added one by one, the leaves doubling each
// time, until two leaves are equal.
//
// Invariant: both sides of a segment lead from one common state of the layers 1..l to one common state of
// them.
#include "rung/adversary/method_list.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "rung/adversary/device_collisions.h"
#include "rung/adversary/distinguished_points.h"
#include "rung/adversary/search_clock.h"
#include "rung/base/parallel.h"
#include "rung/base/plural.h"

namespace rung {
namespace {

constexpr std::size_t kHierarchicalMostRows = 64;     // rows a slot that are varied
constexpr double kHierarchicalSpareBits = 4;          // strings a birthday may draw: 2^(s/2 + kSpareBits)
constexpr std::int64_t kHierarchicalBatch = 1 << 14;  // evaluations between two looks at the table
constexpr std::int64_t kAhead = 12;                   // keys whose place in the table is fetched in advance
constexpr std::int64_t kHierarchicalChunk = 1 << 11;  // leaves that one worker advances at a time
constexpr std::int64_t kFirstLook = 6;  // lg of the number of leaves from which on equal ones are looked for,
constexpr std::int64_t kLookEvery = 3;  // at first at every third doubling
constexpr const char* kNoSegment = "layer 1 has no collision within its segment";

using Choices = std::vector<std::uint16_t>;
struct Segment {
  std::int64_t first = 0;  // slot
  Choices one, two;
};

// Open addressing, emptied by counting up a stamp.
class BirthdayTable {
 public:
  explicit BirthdayTable(int bits) : mask_((std::size_t{1} << bits) - 1), entries_(std::size_t{1} << bits) {}
  void empty() {
    ++stamp_;
    used_ = 0;
  }
  bool full() const { return used_ * 4 > entries_.size() * 3; }
  void prefetch(std::uint64_t key) const { __builtin_prefetch(&entries_[spread(key) & mask_], 1); }
  // The earlier number with the same key, or nothing; the key is then stored.
  std::optional<std::uint32_t> meet(std::uint64_t key, std::uint32_t number) {
    for (std::size_t i = spread(key) & mask_;; i = (i + 1) & mask_) {
      Entry& entry = entries_[i];
      if (entry.stamp != stamp_) {
        entry = {key, number, stamp_};
        ++used_;
        return std::nullopt;
      }
      if (entry.key == key) return entry.number;
    }
  }

 private:
  struct Entry {
    std::uint64_t key = 0;
    std::uint32_t number = 0, stamp = 0;
  };
  std::size_t mask_, used_ = 0;
  std::vector<Entry> entries_;
  std::uint32_t stamp_ = 0;
};

class HierarchicalSearch {
 public:
  HierarchicalSearch(const Target& target, const SearchOptions& options, std::unique_ptr<StateKernel> kernel,
                     std::optional<DeviceCollisions> device)
      : target_(target),
        options_(options),
        clock_(options),
        kernel_(std::move(kernel)),
        device_(std::move(device)),
        table_(device_ ? 1 : table_bits()),
        leaf_table_(device_ ? 1 : table_bits()) {
    memory_ = tables_ = device_ ? device_->memory_bytes() : std::uint64_t{2 * 16} << table_bits();
  }

  Result<AttackOutcome> run() {
    AttackOutcome outcome{.method = "hierarchical", .nominal_bits = target_.nominal_bits};
    const std::int64_t depth = kernel_->layers();
    const std::vector<std::int64_t> empty(static_cast<std::size_t>(kernel_->numbers(depth)), 0);
    for (std::uint64_t attempt = 0; !clock_.over(); ++attempt) {
      salt_ = spread(options_.seed + attempt * kGoldenGamma);
      RUNG_TRY(const auto segment, collide(depth, empty, 0));
      if (!segment) break;
      RUNG_TRY(outcome.certificate, certify_beginnings(target_, kernel_->space().prefix(segment->one),
                                                       kernel_->space().prefix(segment->two)));
      if (!outcome.certificate) continue;
      outcome.verdict = Evidence::refuted;
      outcome.details["tokens"] = std::to_string(segment->one.size());
      break;
    }
    outcome.evaluations = evaluations_;
    outcome.seconds = clock_.seconds();
    outcome.memory_bytes = memory_;
    outcome.details["kernel"] = kernel_->name();
    if (device_) outcome.details["device"] = lanes::device_name();
    std::string bits;
    for (std::int64_t l = 1; l <= depth; ++l)
      bits += fmt::format("{}{}", l > 1 ? " " : "", kernel_->bits(l) - kernel_->bits(l - 1));
    outcome.details["bits_by_layer"] = bits;
    outcome.reason =
        outcome.certificate
            ? fmt::format("layers collide one after the other, 2^{:.1f} segments evaluated",
                          std::log2(static_cast<double>(std::max<std::uint64_t>(1, evaluations_))))
        : reason_.empty() ? "the budget ended first"
                          : reason_;
    return outcome;
  }

 private:
  int table_bits() const {
    std::int64_t most = 0;
    for (std::int64_t l = 1; l <= kernel_->layers(); ++l)
      most = std::max(most, kernel_->bits(l) - kernel_->bits(l - 1));
    const int fits = static_cast<int>(std::bit_width(options_.memory_bytes / 64)) -
                     1;  // two tables of 16 bytes in half of the memory
    return static_cast<int>(std::clamp<std::int64_t>(most / 2 + 3, 10, std::clamp(fits, 10, 30)));
  }
  std::int64_t slots() const { return static_cast<std::int64_t>(kernel_->space().slots.size()); }

  // Both sides over slots from `first` on, from the common state `start` (numbers(depth) values).
  Result<std::optional<Segment>> collide(std::int64_t depth, const std::vector<std::int64_t>& start,
                                         std::int64_t first) {
    if (depth == 1) return device_ ? birthday_on_device(start, first) : birthday(start, first);
    const std::int64_t below = kernel_->numbers(depth - 1), size = kernel_->numbers(depth),
                       own = size - below;
    if (own == 0) return collide(depth - 1, start, first);
    if (device_) return collide_on_device(depth, start, first);
    std::vector<std::int64_t> common(start.begin(),
                                     start.begin() + below);  // layers below, after the segments so far
    std::vector<std::int64_t> leaves(start.begin() + below, start.end());  // layer `depth`, one row a mixture
    std::vector<Segment> segments;
    std::int64_t slot = first;
    for (std::int64_t lg = 1;; ++lg) {
      RUNG_TRY(auto segment, collide(depth - 1, common, slot));
      if (!segment) return std::optional<Segment>{};
      const auto length = static_cast<std::int64_t>(segment->one.size());
      slot += length;
      const std::int64_t count = static_cast<std::int64_t>(leaves.size()) / own;
      std::vector<std::int64_t> grown(static_cast<std::size_t>(2 * count * own));
      memory_ =
          std::max<std::uint64_t>(memory_, tables_ + (leaves.size() + grown.size()) * sizeof(std::int64_t));
      if (memory_ > options_.memory_bytes) {
        reason_ = fmt::format("layer {} would need more than {} bytes for its leaves", depth,
                              options_.memory_bytes);
        return std::optional<Segment>{};
      }
      std::vector<std::int64_t> end(static_cast<std::size_t>(below));
      parallel_for(2 * count, kHierarchicalChunk, [&](std::int64_t begin, std::int64_t stop) {
        for (std::int64_t from = begin; from < stop;) {
          const bool second = from >= count;
          const std::int64_t to = second ? stop : std::min(stop, count), many = to - from;
          const Choices& side = second ? segment->two : segment->one;
          std::vector<std::int64_t> before(static_cast<std::size_t>(many * size)), after(before.size());
          for (std::int64_t i = 0; i < many; ++i) {
            auto* row = before.data() + i * size;
            std::copy(common.begin(), common.end(), row);
            std::copy_n(leaves.begin() + (from + i - (second ? count : 0)) * own, own, row + below);
          }
          kernel_->run_alike(depth, segment->first, length, many, side.data(), before.data(), after.data());
          for (std::int64_t i = 0; i < many; ++i)
            std::copy_n(after.begin() + i * size + below, own, grown.begin() + (from + i) * own);
          if (from == 0) std::copy_n(after.begin(), below, end.begin());
          from = to;
        }
      });
      evaluations_ += static_cast<std::uint64_t>(2 * count);
      leaves = std::move(grown);
      common = std::move(end);
      segments.push_back(std::move(*segment));
      report(depth, lg);
      if (clock_.over()) return std::optional<Segment>{};
      if (!worth_looking(depth, lg)) continue;
      if (const auto pair = equal_leaves(leaves, own))
        return std::optional(mixture(segments, first, pair->first, pair->second));
    }
  }
  // The same with the leaves in the memory of the device.
  Result<std::optional<Segment>> collide_on_device(std::int64_t depth, const std::vector<std::int64_t>& start,
                                                   std::int64_t first) {
    const std::int64_t below = kernel_->numbers(depth - 1);
    std::vector<std::int64_t> common(start.begin(), start.begin() + below);
    RUNG_CHECK(device_->plant(depth, start, below));
    std::vector<Segment> segments;
    std::int64_t slot = first;
    for (std::int64_t lg = 1;; ++lg) {
      RUNG_TRY(auto segment, collide(depth - 1, common, slot));
      if (!segment) return std::optional<Segment>{};
      slot += static_cast<std::int64_t>(segment->one.size());
      RUNG_TRY(const bool grew, device_->grow(depth, segment->first, segment->one, segment->two, common));
      memory_ = device_->memory_bytes();
      if (!grew) {
        reason_ = fmt::format("layer {} has more leaves than the device has memory for", depth);
        return std::optional<Segment>{};
      }
      evaluations_ += device_->leaves(depth);
      segments.push_back(std::move(*segment));
      report(depth, lg);
      if (clock_.over()) return std::optional<Segment>{};
      if (!worth_looking(depth, lg)) continue;
      RUNG_TRY(const auto pair, device_->equal_leaves(depth));
      if (pair)
        return std::optional(mixture(segments, first, static_cast<std::int64_t>(pair->first),
                                     static_cast<std::int64_t>(pair->second)));
    }
  }
  void report(std::int64_t depth, std::int64_t lg) {
    clock_.report(
        {evaluations_, {}, memory_, fmt::format("layer {} of {}, segment {}", depth, kernel_->layers(), lg)});
  }
  // Equal leaves are expected at half the layer's bits, and looked for now and then before: rounding may waste
  // bits.
  bool worth_looking(std::int64_t depth, std::int64_t lg) const {
    const std::int64_t expected = (kernel_->bits(depth) - kernel_->bits(depth - 1)) / 2 - 1;
    return lg >= expected || (lg >= kFirstLook && lg % kLookEvery == 0);
  }

  std::optional<std::pair<std::int64_t, std::int64_t>> equal_leaves(const std::vector<std::int64_t>& leaves,
                                                                    std::int64_t own) {
    const std::int64_t count = static_cast<std::int64_t>(leaves.size()) / own;
    leaf_table_.empty();
    for (std::int64_t i = 0; i < count; ++i) {
      const auto* leaf = leaves.data() + i * own;
      std::uint64_t key = 0;
      for (std::int64_t e = 0; e < own; ++e)
        key = spread(key * kKeyMultiplier + static_cast<std::uint64_t>(leaf[e]));
      if (leaf_table_.full()) leaf_table_.empty();
      if (const auto earlier = leaf_table_.meet(key, static_cast<std::uint32_t>(i));
          earlier && std::equal(leaf, leaf + own, leaves.data() + *earlier * own))
        return std::pair(static_cast<std::int64_t>(*earlier), i);
    }
    return std::nullopt;
  }
  // Leaf number i took the second side of segment k where bit k of i is set.
  static Segment mixture(const std::vector<Segment>& segments, std::int64_t first, std::int64_t one,
                         std::int64_t two) {
    Segment mixed{first, {}, {}};
    for (std::size_t k = 0; k < segments.size(); ++k) {
      const auto& a = one >> k & 1 ? segments[k].two : segments[k].one;
      const auto& b = two >> k & 1 ? segments[k].two : segments[k].one;
      mixed.one.insert(mixed.one.end(), a.begin(), a.end());
      mixed.two.insert(mixed.two.end(), b.begin(), b.end());
    }
    return mixed;
  }

  // The walk of a birthday on layer 1 from slot `first` on, or nothing where the prompt ends too early.
  std::optional<Walk> birthday_walk(const std::vector<std::int64_t>& start, std::int64_t first) {
    const double wanted = static_cast<double>(kernel_->bits(1)) / 2 + kHierarchicalSpareBits;
    std::int64_t length = 0;
    for (double have = 0; have < wanted && first + length < slots(); ++length)
      have += std::log2(
          static_cast<double>(kernel_->space().slots[static_cast<std::size_t>(first + length)].rows.size()));
    if (first + length >= slots() && first > 0) {
      reason_ = fmt::format("the prompt of {} tokens is too short for segments at every layer", slots());
      return std::nullopt;
    }
    return Walk{.salt = salt_ + static_cast<std::uint64_t>(first) * kGoldenGamma,
                .depth = 1,
                .first = first,
                .length = length,
                .start = first == 0 ? nullptr : start.data()};
  }
  Result<std::optional<Segment>> birthday_on_device(const std::vector<std::int64_t>& start,
                                                    std::int64_t first) {
    const auto walk = birthday_walk(start, first);
    if (!walk) return std::optional<Segment>{};
    Segment found{first, Choices(static_cast<std::size_t>(walk->length)), {}};
    found.two = found.one;
    RUNG_TRY(const auto pair,
             device_->birthday(
                 *walk,
                 [&](const DeviceCollisions::Pair& met) {
                   kernel_->draw(*walk, &met.first, found.one.data());
                   kernel_->draw(*walk, &met.second, found.two.data());
                   return found.one != found.two;
                 },
                 [&](std::uint64_t count) {
                   evaluations_ += count;
                   clock_.report({evaluations_, {}, memory_, fmt::format("layer 1, slot {}", first)});
                 },
                 [&] { return clock_.over(); }));
    if (pair) return std::optional(std::move(found));
    if (!clock_.over()) reason_ = kNoSegment;
    return std::optional<Segment>{};
  }

  Result<std::optional<Segment>> birthday(const std::vector<std::int64_t>& start, std::int64_t first) {
    const auto planned = birthday_walk(start, first);
    if (!planned) return std::optional<Segment>{};
    const Walk& walk = *planned;
    table_.empty();
    std::vector<std::uint64_t> x(static_cast<std::size_t>(kHierarchicalBatch)), keys(x.size());
    Choices one(static_cast<std::size_t>(walk.length)), two(one.size());
    for (std::uint32_t base = 0; !table_.full(); base += kHierarchicalBatch) {
      std::iota(x.begin(), x.end(), std::uint64_t{base});
      parallel_for(kHierarchicalBatch, kHierarchicalBatch / 4, [&](std::int64_t begin, std::int64_t end) {
        kernel_->keys(walk, x.data() + begin, end - begin, keys.data() + begin);
      });
      evaluations_ += static_cast<std::uint64_t>(kHierarchicalBatch);
      for (std::int64_t i = 0; i < kHierarchicalBatch; ++i) {
        const auto number = base + static_cast<std::uint32_t>(i);
        if (i + kAhead < kHierarchicalBatch) table_.prefetch(keys[static_cast<std::size_t>(i + kAhead)]);
        const auto earlier = table_.meet(keys[static_cast<std::size_t>(i)], number);
        if (!earlier) continue;
        const std::uint64_t met[] = {*earlier, number};
        kernel_->draw(walk, met, one.data());
        kernel_->draw(walk, met + 1, two.data());
        if (one != two) return std::optional(Segment{first, one, two});
      }
      clock_.report({evaluations_, {}, memory_, fmt::format("layer 1, slot {}", first)});
      if (clock_.over()) return std::optional<Segment>{};
    }
    reason_ = kNoSegment;
    return std::optional<Segment>{};
  }

  const Target& target_;
  const SearchOptions& options_;
  SearchClock clock_;
  std::unique_ptr<StateKernel> kernel_;
  std::optional<DeviceCollisions> device_;  // nothing: tables and leaves are the processor's
  BirthdayTable table_, leaf_table_;
  std::uint64_t salt_ = 0, evaluations_ = 0, memory_ = 0, tables_ = 0;
  std::string reason_;
};

Fitness hierarchical_fitness(const Target& target) {
  if (const auto reason = not_purely_recurrent(target)) return {false, *reason, 0};
  const auto space = beginnings(*target.task, kHierarchicalMostRows);
  auto kernel = make_state_kernel(target, *space);
  if (!kernel) return {false, kernel.error().message, 0};
  if (!(*kernel)->restarts()) return {false, "these mixers have no kernel that restarts from a state", 0};
  const std::int64_t depth = (*kernel)->layers();
  std::int64_t stateful = 0, most = 0;
  for (std::int64_t l = 1; l <= depth; ++l) {
    const std::int64_t bits = (*kernel)->bits(l) - (*kernel)->bits(l - 1);
    stateful += bits > 0;
    most = std::max(most, bits);
  }
  if (stateful < 2) return {false, "a single layer has no layers to take one after the other", 0};
  if ((*kernel)->bits(1) == 0) return {false, "the first layer has no state", 0};
  if (most > 62)
    return {false, fmt::format("a layer of {} bits is too large for a birthday in memory", most), 0};
  // r tokens a birthday, K segments a layer: both as the theory counts them.
  const double half = static_cast<double>(most) / 2,
               choices = std::log2(static_cast<double>(space->slots[0].rows.size()));
  const double tokens = std::ceil((half + kHierarchicalSpareBits) / choices) *
                        std::pow(half + 3, static_cast<double>(stateful - 1));
  if (tokens > static_cast<double>(space->slots.size()))
    return {false,
            fmt::format("{} of up to {} bits need about {:.0f} tokens; the prompt has {}",
                        counted(stateful, "layer"), most, tokens, space->slots.size()),
            0};
  return {true, fmt::format("{} of up to {} bits, one after the other", counted(stateful, "layer"), most),
          half + std::log2(1.25 * tokens)};
}

Result<AttackOutcome> run_hierarchical(const Target& target, const SearchOptions& options) {
  RUNG_TRY(auto kernel, make_state_kernel(target, *beginnings(*target.task, kHierarchicalMostRows)));
  RUNG_TRY(auto program, program_for(*kernel, options));
  std::optional<DeviceCollisions> device;
  if (program) {
    std::int64_t most = 0;
    for (std::int64_t l = 1; l <= kernel->layers(); ++l)
      most = std::max(most, kernel->bits(l) - kernel->bits(l - 1));
    RUNG_TRY(device, DeviceCollisions::make(std::move(program), most));
  }
  return HierarchicalSearch(target, options, std::move(kernel), std::move(device)).run();
}

}  // namespace

AttackMethod hierarchical_method() {
  return {"hierarchical",           "collisions of a stack, layer by layer",
          &hierarchical_fitness,    &run_hierarchical,
          /*seeks_collision=*/true, /*spreads=*/false,
          /*on_device=*/true};
}

}  // namespace rung
