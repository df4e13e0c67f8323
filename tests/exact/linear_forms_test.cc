// The linear family has two forms. The recurrent one carries a state; the parallel one weighs every earlier
// token:
//   linear attention   y_i ∝ Σ_j (φ(q_i)·φ(k_j)) v_j
//   mamba2             y_i = Σ_j (C_i·B_j) Π_{s=j+1..i} a_s x_j
//   delta              a segment of tokens acts as S ↦ S A + B, and segments compose
// Without rounding they are the same numbers: as integers with exact sums, modulo 2^a with wrapping ones.
// With rounding after every step they are not, and the recurrence alone is the model.
#include <gtest/gtest.h>

#include "rung/base/random.h"
#include "tests/exact/hand_made.h"

namespace rung {
namespace {

using plain::Big;
using NumberTable = std::vector<Numbers>;

NumberTable random_rows(Random& random, int count, int width, std::int64_t size) {
  NumberTable rows(static_cast<std::size_t>(count), Numbers(static_cast<std::size_t>(width)));
  for (auto& row : rows)
    for (auto& number : row) number = random.between(-size, size);
  return rows;
}

constexpr int kTokens = 17, kKeys = 3, kValues = 2;

HandMade linear_layer(const std::string& options) {
  HandMade layer("linear(heads=1,dim=3,vdim=2," + options + ")",
                 {{"q", kKeys}, {"k", kKeys}, {"v", kValues}});
  layer.scalar("y.bits", 48);
  return layer;
}

Big score(const NumberTable& rows, std::size_t i, std::size_t j) {
  Big sum = 0;
  for (std::size_t c = 0; c < kKeys; ++c) sum += Big(rows[i][c]) * rows[j][kKeys + c];
  return sum;
}

// Σ_j score(i, j) value_j[r], and the sum of scores when r = kValues.
Big weighted(const NumberTable& rows, std::size_t i, std::size_t r) {
  Big sum = 0;
  for (std::size_t j = 0; j <= i; ++j) sum += score(rows, i, j) * (r < kValues ? rows[j][2 * kKeys + r] : 1);
  return sum;
}

TEST(LinearForms, agree_as_integers_with_exact_sums) {
  Random random(1);
  const auto unnormalised = linear_layer("feature=identity,normalised=no"),
             normalised = linear_layer("feature=identity");
  for (int trial = 0; trial < 40; ++trial) {
    const NumberTable rows = random_rows(random, kTokens, 2 * kKeys + kValues, 1 << random.below(12));
    const auto sums = unnormalised.outputs(rows), quotients = normalised.outputs(rows);
    for (std::size_t i = 0; i < kTokens; ++i)
      for (std::size_t r = 0; r < kValues; ++r) {
        ASSERT_EQ(weighted(rows, i, r), sums[i][r]);
        ASSERT_EQ(plain::sat(plain::quot(weighted(rows, i, r), weighted(rows, i, kValues), 1), 48),
                  quotients[i][r]);
      }
  }
}

TEST(LinearForms, agree_modulo_two_to_the_a_with_wrapping_sums) {
  Random random(2);
  auto layer = linear_layer("feature=identity,normalised=no");
  layer.weights.accumulator = Accumulator::wrap;
  int wrapped = 0;
  for (const std::int64_t a : {3, 8, 13, 20})
    for (int trial = 0; trial < 15; ++trial) {
      layer.dimensions().accumulator_bits = a;
      const NumberTable rows = random_rows(random, kTokens, 2 * kKeys + kValues, 1 << random.below(9));
      const auto sums = layer.outputs(rows);
      for (std::size_t i = 0; i < kTokens; ++i)
        for (std::size_t r = 0; r < kValues; ++r) {
          ASSERT_EQ(plain::wrap(weighted(rows, i, r), a), plain::wrap(sums[i][r], a));
          wrapped += weighted(rows, i, r) != sums[i][r];
        }
    }
  EXPECT_GT(wrapped, 100) << "the sums must leave their width for this to say anything";
}

// What agrees with wrapping sums is the number modulo 2^a. The read multiplies a wrapped state and is not
// wrapped again, so a reader that divides or shifts sees the state's representative: a = 4, S = 5 + 5 = 10 ->
// -6, q = 3: -18, where the weighted sum is 30. Both are 14 modulo 16.
TEST(LinearForms, a_wrapped_state_is_read_by_its_representative) {
  auto layer = linear_layer("feature=identity,normalised=no");
  layer.weights.accumulator = Accumulator::wrap;
  layer.dimensions().accumulator_bits = 4;
  const NumberTable rows{{3, 0, 0, 1, 0, 0, 5, 0}, {3, 0, 0, 1, 0, 0, 5, 0}};
  EXPECT_EQ(layer.outputs(rows)[1][0], -18);
  EXPECT_EQ(weighted(rows, 1, 0), 30);
  EXPECT_EQ(plain::wrap(-18, 4), plain::wrap(30, 4));
}

TEST(LinearForms, differ_when_the_state_is_rounded_at_every_step) {
  // update.shift = 1, k = q = 1, v = 1 three times. Recurrence: 1/2 -> 0 every time, the state stays 0. The
  // parallel form rounds Σ_j (q·k_j) v_j = 3 once: 3/2 -> 2.
  auto layer = linear_layer("feature=identity,normalised=no");
  layer.weights.accumulator = Accumulator::round;
  layer.scalar("update.shift", 1);
  const NumberTable rows(3, Numbers{1, 0, 0, 1, 0, 0, 1, 0});
  EXPECT_EQ(layer.outputs(rows)[2][0], 0);
  EXPECT_EQ(plain::rsh(weighted(rows, 2, 0), 1), 2);
}

TEST(LinearForms, differ_when_the_state_saturates) {
  // a = 4 and values 7, 7, -7: the recurrence goes 7, 7 (14 is cut), 0; the sum is 7.
  auto layer = linear_layer("feature=identity,normalised=no");
  layer.weights.accumulator = Accumulator::round;
  layer.dimensions().accumulator_bits = 4;
  const NumberTable rows{{1, 0, 0, 1, 0, 0, 7, 0}, {1, 0, 0, 1, 0, 0, 7, 0}, {1, 0, 0, 1, 0, 0, -7, 0}};
  EXPECT_EQ(layer.outputs(rows)[2][0], 0);
  EXPECT_EQ(weighted(rows, 2, 0), 7);
}

// mamba2 with whole-number decays and no shift. Rows: x (kValues), b, c (kKeys each), gate.
HandMade mamba2_layer() {
  HandMade layer("mamba2(heads=1,dim=2,state=3,form=plain)",
                 {{"x", kValues}, {"b", kKeys}, {"c", kKeys}, {"gate", 1}});
  layer.table("gate", -2, {-2, -1, 0, 1, 2});
  layer.scalar("y.bits", 48);
  return layer;
}

Big decayed_sum(const NumberTable& rows, std::size_t i, std::size_t r) {
  Big sum = 0;
  for (std::size_t j = 0; j <= i; ++j) {
    Big weight = 0;
    for (std::size_t c = 0; c < kKeys; ++c)
      weight += Big(rows[i][kValues + kKeys + c]) * rows[j][kValues + c];
    for (std::size_t s = j + 1; s <= i; ++s) weight *= plain::clip(rows[s][kValues + 2 * kKeys], -2, 2);
    sum += weight * rows[j][r];
  }
  return sum;
}

TEST(Mamba2Forms, agree_without_rounding) {
  Random random(3);
  auto layer = mamba2_layer();
  layer.dimensions().accumulator_bits = 44;  // 2^17 · 17 · 2^8 stays inside
  for (int trial = 0; trial < 40; ++trial) {
    const NumberTable rows = random_rows(random, kTokens, kValues + 2 * kKeys + 1, 1 << random.below(5));
    const auto y = layer.outputs(rows);
    for (std::size_t i = 0; i < kTokens; ++i)
      for (std::size_t r = 0; r < kValues; ++r) ASSERT_EQ(decayed_sum(rows, i, r), y[i][r]);
  }
}

TEST(Mamba2Forms, agree_modulo_two_to_the_a_with_wrapping_states) {
  Random random(4);
  auto layer = mamba2_layer();
  layer.weights.accumulator = Accumulator::wrap;
  layer.dimensions().accumulator_bits = 6;
  for (int trial = 0; trial < 40; ++trial) {
    const NumberTable rows = random_rows(random, kTokens, kValues + 2 * kKeys + 1, 1 << random.below(8));
    const auto y = layer.outputs(rows);
    for (std::size_t i = 0; i < kTokens; ++i)
      for (std::size_t r = 0; r < kValues; ++r)
        ASSERT_EQ(plain::wrap(decayed_sum(rows, i, r), 6), plain::wrap(y[i][r], 6));
  }
}

TEST(Mamba2Forms, differ_when_decays_are_rounded) {
  HandMade layer("mamba2(heads=1,dim=1,state=1,form=plain)", {{"x", 1}, {"b", 1}, {"c", 1}, {"gate", 1}});
  layer.table("gate", 0, {1, 2});
  layer.scalar("decay.shift", 1);
  // Decay 1/2. Rows (x, b, c, gate): 1 enters; it halves to 0.5 -> 0 while 5 enters; 5 halves to 2.5 -> 2.
  const auto y = layer.outputs({{1, 1, 1, 1}, {5, 1, 1, 0}, {0, 0, 1, 0}});
  EXPECT_EQ(y[2], Numbers{2});
  // The parallel form: 1/4 + 5/2 = 2.75 -> 3.
  EXPECT_EQ(plain::rsh(1 * 1 + 5 * 2, 2), 3);
}

// The delta rule without shifts, β a whole number: S ← S (I - β k kᵀ) + β v kᵀ. Rows: q, k (kKeys), v
// (kValues), beta.
struct Segment {
  std::vector<plain::Row> a, b;  // kKeys x kKeys, kValues x kKeys
};

std::vector<plain::Row> product(const std::vector<plain::Row>& x, const std::vector<plain::Row>& y) {
  std::vector<plain::Row> out(x.size(), plain::Row(y[0].size(), 0));
  for (std::size_t i = 0; i < x.size(); ++i)
    for (std::size_t j = 0; j < y[0].size(); ++j)
      for (std::size_t c = 0; c < y.size(); ++c) out[i][j] += x[i][c] * y[c][j];
  return out;
}

Segment token_segment(const Numbers& row) {
  Segment s{std::vector<plain::Row>(kKeys, plain::Row(kKeys, 0)),
            std::vector<plain::Row>(kValues, plain::Row(kKeys, 0))};
  const Big beta = plain::clip(row[2 * kKeys + kValues], -1, 1);
  for (std::size_t i = 0; i < kKeys; ++i)
    for (std::size_t j = 0; j < kKeys; ++j)
      s.a[i][j] = Big(i == j ? 1 : 0) - beta * row[kKeys + i] * row[kKeys + j];
  for (std::size_t r = 0; r < kValues; ++r)
    for (std::size_t j = 0; j < kKeys; ++j) s.b[r][j] = beta * row[2 * kKeys + r] * row[kKeys + j];
  return s;
}

// First `one`, then `two`: S A1 A2 + (B1 A2 + B2).
Segment compose(const Segment& one, const Segment& two) {
  Segment s{product(one.a, two.a), product(one.b, two.a)};
  for (std::size_t r = 0; r < s.b.size(); ++r)
    for (std::size_t j = 0; j < s.b[r].size(); ++j) s.b[r][j] += two.b[r][j];
  return s;
}

TEST(DeltaForms, segments_compose_in_any_grouping) {
  Random random(5);
  HandMade layer("delta(heads=1,dim=3,vdim=2,form=plain)",
                 {{"q", kKeys}, {"k", kKeys}, {"v", kValues}, {"beta", 1}});
  layer.table("beta", -1, {-1, 0, 1});
  layer.scalar("y.bits", 48);
  layer.dimensions().accumulator_bits = 46;
  for (int trial = 0; trial < 40; ++trial) {
    const NumberTable rows =
        random_rows(random, 12, 2 * kKeys + kValues + 1, 1);  // |1 - β kᵀk| <= 4: at most 4^12 · 12
    const auto y = layer.outputs(rows);
    std::vector<Segment> segments;
    for (const auto& row : rows) segments.push_back(token_segment(row));
    // Token by token from the left, from the right, and by random cuts: the same segment.
    Segment left = segments[0];
    for (std::size_t t = 1; t < segments.size(); ++t) left = compose(left, segments[t]);
    Segment right = segments.back();
    for (std::size_t t = segments.size() - 1; t-- > 0;) right = compose(segments[t], right);
    std::vector<Segment> pieces = segments;
    while (pieces.size() > 1) {
      const std::size_t at = random.below(pieces.size() - 1);
      pieces[at] = compose(pieces[at], pieces[at + 1]);
      pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    }
    ASSERT_EQ(left.a, right.a);
    ASSERT_EQ(left.b, right.b);
    ASSERT_EQ(left.a, pieces[0].a);
    ASSERT_EQ(left.b, pieces[0].b);
    // From the zero state S = B, and the machine reads S q.
    for (std::size_t r = 0; r < kValues; ++r) {
      Big read = 0;
      for (std::size_t c = 0; c < kKeys; ++c) read += left.b[r][c] * rows.back()[c];
      ASSERT_EQ(read, y.back()[r]);
    }
  }
}

TEST(DeltaForms, segments_do_not_compose_when_writes_are_rounded) {
  // β = 1/2, k = 1, v = 1 then 0: e = 1, S = rsh(1, 1) = 0 (half to even); e = 0: S = 0. The composed segment
  // in rationals:
  // S = 1/2, then 1/2 - 1/4 = 1/4. With v = 3, 0: S = 1.5 -> 2, e = -2: S = 2 - 1 = 1; rationals: 3/2 - 3/4 =
  // 3/4. Scaled up by 4 (v = 12, 0) nothing is rounded: 6, then 3 = 4 · 3/4, not 4 · 1.
  HandMade layer("delta(heads=1,dim=1,vdim=1,form=plain)", {{"q", 1}, {"k", 1}, {"v", 1}, {"beta", 1}});
  layer.table("beta", 0, {1});
  layer.scalar("write.shift", 1);
  EXPECT_EQ(layer.outputs({{1, 1, 3, 0}, {1, 1, 0, 0}})[1], Numbers{1});
  EXPECT_EQ(layer.outputs({{1, 1, 12, 0}, {1, 1, 0, 0}})[1], Numbers{3});
}

}  // namespace
}  // namespace rung
