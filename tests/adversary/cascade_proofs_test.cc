// Aperiodic automata are followed by cascades of set-reset layers, proved at every length.
#include <algorithm>

#include "rung/tasks/monoid.h"
#include "tests/adversary/product_proofs.h"

namespace rung {
namespace {

// Letters that keep the states in order: aperiodic, with the most sets that a cascade can meet.
Automaton ordered_automaton(Random& random, std::uint32_t states, std::uint32_t letters) {
  Automaton a = random_automaton(random, states, letters);
  for (std::uint32_t l = 0; l < letters; ++l) {
    std::vector<std::uint32_t> to;
    for (std::uint32_t q = 0; q < states; ++q) to.push_back(a.step(q, l));
    std::sort(to.begin(), to.end());
    for (std::uint32_t q = 0; q < states; ++q) a.next[q * letters + l] = to[q];
  }
  for (std::uint32_t q = 0; q < states; ++q) a.out[q] = q;
  a.answers = states;
  a.start = static_cast<std::uint32_t>(random.below(states));
  return a;
}

// Whether a cascade follows the automaton: proved where it is aperiodic, and by rung-check where `check`;
// refused by name where it is not.
bool followed_by_a_cascade(const Automaton& drawn, bool check) {
  const Automaton a = minimised(drawn);
  const auto algebra = algebra_of(a);
  RUNG_REQUIRE(algebra.ok(), "{}", algebra.error().message);
  const std::string file = automaton_file(a, "cascade");
  auto made = build_construction({.name = "automaton", .options = {{"file", file}, {"by", "cascade"}}});
  if (!algebra->aperiodic) {
    EXPECT_FALSE(made) << "a cascade of flip-flops cannot follow a group";
    if (!made) EXPECT_NE(made.error().message.find("permutes"), std::string::npos) << made.error().message;
    return false;
  }
  EXPECT_TRUE(made) << made.error().message;
  if (!made) return false;
  const Weights weights = made->weights;
  const Proved all = proved_of(std::move(*made));
  EXPECT_EQ(all.outcome.verdict, ProductVerdict::proved) << all.outcome.reason;
  if (all.outcome.verdict != ProductVerdict::proved) return false;
  if (check) EXPECT_EQ(checked(weights, *product_certificate(all.problem, all.outcome), "cascade"), 0);
  return true;
}

TEST(Cascades, follow_every_aperiodic_automaton_of_three_states_and_two_letters) {
  int aperiodic = 0, refused = 0;
  for (int code = 0; code < 729; ++code) {
    Automaton a;
    a.letters = {"a", "b"};
    a.states = {"q0", "q1", "q2"};
    a.out = {0, 1, 2};
    a.answers = 3;
    for (int entry = 0, rest = code; entry < 6; ++entry, rest /= 3)
      a.next.push_back(static_cast<std::uint32_t>(rest % 3));
    (followed_by_a_cascade(a, code % 200 == 0) ? aperiodic : refused) += 1;
  }
  EXPECT_EQ(aperiodic, 249);
  EXPECT_EQ(refused, 729 - 249);
}

TEST(Cascades, follow_every_aperiodic_automaton_that_is_drawn) {
  Random random(5);
  int aperiodic = 0, refused = 0;
  for (int i = 0; i < 60; ++i) {
    const auto states = 2 + static_cast<std::uint32_t>(random.below(5)),
               letters = 1 + static_cast<std::uint32_t>(random.below(3));
    const bool followed = followed_by_a_cascade(random_automaton(random, states, letters), i % 20 == 0);
    (followed ? aperiodic : refused) += 1;
  }
  EXPECT_GE(aperiodic, 15);
  EXPECT_GT(refused, 5);
}

TEST(Cascades, follow_automata_of_ordered_states) {
  // How many automata; the label long asks for more.
  const char* asked = std::getenv("RUNG_CASCADES");
  const int most = asked ? std::atoi(asked) : 40;
  Random random(6);
  for (int i = 0; i < most; ++i) {
    const auto states = 2 + static_cast<std::uint32_t>(random.below(5)),
               letters = 1 + static_cast<std::uint32_t>(random.below(10));
    EXPECT_TRUE(followed_by_a_cascade(ordered_automaton(random, states, letters), i % 12 == 0))
        << states << " states, " << letters << " letters, number " << i;
  }
}

}  // namespace
}  // namespace rung
