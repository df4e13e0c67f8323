// Every gadget on every input of its stated interval, through the compiled matrices, at its own depth and at
// a larger one.
#include "rung/constructions/relu_gadgets.h"

#include <gtest/gtest.h>

#include <functional>

namespace rung {
namespace {

// The MLP as docs/weights.md says it: maps with ReLU between, added to the row; saturation must never bite.
std::vector<std::int64_t> run(const std::vector<ReluMap>& maps, std::vector<std::int64_t> row) {
  std::vector<std::int64_t> h = row;
  for (std::size_t k = 0; k < maps.size(); ++k) {
    const ReluMap& map = maps[k];
    EXPECT_EQ(static_cast<std::int64_t>(h.size()), map.cols);
    std::vector<std::int64_t> next;
    for (std::int64_t r = 0; r < map.rows; ++r) {
      std::int64_t sum = map.bias[static_cast<std::size_t>(r)];
      for (std::int64_t c = 0; c < map.cols; ++c)
        sum += map.weight[static_cast<std::size_t>(r * map.cols + c)] * h[static_cast<std::size_t>(c)];
      EXPECT_LT(sum, std::int64_t{1} << (map.bits - 1)) << "a number left its width";
      if (k + 1 < maps.size()) sum = std::max<std::int64_t>(0, sum);
      next.push_back(sum);
    }
    h = next;
  }
  for (std::size_t c = 0; c < row.size(); ++c) row[c] += h[c];
  return row;
}

struct Domain {
  std::int64_t low, high;
};

// Circuit over inputs 0..k-1; `make` returns the outputs, which go to coordinates k.. . `expected` computes
// them plainly.
void check(const std::vector<Domain>& domain, const std::function<Bits(ReluCircuit&, const Bits&)>& make,
           const std::function<std::vector<std::int64_t>(const std::vector<std::int64_t>&)>& expected,
           int layers) {
  ReluCircuit circuit;
  Bits inputs;
  for (std::size_t i = 0; i < domain.size(); ++i)
    inputs.push_back(circuit.input(static_cast<std::int64_t>(i), domain[i].low, domain[i].high));
  const Bits outputs = make(circuit, inputs);
  const auto width = static_cast<std::int64_t>(domain.size() + outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i)
    circuit.add(static_cast<std::int64_t>(domain.size() + i), outputs[i]);
  EXPECT_EQ(circuit.depth(), layers);
  for (const int depth : {circuit.depth(), circuit.depth() + 2}) {
    const auto maps = circuit.compile(width, depth);
    ASSERT_EQ(static_cast<int>(maps.size()), depth + 1);
    std::vector<std::int64_t> row(static_cast<std::size_t>(width), 0);
    for (std::size_t i = 0; i < domain.size(); ++i) row[i] = domain[i].low;
    for (bool more = true; more;) {
      const std::vector<std::int64_t> given(row.begin(),
                                            row.begin() + static_cast<std::ptrdiff_t>(domain.size()));
      const auto want = expected(given);
      const auto got = run(maps, row);
      for (std::size_t i = 0; i < want.size(); ++i)
        ASSERT_EQ(got[domain.size() + i], want[i]) << "output " << i << " at first input " << given[0];
      for (std::size_t i = 0; i < domain.size(); ++i) ASSERT_EQ(got[i], row[i]) << "an input changed";
      more = false;
      for (std::size_t i = 0; i < domain.size() && !more; ++i) {
        more = row[i] < domain[i].high;
        row[i] = more ? row[i] + 1 : domain[i].low;
      }
    }
  }
}

const Domain kBit{0, 1};

TEST(ReluGadgets, threshold_steps_at_its_place) {
  for (std::int64_t k = -6; k <= 9; ++k)
    check(
        {{-5, 8}}, [&](ReluCircuit& c, const Bits& x) { return Bits{at_least(c, x[0], k)}; },
        [&](const auto& x) { return std::vector<std::int64_t>{x[0] >= k}; }, 1);
}

TEST(ReluGadgets, equality_with_a_constant_hits_one_value) {
  for (std::int64_t k = -6; k <= 9; ++k)
    check(
        {{-5, 8}}, [&](ReluCircuit& c, const Bits& x) { return Bits{equals(c, x[0], k)}; },
        [&](const auto& x) { return std::vector<std::int64_t>{x[0] == k}; }, 1);
}

TEST(ReluGadgets, all_any_and_differ_are_and_or_and_xor) {
  check(
      {kBit, kBit, kBit, kBit},
      [](ReluCircuit& c, const Bits& x) {
        return Bits{all_of(c, x), any_of(c, x), differ(c, x[0], x[3])};
      },
      [](const auto& x) {
        const auto sum = x[0] + x[1] + x[2] + x[3];
        return std::vector<std::int64_t>{sum == 4, sum > 0, x[0] ^ x[3]};
      },
      1);
}

TEST(ReluGadgets, words_are_compared_bit_by_bit) {
  check(
      {kBit, kBit, kBit, kBit, kBit, kBit},
      [](ReluCircuit& c, const Bits& x) {
        return Bits{same_bits(c, {x[0], x[1], x[2]}, {x[3], x[4], x[5]}), same_bits(c, {x[0], x[1]}, {1, 0})};
      },
      [](const auto& x) {
        return std::vector<std::int64_t>{x[0] == x[3] && x[1] == x[4] && x[2] == x[5],
                                         x[0] == 1 && x[1] == 0};
      },
      2);
}

TEST(ReluGadgets, restoring_keeps_exact_bits) {
  check(
      {kBit}, [](ReluCircuit& c, const Bits& x) { return Bits{restored(c, x[0])}; },
      [](const auto& x) { return x; }, 1);
}

TEST(ReluGadgets, gates_and_choices_pass_what_the_flag_says) {
  check(
      {kBit, {-7, 5}, {0, 9}},
      [](ReluCircuit& c, const Bits& x) {
        return Bits{gated(c, x[0], x[1]), gated(c, x[0], x[2]), chosen(c, x[0], x[1], x[2]),
                    chosen(c, 1 - x[0], 3, x[1])};
      },
      [](const auto& x) {
        return std::vector<std::int64_t>{x[0] ? x[1] : 0, x[0] ? x[2] : 0, x[0] ? x[1] : x[2],
                                         x[0] ? x[1] : 3};
      },
      1);
}

TEST(ReluGadgets, clamping_cuts_at_the_top) {
  for (std::int64_t high = -3; high <= 9; ++high)
    check(
        {{-2, 7}}, [&](ReluCircuit& c, const Bits& x) { return Bits{clamped(c, x[0], high)}; },
        [&](const auto& x) { return std::vector<std::int64_t>{std::min(x[0], high)}; }, 1);
}

TEST(ReluGadgets, numbers_decode_to_their_bits_deep_and_wide) {
  for (int digits = 1; digits <= 7; ++digits) {
    const std::int64_t top = (std::int64_t{1} << digits) - 1;
    for (const std::int64_t high : {top, std::max<std::int64_t>(1, top - 1), top / 2 + 1}) {
      const auto bits_of = [&](const auto& x) {
        std::vector<std::int64_t> bits;
        for (int d = 0; d < digits; ++d) bits.push_back(x[0] >> d & 1);
        return bits;
      };
      check(
          {{0, high}}, [&](ReluCircuit& c, const Bits& x) { return decoded(c, x[0], digits); }, bits_of,
          std::max(1, digits - 1));
      check(
          {{0, high}}, [&](ReluCircuit& c, const Bits& x) { return decoded_wide(c, x[0], digits); }, bits_of,
          1);
    }
  }
}

// The address step of sequential composition: base + w·N + i from bits, back to bits.
TEST(ReluGadgets, an_address_is_computed_from_bits) {
  constexpr std::int64_t base = 5, N = 6;
  check(
      {kBit, kBit, kBit, kBit, kBit},  // w in 0..3, i in 0..7
      [](ReluCircuit& c, const Bits& x) {
        return decoded(c, base + N * recombined({x[0], x[1]}) + recombined({x[2], x[3], x[4]}), 5);
      },
      [](const auto& x) {
        const std::int64_t address = base + N * (x[0] + 2 * x[1]) + x[2] + 2 * x[3] + 4 * x[4];
        std::vector<std::int64_t> bits;
        for (int d = 0; d < 5; ++d) bits.push_back(address >> d & 1);
        return bits;
      },
      4);
}

TEST(ReluGadgets, overwriting_replaces_what_stood_there) {
  ReluCircuit circuit;
  const Slot code{"code", 0, 2, ""}, bits{"bits", 2, 2, ""};
  const Bits x = slot_inputs(circuit, bits);
  overwrite(circuit, code, {2 * x[0] - 1, 2 * x[1] - 1}, -1, 1);
  clear(circuit, bits);
  const auto maps = circuit.compile(4, 3);
  for (std::int64_t old = 0; old < 9; ++old)
    for (std::int64_t word = 0; word < 4; ++word) {
      const auto row = run(maps, {old % 3 - 1, old / 3 - 1, word & 1, word >> 1});
      EXPECT_EQ(row, (std::vector<std::int64_t>{2 * (word & 1) - 1, 2 * (word >> 1) - 1, 0, 0}));
    }
}

TEST(ReluGadgets, a_wrong_gadget_is_caught) {
  ReluCircuit circuit;
  const Number x = circuit.input(0, 0, 3);
  circuit.add(1, circuit.relu(x - 1));  // not a threshold: 0 0 1 2
  const auto maps = circuit.compile(2, 1);
  EXPECT_NE(run(maps, {3, 0})[1], 1);
}

}  // namespace
}  // namespace rung
