#include "rung/tasks/monoid.h"

#include <algorithm>
#include <deque>
#include <map>
#include <numeric>
#include <unordered_set>

#include "rung/base/require.h"

namespace rung {
namespace {

using Map = std::vector<std::uint32_t>;
using States = std::vector<std::uint32_t>;

constexpr std::size_t kMostMapBytes = std::size_t{1} << 30;

// First a, then b.
Map then(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b) {
  Map both(a.size());
  for (std::size_t q = 0; q < a.size(); ++q) both[q] = b[a[q]];
  return both;
}

struct MapHash {
  std::size_t operator()(const Map& map) const {
    std::uint64_t h = map.size();
    for (const auto q : map) h = (h ^ q ^ (h >> 29)) * 0xBF58476D1CE4E5B9ULL;
    return h ^ (h >> 32);
  }
};
using MapSet = std::unordered_set<Map, MapHash>;

// A group of permutations of [degree], as the list of its elements.
using Permutations = std::vector<Map>;

Map inverse(const Map& x) {
  Map back(x.size());
  for (std::uint32_t q = 0; q < x.size(); ++q) back[x[q]] = q;
  return back;
}

// The group that `seeds` generate. Every element found is multiplied by every seed.
Permutations generated(const Permutations& seeds, std::size_t degree) {
  Map identity(degree);
  std::iota(identity.begin(), identity.end(), 0);
  MapSet seen{identity};
  Permutations elements{identity};
  for (std::size_t i = 0; i < elements.size(); ++i)
    for (const Map& seed : seeds)
      if (Map next = then(elements[i], seed); seen.insert(next).second) elements.push_back(std::move(next));
  return elements;
}

// Few elements that generate the group: each one that those before it do not.
Permutations few_generators(const Permutations& group) {
  Permutations chosen;
  const std::size_t degree = group.front().size();
  MapSet reached;
  for (const Map& element : group) {
    if (chosen.empty() || !reached.contains(element)) {
      chosen.push_back(element);
      const Permutations all = generated(chosen, degree);
      reached = MapSet(all.begin(), all.end());
    }
    if (reached.size() == group.size()) break;
  }
  return chosen;
}

// The commutator subgroup: the normal closure of the commutators of generators.
Permutations derived_group(const Permutations& generators, std::size_t degree) {
  Permutations seeds;
  MapSet known;
  Map identity(degree);
  std::iota(identity.begin(), identity.end(), 0);
  known.insert(identity);
  const auto add = [&](Map x) {
    if (known.insert(x).second) seeds.push_back(std::move(x));
  };
  for (const Map& a : generators)
    for (const Map& b : generators) add(then(then(inverse(a), inverse(b)), then(a, b)));
  // Conjugates of seeds that the seeds do not generate yet become seeds.
  Permutations subgroup = generated(seeds, degree);
  MapSet members(subgroup.begin(), subgroup.end());
  for (std::size_t i = 0; i < seeds.size(); ++i)
    for (const Map& g : generators) {
      Map conjugate = then(then(inverse(g), seeds[i]), g);
      if (members.contains(conjugate)) continue;
      seeds.push_back(std::move(conjugate));
      subgroup = generated(seeds, degree);
      members = MapSet(subgroup.begin(), subgroup.end());
    }
  return subgroup;
}

// Steps of commutators to the trivial group; nothing where they stop before it.
std::optional<std::uint32_t> group_derived_length(Permutations group) {
  const std::size_t degree = group.front().size();
  for (std::uint32_t length = 0;; ++length) {
    if (group.size() == 1) return length;
    Permutations smaller = derived_group(few_generators(group), degree);
    if (smaller.size() == group.size()) return std::nullopt;
    group = std::move(smaller);
  }
}

// The idempotent of the group that holds x, where some group does: x permutes its image.
std::optional<Map> idempotent_of(std::span<const std::uint32_t> x) {
  Map e(x.size());
  // On its image x is injective iff its square has the same image; the idempotent sends q to the member of the image
  // that x sends to x(q).
  std::vector<std::int64_t> source(x.size(), -1);  // source[y]: the member of the image that x sends to y
  std::vector<bool> image(x.size(), false);
  for (const auto y : x) image[y] = true;
  for (std::uint32_t y = 0; y < x.size(); ++y) {
    if (!image[y]) continue;
    if (source[x[y]] >= 0) return std::nullopt;
    source[x[y]] = y;
  }
  for (std::size_t q = 0; q < x.size(); ++q) {
    if (source[x[q]] < 0) return std::nullopt;
    e[q] = static_cast<std::uint32_t>(source[x[q]]);
  }
  return e;
}

// x on the image of e, as a permutation of [rank].
Map restricted(std::span<const std::uint32_t> x, const Map& e) {
  std::vector<std::uint32_t> members(e);
  std::sort(members.begin(), members.end());
  members.erase(std::unique(members.begin(), members.end()), members.end());
  Map permutation;
  for (const auto y : members)
    permutation.push_back(
        static_cast<std::uint32_t>(std::lower_bound(members.begin(), members.end(), x[y]) - members.begin()));
  return permutation;
}

// No cycle in the graph of the automaton but loops.
bool ordered_states(const Automaton& automaton) {
  const std::uint32_t states = automaton.state_count(), letters = automaton.letter_count();
  std::vector<std::uint32_t> incoming(states, 0), ready;
  for (std::uint32_t q = 0; q < states; ++q)
    for (std::uint32_t a = 0; a < letters; ++a)
      if (const auto to = automaton.step(q, a); to != q) ++incoming[to];
  for (std::uint32_t q = 0; q < states; ++q)
    if (incoming[q] == 0) ready.push_back(q);
  std::size_t done = 0;
  while (done < ready.size()) {
    const std::uint32_t q = ready[done++];
    for (std::uint32_t a = 0; a < letters; ++a)
      if (const auto to = automaton.step(q, a); to != q && --incoming[to] == 0) ready.push_back(to);
  }
  return done == states;
}

// L-trivial: x → a x (a letter in front) has no cycles but loops.
bool left_ordered(const TransitionMonoid& monoid) {
  const std::uint32_t size = monoid.size();
  const auto generators = monoid.generators();
  std::vector<std::uint32_t> to(static_cast<std::size_t>(size) * generators.size()), incoming(size, 0), ready;
  for (std::uint32_t x = 0; x < size; ++x)
    for (std::size_t g = 0; g < generators.size(); ++g) {
      const std::uint32_t y = monoid.product(generators[g], x);
      to[x * generators.size() + g] = y;
      if (y != x) ++incoming[y];
    }
  for (std::uint32_t x = 0; x < size; ++x)
    if (incoming[x] == 0) ready.push_back(x);
  std::size_t done = 0;
  while (done < ready.size()) {
    const std::uint32_t x = ready[done++];
    for (std::size_t g = 0; g < generators.size(); ++g)
      if (const std::uint32_t y = to[x * generators.size() + g]; y != x && --incoming[y] == 0)
        ready.push_back(y);
  }
  return done == size;
}

// A shortest word from the start to the state.
std::vector<std::uint32_t> word_to(const Automaton& automaton, std::uint32_t state) {
  std::vector<std::int64_t> parent(automaton.state_count(), -1);
  std::vector<std::uint32_t> by(automaton.state_count()), order{automaton.start};
  parent[automaton.start] = automaton.start;
  for (std::size_t i = 0; i < order.size(); ++i)
    for (std::uint32_t a = 0; a < automaton.letter_count(); ++a)
      if (const auto to = automaton.step(order[i], a); parent[to] < 0) {
        parent[to] = order[i];
        by[to] = a;
        order.push_back(to);
      }
  std::vector<std::uint32_t> word;
  for (; state != automaton.start; state = static_cast<std::uint32_t>(parent[state]))
    word.push_back(by[state]);
  std::reverse(word.begin(), word.end());
  return word;
}

// A shortest word after which some two neighbours of the cycle have different answers. REQUIRES a least automaton and
// states that differ.
std::vector<std::uint32_t> word_from(const Automaton& automaton, const std::vector<std::uint32_t>& cycle) {
  std::map<std::vector<std::uint32_t>, std::pair<std::vector<std::uint32_t>, std::uint32_t>> seen;
  std::deque<std::vector<std::uint32_t>> waiting{cycle};
  seen[cycle] = {};
  const auto differs = [&](const std::vector<std::uint32_t>& states) {
    return std::any_of(states.begin(), states.end(),
                       [&](std::uint32_t q) { return automaton.out[q] != automaton.out[states.front()]; });
  };
  std::vector<std::uint32_t> now = cycle;
  while (!differs(now)) {
    RUNG_REQUIRE(!waiting.empty(), "states that no word tells apart");
    const auto states = waiting.front();
    waiting.pop_front();
    for (std::uint32_t a = 0; a < automaton.letter_count() && !differs(now); ++a) {
      auto next = states;
      for (auto& q : next) q = automaton.step(q, a);
      if (!seen.emplace(next, std::pair(states, a)).second) continue;
      now = next;
      waiting.push_back(std::move(next));
    }
  }
  std::vector<std::uint32_t> word;
  while (now != cycle) {
    const auto& [before, letter] = seen.at(now);
    word.push_back(letter);
    now = before;
  }
  std::reverse(word.begin(), word.end());
  return word;
}

// A cycle of two or more states under the map; empty where there is none.
States cycle_of(std::span<const std::uint32_t> x) {
  std::vector<std::uint32_t> seen(x.size(), 0);  // 1 + the state from which a walk came here
  for (std::uint32_t q = 0; q < x.size(); ++q) {
    std::uint32_t y = q;
    while (seen[y] == 0) {
      seen[y] = q + 1;
      y = x[y];
    }
    if (seen[y] != q + 1 || x[y] == y) continue;
    States cycle{y};
    for (std::uint32_t z = x[y]; z != y; z = x[z]) cycle.push_back(z);
    return cycle;
  }
  return {};
}

PeriodicWord periodic_word(const Automaton& least, States word, const States& cycle) {
  PeriodicWord found{.word = std::move(word), .period = static_cast<std::uint32_t>(cycle.size())};
  found.from = word_from(least, cycle);
  found.to = word_to(least, cycle.front());
  found.always = true;
  for (std::size_t i = 0; i < cycle.size(); ++i)
    found.always = found.always && least.out[least.run(found.from, cycle[i])] !=
                                       least.out[least.run(found.from, cycle[(i + 1) % cycle.size()])];
  return found;
}

// A letter under which states turn in a cycle, or the first such element.
PeriodicWord first_periodic_word(const Automaton& least, const TransitionMonoid& monoid) {
  for (std::uint32_t a = 0; a < least.letter_count(); ++a) {
    States map;
    for (std::uint32_t q = 0; q < least.state_count(); ++q) map.push_back(least.step(q, a));
    if (const States cycle = cycle_of(map); !cycle.empty()) return periodic_word(least, {a}, cycle);
  }
  for (std::uint32_t e = 0;; ++e)
    if (const States cycle = cycle_of(monoid.map(e)); !cycle.empty())
      return periodic_word(least, monoid.word(e), cycle);
}

}  // namespace

std::uint64_t TransitionMonoid::hash(std::span<const std::uint32_t> map) const {
  std::uint64_t h = 0x9E3779B97F4A7C15ULL;
  for (const auto q : map) {
    h = (h ^ q) * 0xBF58476D1CE4E5B9ULL;
    h ^= h >> 29;
  }
  return h;
}

std::size_t TransitionMonoid::slot(std::span<const std::uint32_t> wanted) const {
  std::size_t at = hash(wanted) & (slots_.size() - 1);
  while (slots_[at] != 0 && !std::equal(wanted.begin(), wanted.end(), map(slots_[at] - 1).begin()))
    at = (at + 1) & (slots_.size() - 1);
  return at;
}

void TransitionMonoid::grow() {
  slots_.assign(slots_.size() * 2, 0);
  for (std::uint32_t e = 0; e < size(); ++e) slots_[slot(map(e))] = e + 1;
}

Result<TransitionMonoid> TransitionMonoid::of(const Automaton& automaton, std::uint32_t most) {
  TransitionMonoid monoid;
  monoid.degree_ = automaton.states.size();
  monoid.slots_.assign(1024, 0);
  const auto add = [&](const Map& map, std::uint32_t parent, std::uint32_t letter) {
    const std::size_t at = monoid.slot(map);
    if (monoid.slots_[at] != 0) return monoid.slots_[at] - 1;
    monoid.maps_.insert(monoid.maps_.end(), map.begin(), map.end());
    monoid.parent_.push_back(parent);
    monoid.last_.push_back(letter);
    monoid.slots_[at] = monoid.size();
    const std::uint32_t element = monoid.size() - 1;
    if (2 * static_cast<std::size_t>(monoid.size()) > monoid.slots_.size()) monoid.grow();
    return element;
  };
  Map identity(monoid.degree_);
  std::iota(identity.begin(), identity.end(), 0);
  add(identity, 0, 0);
  // Letter by letter: one that is there already adds nothing; else every element, old and new, meets every generator.
  std::vector<Map> letters;           // of the generators
  std::vector<std::uint32_t> number;  // their letters
  std::vector<std::uint32_t> met;     // elements that the generator has been multiplied to
  for (std::uint32_t a = 0; a < automaton.letter_count(); ++a) {
    Map map(monoid.degree_);
    for (std::uint32_t q = 0; q < monoid.degree_; ++q) map[q] = automaton.step(q, a);
    if (monoid.slots_[monoid.slot(map)] != 0) continue;
    monoid.generators_.push_back(add(map, 0, a));
    letters.push_back(std::move(map));
    number.push_back(a);
    met.push_back(0);
    for (bool grown = true; grown;) {
      grown = false;
      for (std::size_t g = 0; g < letters.size(); ++g)
        for (; met[g] < monoid.size(); ++met[g]) {
          add(then(monoid.map(met[g]), letters[g]), met[g], number[g]);
          grown = true;
          if (monoid.size() > most)
            return fail(
                ErrorCode::resource,
                "[class] the transition monoid has more than {} elements; expected an automaton with fewer",
                most);
          if (monoid.maps_.size() * sizeof(std::uint32_t) > kMostMapBytes)
            return fail(
                ErrorCode::resource,
                "[class] {} maps of {} states take more than a gigabyte; expected an automaton with fewer",
                monoid.size(), monoid.degree());
        }
    }
  }
  return monoid;
}

std::uint32_t TransitionMonoid::find(std::span<const std::uint32_t> wanted) const {
  const std::size_t at = slot(wanted);
  RUNG_REQUIRE(slots_[at] != 0, "a map that no word makes");
  return slots_[at] - 1;
}

std::uint32_t TransitionMonoid::product(std::uint32_t a, std::uint32_t b) const {
  return find(then(map(a), map(b)));
}

std::vector<std::uint32_t> TransitionMonoid::word(std::uint32_t element) const {
  std::vector<std::uint32_t> letters;
  for (; element != 0; element = parent_[element]) letters.push_back(last_[element]);
  std::reverse(letters.begin(), letters.end());
  return letters;
}

Result<Algebra> algebra_of(const Automaton& automaton, std::uint32_t most) {
  const Automaton least = minimised(automaton);
  RUNG_TRY(const TransitionMonoid monoid, TransitionMonoid::of(least, most));
  Algebra algebra{.classes = least.state_count(), .monoid = monoid.size()};
  algebra.neutral_letter = !neutral_letters(least).empty();
  algebra.commutative = true;
  for (const auto a : monoid.generators())
    for (const auto b : monoid.generators())
      algebra.commutative =
          algebra.commutative && then(monoid.map(a), monoid.map(b)) == then(monoid.map(b), monoid.map(a));
  algebra.group = true;
  for (const auto a : monoid.generators()) {
    std::vector<bool> image(monoid.degree(), false);
    for (const auto q : monoid.map(a)) image[q] = true;
    algebra.group = algebra.group && std::find(image.begin(), image.end(), false) == image.end();
  }
  algebra.r_trivial = ordered_states(least);
  algebra.j_trivial = algebra.r_trivial && left_ordered(monoid);

  // The groups in it: elements that permute their image, by their idempotent.
  std::map<Map, Permutations> groups;
  for (std::uint32_t e = 0; e < monoid.size(); ++e) {
    const auto x = monoid.map(e);
    const auto idempotent = idempotent_of(x);
    if (!idempotent || std::equal(x.begin(), x.end(), idempotent->begin())) continue;
    groups[*idempotent].push_back(restricted(x, *idempotent));
  }
  algebra.aperiodic = groups.empty();
  algebra.solvable = true;
  algebra.derived_length = 0;
  for (auto& [idempotent, elements] : groups) {
    Map identity(elements.front().size());
    std::iota(identity.begin(), identity.end(), 0);
    elements.push_back(std::move(identity));
    const auto length = group_derived_length(std::move(elements));
    algebra.solvable = algebra.solvable && length.has_value();
    if (!length)
      algebra.derived_length.reset();
    else if (algebra.derived_length)
      algebra.derived_length = std::max(*algebra.derived_length, *length);
  }
  if (!algebra.aperiodic) algebra.periodic = first_periodic_word(least, monoid);
  return algebra;
}

}  // namespace rung
