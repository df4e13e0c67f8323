#include "rung/tasks/finite_group.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>
#include <mutex>
#include <numeric>

#include "rung/base/nearest_word.h"

namespace rung {
namespace {

FiniteGroup group_of(std::vector<std::string> elements,
                     const std::function<std::uint32_t(std::uint32_t, std::uint32_t)>& product,
                     std::vector<std::uint32_t> generators) {
  FiniteGroup group{.elements = std::move(elements), .generators = std::move(generators)};
  group.table.reserve(group.elements.size() * group.elements.size());
  for (std::uint32_t a = 0; a < group.order(); ++a)
    for (std::uint32_t b = 0; b < group.order(); ++b) group.table.push_back(product(a, b));
  return group;
}

FiniteGroup cyclic(std::uint32_t m) {
  std::vector<std::string> names;
  for (std::uint32_t k = 0; k < m; ++k) names.push_back(std::to_string(k));
  return group_of(std::move(names), [m](auto a, auto b) { return (a + b) % m; }, {1});
}

FiniteGroup dihedral(std::uint32_t m) {
  std::vector<std::string> names;
  for (std::uint32_t element = 0; element < 2 * m; ++element)
    names.push_back(fmt::format("r{}{}", element % m, element < m ? "" : "s"));
  const auto product = [m](std::uint32_t a, std::uint32_t b) {
    const std::uint32_t turn = b % m, turned = a < m ? turn : (m - turn) % m;
    return (a % m + turned) % m + m * ((a / m + b / m) % 2);
  };
  return m == 1 ? group_of(std::move(names), product, {1}) : group_of(std::move(names), product, {1, m});
}

FiniteGroup quaternions() {
  // Units 1, i, j, k by number; which unit two of them give, and whether with a minus.
  static constexpr std::uint32_t kUnit[4][4] = {{0, 1, 2, 3}, {1, 0, 3, 2}, {2, 3, 0, 1}, {3, 2, 1, 0}};
  static constexpr std::uint32_t kMinus[4][4] = {{0, 0, 0, 0}, {0, 1, 0, 1}, {0, 1, 1, 0}, {0, 0, 1, 1}};
  return group_of({"1", "-1", "i", "-i", "j", "-j", "k", "-k"},
                  [](std::uint32_t a, std::uint32_t b) {
                    const std::uint32_t minus = a % 2 + b % 2 + kMinus[a / 2][b / 2];
                    return 2 * kUnit[a / 2][b / 2] + minus % 2;
                  },
                  {2, 4});
}

// All permutations of [n], or the even ones.
FiniteGroup permutations(std::uint32_t n, bool even_only) {
  std::vector<std::uint32_t> list(n);
  std::iota(list.begin(), list.end(), 0);
  std::map<std::vector<std::uint32_t>, std::uint32_t> number;
  std::vector<std::vector<std::uint32_t>> all;
  std::vector<std::string> names;
  do {
    std::uint32_t inversions = 0;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = i + 1; j < n; ++j) inversions += list[i] > list[j];
    if (even_only && inversions % 2 == 1) continue;
    number[list] = static_cast<std::uint32_t>(all.size());
    all.push_back(list);
    std::string name;
    for (const auto image : list) name += std::to_string(image);
    names.push_back(std::move(name));
  } while (std::next_permutation(list.begin(), list.end()));
  const auto product = [&](std::uint32_t a, std::uint32_t b) {
    std::vector<std::uint32_t> both(n);
    for (std::size_t x = 0; x < n; ++x) both[x] = all[b][all[a][x]];
    return number.at(both);
  };
  std::vector<std::uint32_t> generators;
  for (std::uint32_t k = even_only ? 2 : 1; k < n; ++k) {
    std::iota(list.begin(), list.end(), 0);
    if (even_only) {  // 0 to 1, 1 to k, k to 0
      list[0] = 1, list[1] = k, list[k] = 0;
    } else {
      std::swap(list[k - 1], list[k]);
    }
    generators.push_back(number.at(list));
  }
  return group_of(std::move(names), product, std::move(generators));
}

FiniteGroup direct_product(const FiniteGroup& left, const FiniteGroup& right) {
  const std::uint32_t order = right.order();
  std::vector<std::string> names;
  for (const auto& a : left.elements)
    for (const auto& b : right.elements) names.push_back(a + "," + b);
  std::vector<std::uint32_t> generators;
  for (const auto g : left.generators) generators.push_back(g * order);
  for (const auto g : right.generators) generators.push_back(g);
  return group_of(
      std::move(names),
      [&, order](std::uint32_t a, std::uint32_t b) {
        return left.product(a / order, b / order) * order + right.product(a % order, b % order);
      },
      std::move(generators));
}

// The order of a factor such as "S5", or nothing where it is no name.
struct Factor {
  char family = 0;
  std::int64_t number = 0, order = 0;
};
std::optional<Factor> factor_of(std::string_view name) {
  if (name.size() < 2 || name.size() > 5 || name[1] == '0') return std::nullopt;
  Factor factor{.family = name[0]};
  const char* end = name.data() + name.size();
  const auto [at, error] = std::from_chars(name.data() + 1, end, factor.number);
  if (error != std::errc() || at != end || factor.number < 1) return std::nullopt;
  const std::int64_t n = factor.number;
  std::int64_t factorial = 1;
  for (std::int64_t i = 2; i <= std::min<std::int64_t>(n, 12); ++i) factorial *= i;
  switch (factor.family) {
    case 'Z':
      factor.order = n;
      break;
    case 'D':
      factor.order = 2 * n;
      break;
    case 'Q':
      if (n != 8) return std::nullopt;
      factor.order = 8;
      break;
    case 'S':
      factor.order = factorial;
      break;
    case 'A':
      factor.order = n < 2 ? 1 : factorial / 2;
      break;
    default:
      return std::nullopt;
  }
  return factor;
}

FiniteGroup make_factor(const Factor& factor) {
  const auto n = static_cast<std::uint32_t>(factor.number);
  switch (factor.family) {
    case 'Z':
      return cyclic(n);
    case 'D':
      return dihedral(n);
    case 'Q':
      return quaternions();
    default:
      return permutations(n, factor.family == 'A');
  }
}

}  // namespace

Result<FiniteGroup> named_group(std::string_view name) {
  std::vector<Factor> factors;
  std::int64_t order = 1;
  for (std::size_t at = 0; at <= name.size();) {
    const std::size_t end = std::min(name.find('x', at), name.size());
    const auto factor = factor_of(name.substr(at, end - at));
    if (!factor)
      return fail(
          ErrorCode::parse,
          "[task] no group {}; expected Z5, D4, Q8, S3, A4, a product such as Z2xZ2, or the path of a Cayley "
          "table (.json)",
          rung::quoted(name));
    if (factor->order > kMaxGroupOrder || (order *= factor->order) > kMaxGroupOrder)
      return fail(ErrorCode::resource, "[task] group {}; expected at most {} elements", rung::quoted(name),
                  kMaxGroupOrder);
    if (factor->order < 2)
      return fail(ErrorCode::range, "[task] group {}; expected groups of at least 2 elements",
                  rung::quoted(name));
    factors.push_back(*factor);
    at = end + 1;
  }
  // A table of a thousand elements is made once: sizes are searched with many tasks of one group.
  static std::mutex mutex;
  static std::map<std::string, FiniteGroup, std::less<>> made;
  const std::lock_guard lock(mutex);
  if (const auto found = made.find(name); found != made.end()) return found->second;
  FiniteGroup group = make_factor(factors.front());
  for (std::size_t i = 1; i < factors.size(); ++i) group = direct_product(group, make_factor(factors[i]));
  return made.emplace(std::string(name), std::move(group)).first->second;
}

}  // namespace rung
