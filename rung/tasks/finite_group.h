// Finite groups as tables: what `group` multiplies.
//
//   FiniteGroup s3 = *named_group("S3");
//   s3.product(a, b)                               // first a, then b
//
// Elements are numbers of [order], and these numbers are the tokens and answers of the task (docs/tasks.md, group):
//   Z_m     k is the residue k
//   D_m     k + m b is r^k s^b, with s r = r^-1 s; order 2m
//   Q_8     1, -1, i, -i, j, -j, k, -k
//   S_n     permutations of [n] in the order of their lists (π(0), …, π(n-1)); a b is a first, then b
//   A_n     the even ones among them, in the same order
//   AxB     i |B| + j is (i, j)
// In all of them 0 is the identity.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rung/base/result.h"

namespace rung {

inline constexpr std::int64_t kMaxGroupOrder = 1024;

struct FiniteGroup {
  std::vector<std::string> elements;  // names, by number
  std::vector<std::uint32_t> table;   // [a * order + b] = a b
  std::uint32_t identity = 0;
  std::vector<std::uint32_t> generators;  // elements that generate it, the identity not among them

  std::uint32_t order() const { return static_cast<std::uint32_t>(elements.size()); }
  std::uint32_t product(std::uint32_t a, std::uint32_t b) const {
    return table[static_cast<std::size_t>(a) * elements.size() + b];
  }
};

// "Z5", "D4", "Q8", "S3", "A4", products such as "Z2xZ2"; order 2 to kMaxGroupOrder. Generators: 1 of Z_m; r and s;
// i and j; the transpositions of neighbours; the cycles (0 1 k); of a product, those of its factors.
Result<FiniteGroup> named_group(std::string_view name);

// A Cayley table (docs/formats.md). ENSURES: a group, or a one-line error that names the entry.
Result<FiniteGroup> parse_cayley_table(std::string_view text);

}  // namespace rung
