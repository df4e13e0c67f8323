#include "rung/design/layout_search.h"

#include <algorithm>
#include <map>

#include "rung/base/require.h"

namespace rung {
namespace {

bool covers(const DownSet& larger, const DownSet& smaller) {
  for (std::size_t i = 0; i < larger.most.size(); ++i)
    if (larger.most[i] && (!smaller.most[i] || *smaller.most[i] > *larger.most[i])) return false;
  return true;
}

bool at_least(const Composition& a, const Composition& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i] < b[i]) return false;
  return true;
}

bool holds_composition(const DownSet& set, const Composition& c) {
  for (std::size_t i = 0; i < c.size(); ++i)
    if (set.most[i] && c[i] > *set.most[i]) return false;
  return true;
}

class LayoutSearch {
 public:
  LayoutSearch(std::size_t mixers, std::int64_t layers, const LayoutOracle& oracle,
               const LayoutLimits& limits)
      : mixers_(mixers), layers_(layers), oracle_(oracle), limits_(limits) {}

  Result<FeasibleLayouts> run() {
    FeasibleLayouts out;
    std::vector<DownSet> open{DownSet{std::vector<std::optional<std::int64_t>>(mixers_)}};
    while (!open.empty()) {
      const DownSet set = open.back();
      open.pop_back();
      const auto known = std::find_if(out.minimal.begin(), out.minimal.end(), [&](const LayoutWord& word) {
        return holds_composition(set, composition_of(word, mixers_));
      });
      if (known == out.minimal.end()) {
        auto found = member(set);
        if (spent()) return too_long();
        if (!found) {
          out.ruled_out.push_back(set);
          continue;
        }
        LayoutWord least = shrink(std::move(*found));
        if (spent()) return too_long();
        out.minimal.push_back(least);
        split(set, composition_of(least, mixers_), open);
        continue;
      }
      split(set, composition_of(*known, mixers_), open);
    }
    keep_minimal(out.minimal);
    keep_maximal(out.ruled_out);
    out.questions = questions_;
    return out;
  }

 private:
  bool spent() const { return questions_ > limits_.questions; }
  Error too_long() const {
    return fail(ErrorCode::resource,
                "[design] more than {} questions to the theory; expected fewer mixers that do the same, or "
                "smaller needs",
                limits_.questions);
  }

  bool ask(const LayoutWord& word) {
    const auto [place, fresh] = answers_.try_emplace(word, false);
    if (!fresh) return place->second;
    ++questions_;
    if (spent()) return false;
    return place->second = oracle_(word);
  }

  // Whatever has at most v_i - 1 of one of the letters that the word has: all of the set but what is at least it.
  static void split(const DownSet& set, const Composition& least, std::vector<DownSet>& open) {
    for (std::size_t i = 0; i < least.size(); ++i) {
      if (least[i] == 0) continue;
      DownSet smaller = set;
      smaller.most[i] = std::min(set.most[i].value_or(least[i] - 1), least[i] - 1);
      if (std::none_of(open.begin(), open.end(),
                       [&](const DownSet& other) { return covers(other, smaller); }))
        open.push_back(std::move(smaller));
    }
  }

  // Every word over these letters of up to `length` layers is a subsequence.
  void append_universal(LayoutWord& word, const std::vector<int>& letters, std::int64_t length) const {
    for (std::int64_t i = 0; i < (letters.empty() ? 0 : length); ++i)
      word.insert(word.end(), letters.begin(), letters.end());
  }

  // A feasible word, a universal one, among those that hold the set's words; nothing when there is none.
  std::optional<LayoutWord> member(const DownSet& set) {
    std::vector<int> unbounded;
    Composition left(mixers_, 0);
    std::int64_t bounded = 0;
    for (std::size_t i = 0; i < mixers_; ++i)
      if (set.most[i])
        bounded += left[i] = std::min(*set.most[i], layers_);
      else
        unbounded.push_back(static_cast<int>(i));
    LayoutWord prefix;
    append_universal(prefix, unbounded, layers_);
    return extend(prefix, left, bounded, unbounded);
  }

  std::optional<LayoutWord> extend(const LayoutWord& prefix, Composition& left, std::int64_t bounded,
                                   const std::vector<int>& unbounded) {
    if (spent()) return std::nullopt;
    if (bounded == 0) return ask(prefix) ? std::optional(prefix) : std::nullopt;
    // Followed by every order of what is left: no weights here, none below.
    std::vector<int> rest = unbounded;
    std::size_t kinds = 0;
    for (std::size_t i = 0; i < mixers_; ++i)
      if (left[i] > 0) rest.push_back(static_cast<int>(i)), ++kinds;
    if (kinds > 1) {
      LayoutWord most = prefix;
      append_universal(most, rest, unbounded.empty() ? std::min(bounded, layers_) : layers_);
      if (!ask(most)) return std::nullopt;
    }
    for (std::size_t i = 0; i < mixers_; ++i) {
      if (left[i] == 0) continue;
      // With one kind left there is one order.
      const std::int64_t run = kinds == 1 ? left[i] : 1;
      LayoutWord longer = prefix;
      for (std::int64_t step = 0; step < run; ++step) {
        longer.push_back(static_cast<int>(i));
        append_universal(longer, unbounded, layers_);
      }
      left[i] -= run;
      auto found = extend(longer, left, bounded - run, unbounded);
      left[i] += run;
      if (found || spent()) return found;
    }
    return std::nullopt;
  }

  // Deletes runs of layers, then single ones, while weights remain.
  LayoutWord shrink(LayoutWord word) {
    for (std::size_t length = word.size() / 2; length >= 1; length /= 2)
      for (std::size_t begin = 0; begin < word.size();) {
        LayoutWord shorter = word;
        const auto from = shorter.begin() + static_cast<std::ptrdiff_t>(begin);
        shorter.erase(from, from + static_cast<std::ptrdiff_t>(std::min(length, word.size() - begin)));
        if (ask(shorter))
          word = std::move(shorter);
        else
          begin += length;
        if (spent()) return word;
      }
    // One pass from the left leaves a minimal word: what could not go then cannot go from a shorter one.
    return word;
  }

  void keep_minimal(std::vector<LayoutWord>& words) const {
    std::vector<LayoutWord> kept;
    for (std::size_t i = 0; i < words.size(); ++i) {
      const Composition own = composition_of(words[i], mixers_);
      bool least = true;
      for (std::size_t j = 0; j < words.size() && least; ++j) {
        const Composition other = composition_of(words[j], mixers_);
        least = i == j || !at_least(own, other) || (own == other && i < j);
      }
      if (least) kept.push_back(words[i]);
    }
    words = std::move(kept);
  }
  static void keep_maximal(std::vector<DownSet>& sets) {
    std::vector<DownSet> kept;
    for (std::size_t i = 0; i < sets.size(); ++i) {
      bool most = true;
      for (std::size_t j = 0; j < sets.size() && most; ++j)
        most = i == j || !covers(sets[j], sets[i]) || (sets[i] == sets[j] && i < j);
      if (most) kept.push_back(sets[i]);
    }
    sets = std::move(kept);
  }

  std::size_t mixers_;
  std::int64_t layers_;
  const LayoutOracle& oracle_;
  LayoutLimits limits_;
  std::int64_t questions_ = 0;
  std::map<LayoutWord, bool> answers_;
};

}  // namespace

Composition composition_of(const LayoutWord& word, std::size_t mixers) {
  Composition out(mixers, 0);
  for (const int letter : word) ++out[static_cast<std::size_t>(letter)];
  return out;
}

Result<FeasibleLayouts> feasible_layouts(std::size_t mixers, std::int64_t layers, const LayoutOracle& oracle,
                                         const LayoutLimits& limits) {
  RUNG_REQUIRE(mixers >= 1 && layers >= 1, "mixers={} layers={}", mixers, layers);
  return LayoutSearch(mixers, layers, oracle, limits).run();
}

}  // namespace rung
