#include "rung/tasks/automaton.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace rung {
namespace {

// The least partition of the states whose blocks agree in answers and, letter by letter, in the blocks of their
// successors (Hopcroft 1971). REQUIRES every state reachable. Returns the block of each state.
std::vector<std::uint32_t> equal_states(const Automaton& automaton) {
  const std::size_t states = automaton.out.size(), letters = automaton.letters.size();
  // Predecessors by letter: those of state q under letter a stand in from[first[a * (states + 1) + q] ...].
  std::vector<std::uint32_t> from(states * letters), first(letters * (states + 1), 0);
  for (std::size_t q = 0; q < states; ++q)
    for (std::size_t a = 0; a < letters; ++a) ++first[a * (states + 1) + automaton.next[q * letters + a] + 1];
  for (std::size_t a = 0; a < letters; ++a) {
    first[a * (states + 1)] += static_cast<std::uint32_t>(a * states);
    for (std::size_t q = 0; q < states; ++q) first[a * (states + 1) + q + 1] += first[a * (states + 1) + q];
  }
  auto place = first;
  for (std::size_t q = 0; q < states; ++q)
    for (std::size_t a = 0; a < letters; ++a)
      from[place[a * (states + 1) + automaton.next[q * letters + a]]++] = static_cast<std::uint32_t>(q);

  // Blocks are intervals of `order`; marked members of a block stand at its front.
  std::vector<std::uint32_t> order(states), at(states), block(states), begin, end, marked;
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t p, std::uint32_t q) { return automaton.out[p] < automaton.out[q]; });
  for (std::size_t i = 0; i < states; ++i) {
    if (i == 0 || automaton.out[order[i]] != automaton.out[order[i - 1]]) {
      begin.push_back(static_cast<std::uint32_t>(i));
      end.push_back(static_cast<std::uint32_t>(i));
      marked.push_back(0);
    }
    at[order[i]] = static_cast<std::uint32_t>(i);
    block[order[i]] = static_cast<std::uint32_t>(begin.size() - 1);
    ++end.back();
  }
  std::vector<std::uint32_t> waiting(begin.size()), touched, splitter;
  std::iota(waiting.begin(), waiting.end(), 0);
  std::vector<bool> waits(begin.size(), true);
  while (!waiting.empty()) {
    const std::uint32_t by = waiting.back();
    waiting.pop_back();
    waits[by] = false;
    splitter.assign(order.begin() + begin[by], order.begin() + end[by]);
    for (std::size_t a = 0; a < letters; ++a) {
      for (const std::uint32_t q : splitter)
        for (std::size_t i = first[a * (states + 1) + q]; i < first[a * (states + 1) + q + 1]; ++i) {
          const std::uint32_t p = from[i], b = block[p], front = begin[b] + marked[b];
          if (at[p] < front) continue;  // marked already
          if (marked[b]++ == 0) touched.push_back(b);
          std::swap(order[at[p]], order[front]);
          at[order[at[p]]] = at[p];
          at[p] = front;
        }
      for (const std::uint32_t b : touched) {
        const std::uint32_t count = std::exchange(marked[b], 0);
        if (count == end[b] - begin[b]) continue;
        // The smaller part becomes a block of its own; it waits, and so does the larger one if the whole did.
        const auto fresh = static_cast<std::uint32_t>(begin.size());
        const bool front_smaller = 2 * count <= end[b] - begin[b];
        const std::uint32_t middle = begin[b] + count;
        begin.push_back(front_smaller ? begin[b] : middle);
        end.push_back(front_smaller ? middle : end[b]);
        (front_smaller ? begin[b] : end[b]) = middle;
        marked.push_back(0);
        for (std::uint32_t i = begin[fresh]; i < end[fresh]; ++i) block[order[i]] = fresh;
        waits.push_back(true);
        waiting.push_back(fresh);
      }
      touched.clear();
    }
  }
  return block;
}

// The states in the order in which words of growing length first come to them.
std::vector<std::uint32_t> states_by_words(const Automaton& automaton) {
  std::vector<std::uint32_t> order{automaton.start};
  std::vector<bool> seen(automaton.out.size(), false);
  seen[automaton.start] = true;
  for (std::size_t i = 0; i < order.size(); ++i)
    for (std::uint32_t a = 0; a < automaton.letter_count(); ++a)
      if (const std::uint32_t to = automaton.step(order[i], a); !seen[to]) {
        seen[to] = true;
        order.push_back(to);
      }
  return order;
}

// The automaton on the representatives, states[i] being the i-th; of[q]: which one stands for q.
Automaton collapsed(const Automaton& automaton, const std::vector<std::uint32_t>& states,
                    const std::vector<std::uint32_t>& of) {
  Automaton least{.letters = automaton.letters, .answers = automaton.answers, .accepts = automaton.accepts};
  for (const std::uint32_t q : states) {
    least.states.push_back(automaton.states[q]);
    least.out.push_back(automaton.out[q]);
    for (std::uint32_t a = 0; a < automaton.letter_count(); ++a)
      least.next.push_back(of[automaton.step(q, a)]);
  }
  least.start = of[automaton.start];
  return least;
}

}  // namespace

std::uint32_t Automaton::run(std::span<const std::uint32_t> word, std::uint32_t from) const {
  for (const std::uint32_t letter : word) from = step(from, letter);
  return from;
}

std::vector<bool> reachable_states(const Automaton& automaton) {
  std::vector<bool> reached(automaton.out.size(), false);
  for (const std::uint32_t q : states_by_words(automaton)) reached[q] = true;
  return reached;
}

Automaton minimised(const Automaton& automaton) {
  const auto reached = states_by_words(automaton);
  std::vector<std::uint32_t> number(automaton.out.size(), 0);
  for (std::size_t i = 0; i < reached.size(); ++i) number[reached[i]] = static_cast<std::uint32_t>(i);
  const Automaton trimmed = collapsed(automaton, reached, number);
  const auto block = equal_states(trimmed);
  // The first member of each block in the order of words stands for it, and numbers it.
  std::vector<std::uint32_t> first, of(block.size());
  std::vector<std::int64_t> named(block.size(), -1);
  for (std::uint32_t q = 0; q < block.size(); ++q) {
    if (named[block[q]] < 0) {
      named[block[q]] = static_cast<std::int64_t>(first.size());
      first.push_back(q);
    }
    of[q] = static_cast<std::uint32_t>(named[block[q]]);
  }
  return collapsed(trimmed, first, of);
}

std::vector<std::uint32_t> neutral_letters(const Automaton& automaton) {
  std::vector<std::uint32_t> neutral;
  for (std::uint32_t a = 0; a < automaton.letter_count(); ++a) {
    bool fixes = true;
    for (std::uint32_t q = 0; fixes && q < automaton.state_count(); ++q) fixes = automaton.step(q, a) == q;
    if (fixes) neutral.push_back(a);
  }
  return neutral;
}

}  // namespace rung
