// Which layouts of these mixers provably do what is needed, at the least cost? Exactly: no layout is left out.
//
// A layout is a word of n layers over k mixers. What a layer costs does not depend on where it stands, so cost
// is a function of the composition (how many layers of each mixer). Whether weights exist depends on the order
// too, and is asked of the theory, through one fact alone:
//
//   Lemma (padding, theory/construction_fit.h). If the theory writes weights for u, and u is a subsequence of
//   w, it writes weights for w: the other layers are idle.
//
// So the layouts that do the needs are an upward closed set of words. Search. A down-set of compositions
// v in (N ∪ ∞)^k stands for all words with at most v_i layers of mixer i. Its words are subsequences of
// finitely many universal ones: an order of the bounded letters, with every word over the unbounded letters of
// up to n layers between them. If the theory writes weights for none of these, no member does the needs (one
// question rules out exponentially many layouts); if for one, layers are deleted while weights remain, and what
// is left is a minimal word, whose composition bounds the feasible ones from below. Begin with everything;
// split by what was found; stop when every remaining down-set is ruled out (Valk and Jantzen's algorithm for
// upward closed sets). Orders of the bounded letters are a tree that is cut where a prefix, followed by
// every possible rest, has no weights.
//
// ENSURES: a composition is feasible iff it is at least one of the minimal ones; tests compare this with the
// theory's verdict on every word at small sizes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "rung/base/result.h"

namespace rung {

// Letters are indices of mixers.
using LayoutWord = std::vector<int>;
using Composition = std::vector<std::int64_t>;

Composition composition_of(const LayoutWord& word, std::size_t mixers);

// True where the theory writes weights for every need. REQUIRES of the caller: monotone under subsequences.
using LayoutOracle = std::function<bool(const LayoutWord&)>;

struct LayoutLimits {
  std::int64_t questions = 200'000;  // to the oracle
};

// All words with at most these many layers of each mixer; nothing: any number.
struct DownSet {
  std::vector<std::optional<std::int64_t>> most;
  bool operator==(const DownSet&) const = default;
};

struct FeasibleLayouts {
  std::vector<LayoutWord> minimal;  // one word for each minimal composition, none of whose layers can go
  std::vector<DownSet> ruled_out;   // the maximal down-sets without a feasible word
  std::int64_t questions = 0;
};

// REQUIRES mixers >= 1, layers >= 1. ENSURES: an error where the limits end the search; never a part of the
// answer.
Result<FeasibleLayouts> feasible_layouts(std::size_t mixers, std::int64_t layers, const LayoutOracle& oracle,
                                         const LayoutLimits& limits = {});

}  // namespace rung
