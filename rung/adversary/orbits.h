// Orbits: one short word over and over, where the whole graph is too large to be searched (docs/verify.md).
//
// The nodes of a finite model and its task after w, w², w³, … repeat from some power on, and with them the
// answers; so a few thousand letters decide all powers of w. A wrong answer among them refutes the model, by a
// word that need not be a shortest one. That none is found says nothing about other words.
#pragma once

#include <optional>

#include "rung/adversary/product_search.h"

namespace rung {

struct WrongPower {
  std::vector<std::int64_t> word;  // letters: copies of a short word, the last one perhaps a beginning of it
  std::int64_t answer = 0, expected = 0;
};

// The shortest wrong answer along the powers of words of up to three letters (up to kMostRoots of them, in the
// order of length), each until its nodes repeat; kMostOrbitEdges edges in all. REQUIRES as search_product.
std::optional<WrongPower> wrong_power(const Target& target, const ProductTask& task);

inline constexpr std::size_t kMostRoots = 4096;
inline constexpr std::int64_t kMostOrbitEdges = std::int64_t{1} << 21;

}  // namespace rung
