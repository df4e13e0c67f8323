// Claim: an additive state of s bits over n >= 2^r positions collides after about 2^r 2^(s/(r+1)) list
// elements.
//
// The positions are cut into 2^r groups. A list holds differences Σ u(i, c_i) - u(i, c'_i) of two random
// choices of its group. Lists are joined in pairs, level by level; each join keeps sums whose next s/(r+1)
// bits are zero. Bits are taken from the lowest of an entry upwards: once the low bits of all elements are
// zero, the next bits of a sum depend on those bits alone. The last join asks for twice as many bits and
// leaves about one solution: c and c' with equal states.
//
// Invariant: every element of a list at level l is zero in the first l windows, and is the sum of one leaf of
// each of its groups. Elements are joined in the order in which they were drawn; cutting a sorted list short
// would keep only similar ones.
#include "rung/adversary/method_list.h"

#include <algorithm>
#include <cmath>

#include "rung/adversary/additive_state.h"
#include "rung/adversary/search_clock.h"
#include "rung/base/plural.h"
#include "rung/base/random.h"

namespace rung {
namespace {

constexpr std::size_t kGeneralisedBirthdayMostRows = 256;
constexpr double kSlack = 1.5;   // list length over 2^(window bits)
constexpr int kMostWindow = 24;  // lists of 2^24 elements
constexpr int kMostLevels = 12;

struct Tree {
  int levels = 0;  // r
  int window = 0;  // bits a level
  double lg_work() const { return levels + window; }
};

// The cheapest tree for s bits over `slots` positions; nothing when even the deepest needs lists that are too
// long.
std::optional<Tree> choose_tree(std::int64_t bits, std::int64_t slots, double lg_rows) {
  std::optional<Tree> best;
  for (int r = 1; r <= kMostLevels && (std::int64_t{1} << r) <= slots; ++r) {
    const int window = static_cast<int>((bits + r) / (r + 1));
    const double group = static_cast<double>(slots >> r);
    if (window > kMostWindow || 2 * lg_rows * group < window + 2)
      continue;  // a group must offer enough different differences
    const Tree tree{r, window};
    if (!best || tree.lg_work() < best->lg_work()) best = tree;
  }
  return best;
}

class GeneralisedBirthdaySearch {
 public:
  GeneralisedBirthdaySearch(const Target& target, const SearchOptions& options,
                            std::unique_ptr<StateKernel> kernel)
      : target_(target),
        options_(options),
        clock_(options),
        kernel_(std::move(kernel)),
        state_(additive_state(target, *kernel_)) {}

  Result<AttackOutcome> run() {
    AttackOutcome outcome{.method = "generalised-birthday", .nominal_bits = target_.nominal_bits};
    const auto slots = static_cast<std::int64_t>(state_.terms.size());
    const std::int64_t bits = state_.numbers * state_.bits;
    const auto tree =
        choose_tree(bits, slots, std::log2(static_cast<double>(kernel_->space().slots[0].rows.size())));
    RUNG_REQUIRE(tree.has_value(), "fitness was asked");
    tree_ = *tree;
    group_ = slots >> tree_.levels;
    length_ = static_cast<std::size_t>(kSlack * std::exp2(tree_.window));
    outcome.details["lists"] = std::to_string(std::int64_t{1} << tree_.levels);
    outcome.details["window_bits"] = std::to_string(tree_.window);
    outcome.details["state_bits"] = std::to_string(bits);
    const std::uint64_t lists = static_cast<std::uint64_t>(tree_.levels + 2) * length_ *
                                static_cast<std::uint64_t>(state_.numbers * 8 + 8);
    if (lists > options_.memory_bytes) {
      outcome.reason =
          fmt::format("its lists need {} bytes of memory; the limit is {}", lists, options_.memory_bytes);
      return outcome;
    }
    int attempts = 0;
    for (; !clock_.over(); ++attempts) {
      seed_ = options_.seed + static_cast<std::uint64_t>(attempts);
      const List root = build(tree_.levels, 0);
      for (std::size_t e = 0; e < root.size() && !outcome.certificate; ++e) {
        std::vector<std::uint16_t> one(static_cast<std::size_t>(slots), 0), two(one.size(), 0);
        unfold(root, e, one, two);
        if (one == two) continue;
        RUNG_TRY(outcome.certificate,
                 certify_beginnings(target_, kernel_->space().prefix(one), kernel_->space().prefix(two)));
      }
      if (outcome.certificate) break;
    }
    outcome.evaluations = evaluations_;
    outcome.seconds = clock_.seconds();
    outcome.memory_bytes = memory_;
    if (outcome.certificate) outcome.verdict = Evidence::refuted;
    outcome.reason =
        outcome.certificate
            ? fmt::format("{} lists of 2^{:.1f} differences, {} bits per join", 1 << tree_.levels,
                          std::log2(static_cast<double>(length_)), tree_.window)
            : fmt::format("no solution in {} trees before the budget ended", attempts);
    return outcome;
  }

 private:
  // One list: sums side by side, and where each came from. A leaf's element e is number e of its group.
  struct List {
    std::int64_t numbers = 0;
    int level = 0;
    std::int64_t group = 0;                                     // first group covered
    std::vector<std::uint64_t> sums;                            // rows of `numbers`
    std::vector<std::pair<std::uint32_t, std::uint32_t>> from;  // joined lists: elements of left and right
    std::shared_ptr<List> left, right;                          // kept without their sums
    std::size_t size() const { return sums.size() / static_cast<std::size_t>(numbers); }
  };

  std::uint64_t mask() const {
    return state_.bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << state_.bits) - 1;
  }

  // The choices of element e of a group: two rows a slot.
  void draw(std::int64_t group, std::uint64_t e, std::uint16_t* one, std::uint16_t* two) const {
    Random random(seed_ * 1000003 + static_cast<std::uint64_t>(group), e);
    for (std::int64_t j = 0; j < group_; ++j) {
      const auto rows = kernel_->space().slots[static_cast<std::size_t>(group * group_ + j)].rows.size();
      one[j] = static_cast<std::uint16_t>(random.below(rows));
      two[j] = static_cast<std::uint16_t>(random.below(rows));
    }
  }
  List leaf(std::int64_t group) {
    List list{state_.numbers, 0, group, {}, {}, {}, {}};
    list.sums.resize(length_ * static_cast<std::size_t>(state_.numbers));
    std::vector<std::uint16_t> one(static_cast<std::size_t>(group_)), two(one.size());
    for (std::size_t e = 0; e < length_; ++e) {
      draw(group, e, one.data(), two.data());
      auto* sum = list.sums.data() + e * static_cast<std::size_t>(state_.numbers);
      for (std::int64_t j = 0; j < group_; ++j) {
        const auto slot = static_cast<std::size_t>(group * group_ + j);
        const auto *a = state_.term(slot, one[static_cast<std::size_t>(j)]),
                   *b = state_.term(slot, two[static_cast<std::size_t>(j)]);
        for (std::int64_t i = 0; i < state_.numbers; ++i)
          sum[i] = (sum[i] + static_cast<std::uint64_t>(a[i]) - static_cast<std::uint64_t>(b[i])) & mask();
      }
    }
    evaluations_ += length_;
    return list;
  }

  // Bits [begin, end) of the sum, negated part by part when asked: what the other side must have.
  std::uint64_t window(const std::uint64_t* sum, std::int64_t begin, std::int64_t end, bool negated) const {
    std::uint64_t key = 0;
    int filled = 0;
    for (std::int64_t bit = begin; bit < end;) {
      const std::int64_t number = bit / state_.bits, low = bit % state_.bits;
      const int take = static_cast<int>(std::min<std::int64_t>(state_.bits - low, end - bit));
      const std::uint64_t part_mask = take == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << take) - 1;
      std::uint64_t part = sum[number] >> low;
      if (negated) part = 0 - part;
      key |= (part & part_mask) << filled;
      filled += take;
      bit += take;
    }
    return key;
  }

  List build(int level, std::int64_t group) {
    if (clock_.over()) return {state_.numbers, level, group, {}, {}, {}, {}};
    if (level == 0) return leaf(group);
    auto left = std::make_shared<List>(build(level - 1, group));
    auto right = std::make_shared<List>(build(level - 1, group + (std::int64_t{1} << (level - 1))));
    List joined{state_.numbers, level, group, {}, {}, left, right};
    const std::int64_t bits = state_.numbers * state_.bits, begin = (level - 1) * std::int64_t{tree_.window};
    const std::int64_t end =
        level == tree_.levels ? bits : std::min<std::int64_t>(bits, begin + tree_.window);
    // Buckets of the right list by the window's low bits; the rest of the window is compared.
    const int bucket_bits = std::min<int>(static_cast<int>(std::min<std::int64_t>(end - begin, 22)), 22);
    const std::uint64_t bucket_mask = (std::uint64_t{1} << bucket_bits) - 1;
    const auto numbers = static_cast<std::size_t>(state_.numbers);
    const bool wide = end - begin > 64;
    std::vector<std::uint32_t> head(std::size_t{1} << bucket_bits, ~0u), next(right->size());
    for (std::size_t e = 0; e < right->size(); ++e) {
      auto& place = head[window(right->sums.data() + e * numbers, begin, std::min(end, begin + 64), true) &
                         bucket_mask];
      next[e] = place;
      place = static_cast<std::uint32_t>(e);
    }
    const std::size_t most = level == tree_.levels ? ~std::size_t{0} : length_;
    for (std::size_t e = 0; e < left->size() && joined.from.size() < most; ++e) {
      const auto* a = left->sums.data() + e * numbers;
      const std::uint64_t key = window(a, begin, std::min(end, begin + 64), false);
      for (std::uint32_t f = head[key & bucket_mask]; f != ~0u && joined.from.size() < most; f = next[f]) {
        const auto* b = right->sums.data() + f * numbers;
        if (window(b, begin, std::min(end, begin + 64), true) != key) continue;
        if (wide && window(a, begin + 64, end, false) != window(b, begin + 64, end, true)) continue;
        joined.from.emplace_back(static_cast<std::uint32_t>(e), f);
        for (std::size_t i = 0; i < numbers; ++i) joined.sums.push_back((a[i] + b[i]) & mask());
      }
    }
    memory_ = std::max<std::uint64_t>(memory_, (left->sums.size() + right->sums.size() + joined.sums.size()) *
                                                   8 * static_cast<std::uint64_t>(level + 1));
    left->sums = {};
    right->sums = {};
    clock_.report({evaluations_, static_cast<double>(length_) * std::exp2(tree_.levels), memory_,
                   fmt::format("join at level {} of {}", level, tree_.levels)});
    return joined;
  }

  void unfold(const List& list, std::size_t element, std::vector<std::uint16_t>& one,
              std::vector<std::uint16_t>& two) const {
    if (list.level == 0) {
      draw(list.group, element, one.data() + list.group * group_, two.data() + list.group * group_);
      return;
    }
    unfold(*list.left, list.from[element].first, one, two);
    unfold(*list.right, list.from[element].second, one, two);
  }

  const Target& target_;
  const SearchOptions& options_;
  SearchClock clock_;
  std::unique_ptr<StateKernel> kernel_;
  AdditiveState state_;
  Tree tree_;
  std::int64_t group_ = 1;  // slots a group
  std::size_t length_ = 0;  // elements a list
  std::uint64_t seed_ = 0, evaluations_ = 0, memory_ = 0;
};

Fitness generalised_birthday_fitness(const Target& target) {
  if (const auto reason = not_additive(target)) return {false, *reason, 0};
  auto kernel = make_state_kernel(target, *beginnings(*target.task, kGeneralisedBirthdayMostRows));
  if (!kernel || !(*kernel)->restarts())
    return {false, "this layer has no kernel that restarts from a state", 0};
  const AdditiveState state = additive_state(target, **kernel);
  const std::int64_t bits = state.numbers * state.bits;
  const auto tree = choose_tree(bits, static_cast<std::int64_t>(state.terms.size()),
                                std::log2(static_cast<double>((*kernel)->space().slots[0].rows.size())));
  if (!tree)
    return {false,
            fmt::format("an additive state of {} bits over {} tokens needs lists beyond 2^{} elements", bits,
                        state.terms.size(), kMostWindow),
            0};
  return {true, fmt::format("an additive state of {}, 2^{} lists", counted(bits, "bit"), tree->levels),
          tree->lg_work()};
}

Result<AttackOutcome> run_generalised_birthday(const Target& target, const SearchOptions& options) {
  RUNG_TRY(auto kernel, make_state_kernel(target, *beginnings(*target.task, kGeneralisedBirthdayMostRows)));
  return GeneralisedBirthdaySearch(target, options, std::move(kernel)).run();
}

}  // namespace

AttackMethod generalised_birthday_method() {
  return {"generalised-birthday", "collisions of an additive state, by joining lists of differences",
          &generalised_birthday_fitness, &run_generalised_birthday, /*seeks_collision=*/true};
}

}  // namespace rung
