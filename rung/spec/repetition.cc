#include "rung/spec/repetition.h"

#include <algorithm>
#include <map>
#include <utility>

namespace rung {
namespace {

// The sequence while it is being folded. Equal pieces have equal ids, so that searching compares integers
// only.
class Folder {
 public:
  explicit Folder(std::span<const int> letters) {
    for (const int letter : letters) {
      ids_.push_back(letter);
      trees_.push_back({.letter = letter});
    }
  }

  std::size_t size() const { return ids_.size(); }
  std::vector<Repetition> take() { return std::move(trees_); }

  // Folds every maximal repetition of period p, from the left. Returns whether there was one.
  bool fold_period(std::size_t p) {
    const std::size_t n = ids_.size();
    std::size_t run = 0;  // how many j in a row, up to here, have id[j] == id[j + p]
    for (std::size_t j = 0; j + p < n; ++j) {
      run = ids_[j] == ids_[j + p] ? run + 1 : 0;
      if (run == p) {
        fold_from(j + 1 - p, p);
        return true;
      }
    }
    return false;
  }

 private:
  void fold_from(std::size_t i, std::size_t p) {
    const std::size_t n = ids_.size();
    std::size_t write = i;
    while (i < n) {
      std::size_t count = 1;
      while (i + (count + 1) * p <= n &&
             std::equal(ids_.begin() + i, ids_.begin() + i + p, ids_.begin() + i + count * p))
        ++count;
      if (count == 1) {
        ids_[write] = ids_[i];
        if (write != i) trees_[write] = std::move(trees_[i]);
        ++i, ++write;
        continue;
      }
      auto [id, tree] = group(i, p, static_cast<long>(count));
      ids_[write] = id;
      trees_[write] = std::move(tree);
      i += count * p;
      ++write;
    }
    ids_.resize(write);
    trees_.resize(write);
  }

  std::pair<long, Repetition> group(std::size_t first, std::size_t p, long count) {
    std::vector<long> key{count};
    key.insert(key.end(), ids_.begin() + first, ids_.begin() + first + p);
    Repetition tree;
    if (p == 1 && trees_[first].count == 1)
      tree = std::move(trees_[first]);  // x repeated, not a group of one
    else
      for (std::size_t j = first; j < first + p; ++j) tree.children.push_back(std::move(trees_[j]));
    tree.count = count;
    const long fresh = -1 - static_cast<long>(names_.size());  // negative: letters are the ids >= 0
    return {names_.try_emplace(std::move(key), fresh).first->second, std::move(tree)};
  }

  std::vector<long> ids_;
  std::vector<Repetition> trees_;
  std::map<std::vector<long>, long> names_;
};

void unfold_into(std::span<const Repetition> pieces, std::vector<int>& out) {
  for (const auto& piece : pieces)
    for (long i = 0; i < piece.count; ++i) {
      if (piece.children.empty())
        out.push_back(piece.letter);
      else
        unfold_into(piece.children, out);
    }
}

}  // namespace

std::vector<Repetition> fold(std::span<const int> letters) {
  constexpr std::size_t kWork = 200'000'000;  // comparisons: under a second
  Folder folder(letters);
  std::size_t work = 0;
  for (std::size_t p = 1; 2 * p <= folder.size() && work < kWork;) {
    work += folder.size();
    p = folder.fold_period(p) ? 1 : p + 1;
  }
  return folder.take();
}

std::vector<int> unfold(std::span<const Repetition> pieces) {
  std::vector<int> out;
  unfold_into(pieces, out);
  return out;
}

}  // namespace rung
