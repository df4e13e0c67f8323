// A user's group, read from its Cayley table (docs/formats.md): rows of numbers, table[a][b] = a b.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "rung/base/json_text.h"
#include "rung/base/nearest_word.h"
#include "rung/tasks/finite_group.h"

namespace rung {
namespace {

using CayleyJson = nlohmann::json;

Result<std::vector<std::string>> element_names(const CayleyJson& document, std::size_t order) {
  std::vector<std::string> names;
  const auto found = document.find("elements");
  if (found == document.end()) {
    for (std::size_t i = 0; i < order; ++i) names.push_back(std::to_string(i));
    return names;
  }
  if (!found->is_array() || found->size() != order)
    return fail(ErrorCode::format, "[task] \"elements\" of a Cayley table; expected {} names", order);
  std::set<std::string> seen;
  for (const auto& entry : *found) {
    if (!entry.is_string() || entry.get<std::string>().empty() || entry.get<std::string>().size() > 32)
      return fail(ErrorCode::format,
                  "[task] \"elements\" of a Cayley table; expected names of 1 to 32 characters");
    names.push_back(entry.get<std::string>());
    for (const char c : names.back())
      if (static_cast<unsigned char>(c) <= 0x20 || c == 0x7F)
        return fail(ErrorCode::format, "[task] {} in \"elements\"; expected characters without spaces",
                    rung::quoted(names.back()));
    if (!seen.insert(names.back()).second)
      return fail(ErrorCode::format, "[task] {} stands twice in \"elements\"", rung::quoted(names.back()));
  }
  return names;
}

Result<void> read_table(const CayleyJson& rows, FiniteGroup& group) {
  const std::size_t order = group.elements.size();
  for (std::size_t a = 0; a < order; ++a) {
    if (!rows[a].is_array() || rows[a].size() != order)
      return fail(ErrorCode::format, "[task] row {} of a Cayley table; expected {} numbers", a, order);
    for (std::size_t b = 0; b < order; ++b) {
      const auto& entry = rows[a][b];
      if (!entry.is_number_integer() || entry < 0 || entry >= order)
        return fail(ErrorCode::format,
                    "[task] entry [{}][{}] of a Cayley table; expected a number from 0 to {}", a, b,
                    order - 1);
      group.table.push_back(entry.get<std::uint32_t>());
    }
  }
  return {};
}

// Elements that generate all others by multiplying on the right, chosen greedily in their order.
std::vector<std::uint32_t> generating_set(const FiniteGroup& group) {
  std::vector<std::uint32_t> chosen, reached{group.identity};
  std::vector<bool> seen(group.order(), false);
  seen[group.identity] = true;
  for (std::uint32_t candidate = 0; candidate < group.order(); ++candidate) {
    if (seen[candidate]) continue;
    chosen.push_back(candidate);
    for (std::size_t i = 0; i < reached.size(); ++i)
      for (const auto g : chosen)
        if (const auto to = group.product(reached[i], g); !seen[to]) {
          seen[to] = true;
          reached.push_back(to);
        }
  }
  return chosen;
}

// Identity, inverses, and associativity by Light's test: (x g) y = x (g y) for the g of a generating set suffices.
Result<void> check_group(FiniteGroup& group) {
  const std::uint32_t order = group.order();
  const auto name = [&](std::uint32_t a) { return rung::quoted(group.elements[a]); };
  bool found = false;
  for (std::uint32_t e = 0; e < order && !found; ++e) {
    found = true;
    for (std::uint32_t a = 0; a < order && found; ++a)
      found = group.product(e, a) == a && group.product(a, e) == a;
    if (found) group.identity = e;
  }
  if (!found) return fail(ErrorCode::format, "[task] a Cayley table without an identity is not a group");
  for (std::uint32_t a = 0; a < order; ++a) {
    bool inverse = false;
    for (std::uint32_t b = 0; b < order && !inverse; ++b)
      inverse = group.product(a, b) == group.identity && group.product(b, a) == group.identity;
    if (!inverse)
      return fail(ErrorCode::format, "[task] {} of a Cayley table has no inverse: no group", name(a));
  }
  group.generators = generating_set(group);
  for (const auto g : group.generators)
    for (std::uint32_t x = 0; x < order; ++x)
      for (std::uint32_t y = 0; y < order; ++y)
        if (group.product(group.product(x, g), y) != group.product(x, group.product(g, y)))
          return fail(ErrorCode::format, "[task] ({} {}) {} is not {} ({} {}) in a Cayley table: no group",
                      name(x), name(g), name(y), name(x), name(g), name(y));
  return {};
}

Result<void> read_generators(const CayleyJson& document, FiniteGroup& group) {
  const auto found = document.find("generators");
  if (found == document.end()) return {};
  if (!found->is_array() || found->empty())
    return fail(ErrorCode::format, "[task] \"generators\" of a Cayley table; expected a list of elements");
  std::vector<std::uint32_t> given;
  for (const auto& entry : *found) {
    const auto at = entry.is_string()
                        ? std::find(group.elements.begin(), group.elements.end(), entry.get<std::string>())
                        : group.elements.end();
    if (at == group.elements.end())
      return fail(
          ErrorCode::format, "[task] {} in \"generators\" is not an element",
          rung::quoted(entry.is_string() ? entry.get<std::string>()
                                         : entry.dump(-1, ' ', true, CayleyJson::error_handler_t::replace)));
    const auto element = static_cast<std::uint32_t>(at - group.elements.begin());
    if (element == group.identity || std::find(given.begin(), given.end(), element) != given.end())
      return fail(ErrorCode::format, "[task] {} in \"generators\" is the identity or stands twice",
                  rung::quoted(group.elements[element]));
    given.push_back(element);
  }
  std::vector<bool> seen(group.order(), false);
  std::vector<std::uint32_t> reached{group.identity};
  seen[group.identity] = true;
  for (std::size_t i = 0; i < reached.size(); ++i)
    for (const auto g : given)
      if (const auto to = group.product(reached[i], g); !seen[to]) {
        seen[to] = true;
        reached.push_back(to);
      }
  for (std::uint32_t a = 0; a < group.order(); ++a)
    if (!seen[a])
      return fail(ErrorCode::format, "[task] {} is not a product of the \"generators\" of a Cayley table",
                  rung::quoted(group.elements[a]));
  group.generators = std::move(given);
  return {};
}

}  // namespace

Result<FiniteGroup> parse_cayley_table(std::string_view text) {
  static constexpr std::string_view kFields[] = {"elements", "table", "generators", "about"};
  RUNG_TRY(const CayleyJson document, parse_json(text, "task"));
  if (!document.is_object()) return fail(ErrorCode::parse, "[task] no JSON object; expected a Cayley table");
  for (const auto& [field, value] : document.items())
    if (std::find(std::begin(kFields), std::end(kFields), field) == std::end(kFields))
      return fail(ErrorCode::format, "[task] unknown field {} of a Cayley table; {}", rung::quoted(field),
                  suggest(field, kFields));
  const auto rows = document.find("table");
  if (rows == document.end() || !rows->is_array() || rows->size() < 2)
    return fail(ErrorCode::format, "[task] \"table\" of a Cayley table; expected 2 rows of numbers or more");
  if (static_cast<std::int64_t>(rows->size()) > kMaxGroupOrder)
    return fail(ErrorCode::resource, "[task] a Cayley table of {} elements; expected at most {}",
                rows->size(), kMaxGroupOrder);
  FiniteGroup group;
  RUNG_TRY(group.elements, element_names(document, rows->size()));
  RUNG_CHECK(read_table(*rows, group));
  RUNG_CHECK(check_group(group));
  RUNG_CHECK(read_generators(document, group));
  return group;
}

}  // namespace rung
