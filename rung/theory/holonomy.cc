#include "rung/theory/holonomy.h"

#include <algorithm>
#include <bit>
#include <map>

namespace rung {
namespace {

constexpr std::uint32_t kMostHolonomyStates = 16;

class HolonomyDecomposition {
 public:
  explicit HolonomyDecomposition(const Automaton& automaton) : a_(automaton) {}

  Result<Holonomy> run() {
    collect();
    order();
    RUNG_CHECK(align());
    return levels();
  }

 private:
  std::size_t index(PointSet set) const {
    return static_cast<std::size_t>(std::lower_bound(sets_.begin(), sets_.end(), set) - sets_.begin());
  }

  // Images of all states, and single states.
  void collect() {
    const PointSet all = (PointSet{1} << a_.state_count()) - 1;
    std::vector<PointSet> open{all};
    sets_ = {all};
    const auto add = [&](PointSet set) {
      if (std::find(sets_.begin(), sets_.end(), set) != sets_.end()) return;
      sets_.push_back(set);
      open.push_back(set);
    };
    for (std::uint32_t q = 0; q < a_.state_count(); ++q) add(PointSet{1} << q);
    for (std::size_t i = 0; i < open.size(); ++i)
      for (std::uint32_t l = 0; l < a_.letter_count(); ++l) add(image(a_, open[i], l));
    std::sort(sets_.begin(), sets_.end());
  }

  // below_[i][j]: set i is covered by an image of set j. Heights and tiles follow.
  void order() {
    const std::size_t n = sets_.size();
    below_.assign(n, std::vector<bool>(n, false));
    for (std::size_t j = 0; j < n; ++j) {
      std::vector<bool> reached(n, false);
      std::vector<std::size_t> open{j};
      reached[j] = true;
      for (std::size_t k = 0; k < open.size(); ++k) {
        for (std::size_t i = 0; i < n; ++i)
          if ((sets_[i] & ~sets_[open[k]]) == 0) below_[i][j] = true;
        for (std::uint32_t l = 0; l < a_.letter_count(); ++l) {
          const std::size_t to = index(image(a_, sets_[open[k]], l));
          if (!reached[to]) {
            reached[to] = true;
            open.push_back(to);
          }
        }
      }
    }
    height_.assign(n, -1);
    for (std::size_t i = 0; i < n; ++i) height_of(i);
    tiles_.resize(n);
    for (std::size_t i = 0; i < n; ++i) {
      const auto inside = [&](std::size_t j, std::size_t k) {
        return sets_[j] != sets_[k] && (sets_[j] & ~sets_[k]) == 0;
      };
      for (std::size_t j = 0; j < n; ++j) {
        if (!inside(j, i)) continue;
        bool largest = true;
        for (std::size_t k = 0; k < n && largest; ++k) largest = !(inside(k, i) && inside(j, k));
        if (largest) tiles_[i].push_back(sets_[j]);
      }
    }
  }
  int height_of(std::size_t i) {
    if (height_[i] >= 0) return height_[i];
    if (std::has_single_bit(sets_[i])) return height_[i] = 0;
    int height = 1;
    for (std::size_t j = 0; j < sets_.size(); ++j)
      if (below_[j][i] && !below_[i][j] && !std::has_single_bit(sets_[j]))
        height = std::max(height, 1 + height_of(j));
    return height_[i] = height;
  }

  // Alike sets name their tiles alike: the tiles of the first of them, moved along a word that leads from
  // it to the other. Every other word must agree.
  Result<void> align() {
    std::vector<bool> done(sets_.size(), false);
    for (std::size_t first = 0; first < sets_.size(); ++first) {
      if (done[first] || std::has_single_bit(sets_[first])) continue;
      std::map<std::size_t, std::vector<std::uint32_t>> where;  // set → where each point of `first` went
      std::vector<std::size_t> open{first};
      std::vector<std::uint32_t> points;
      for (PointSet rest = sets_[first]; rest; rest &= rest - 1)
        points.push_back(static_cast<std::uint32_t>(std::countr_zero(rest)));
      where[first] = points;
      const auto own = tiles_[first];
      for (std::size_t k = 0; k < open.size(); ++k) {
        const std::size_t i = open[k];
        const auto here = where[i];
        done[i] = true;
        std::vector<PointSet> moved;
        for (const PointSet tile : own) {
          PointSet to = 0;
          for (std::size_t p = 0; p < points.size(); ++p)
            if (tile >> points[p] & 1) to |= PointSet{1} << here[p];
          moved.push_back(to);
        }
        RUNG_REQUIRE(std::is_permutation(moved.begin(), moved.end(), tiles_[i].begin(), tiles_[i].end()),
                     "tiles of alike sets differ");
        tiles_[i] = moved;
        for (std::uint32_t l = 0; l < a_.letter_count(); ++l) {
          const std::size_t to = index(image(a_, sets_[i], l));
          if (!below_[first][to]) continue;  // no way back: not alike
          auto there = here;
          for (auto& point : there) point = a_.step(point, l);
          const auto [found, fresh] = where.try_emplace(to, there);
          if (fresh)
            open.push_back(to);
          else if (found->second != there)
            return fail(ErrorCode::unsupported,
                        "[build] a word permutes states of this automaton; cascades of set and reset follow "
                        "aperiodic ones only");
        }
      }
    }
    return {};
  }

  Holonomy levels() const {
    Holonomy h;
    const int height = height_.back();  // the set of all states is the last
    h.levels.resize(static_cast<std::size_t>(height));
    for (std::size_t i = 0; i < sets_.size(); ++i)
      if (height_[i] > 0)
        h.levels[static_cast<std::size_t>(height - height_[i])].push_back({sets_[i], tiles_[i]});
    return h;
  }

  const Automaton& a_;
  std::vector<PointSet> sets_;  // increasing
  std::vector<std::vector<bool>> below_;
  std::vector<int> height_;
  std::vector<std::vector<PointSet>> tiles_;
};

}  // namespace

int Holonomy::values(std::size_t level) const {
  std::size_t most = 0;
  for (const auto& set : levels[level]) most = std::max(most, set.tiles.size());
  return static_cast<int>(most);
}

PointSet image(const Automaton& automaton, PointSet set, std::uint32_t letter) {
  PointSet to = 0;
  for (PointSet rest = set; rest; rest &= rest - 1)
    to |= PointSet{1} << automaton.step(static_cast<std::uint32_t>(std::countr_zero(rest)), letter);
  return to;
}

int covering_tile(const HolonomySet& set, PointSet part) {
  const auto covers = [&](PointSet tile) { return (part & ~tile) == 0; };
  return static_cast<int>(std::find_if(set.tiles.begin(), set.tiles.end(), covers) - set.tiles.begin());
}

Result<Holonomy> holonomy(const Automaton& automaton) {
  if (automaton.state_count() > kMostHolonomyStates)
    return fail(ErrorCode::resource, "[build] {} states; at most {} expected", automaton.state_count(),
                kMostHolonomyStates);
  return HolonomyDecomposition(automaton).run();
}

}  // namespace rung
