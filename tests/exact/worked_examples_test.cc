// Every mixer on a handful of small numbers, worked out by hand in the comments.
#include <gtest/gtest.h>

#include <bit>

#include "tests/exact/hand_made.h"

namespace rung {
namespace {

using NumberTable = std::vector<Numbers>;

// Numbers
// ----------------------------------------------------------------------------------------------------------

TEST(NumbersByHand, shifts_round_halves_to_even) {
  HandMade layer("identity(heads=1,vdim=1)", {{"v", 1}});
  layer.scalar("v.shift", 1);
  // -5/2 = -2.5 -> -2, -3/2 = -1.5 -> -2, -1/2 -> 0, 1/2 -> 0, 3/2 -> 2, 5/2 -> 2, 7/2 -> 4.
  EXPECT_EQ(layer.outputs({{-5}, {-3}, {-1}, {1}, {3}, {5}, {7}}),
            (NumberTable{{-2}, {-2}, {0}, {0}, {2}, {2}, {4}}));
  layer.scalar("v.shift",
               2);  // -7/4 = -1.75 -> -2, -6/4 = -1.5 -> -2, -5/4 -> -1, 6/4 = 1.5 -> 2, 10/4 = 2.5 -> 2
  EXPECT_EQ(layer.outputs({{-7}, {-6}, {-5}, {6}, {10}}), (NumberTable{{-2}, {-2}, {-1}, {2}, {2}}));
}

TEST(NumbersByHand, negative_shifts_multiply) {
  HandMade layer("identity(heads=1,vdim=1)", {{"v", 1}});
  layer.scalar("v.shift", -3);
  EXPECT_EQ(layer.outputs({{5}, {-5}}), (NumberTable{{40}, {-40}}));
}

TEST(NumbersByHand, four_bits_saturate_at_minus_8_and_7) {
  HandMade layer("identity(heads=1,vdim=1)", {{"v", 1}});
  layer.scalar("v.bits", 4);
  EXPECT_EQ(layer.outputs({{7}, {8}, {100}, {-8}, {-9}}), (NumberTable{{7}, {7}, {7}, {-8}, {-8}}));
}

TEST(NumbersByHand, the_residual_stream_saturates) {
  HandMade layer("identity(heads=1,vdim=1)", {{"v", 1}});
  layer.scalar("stream.bits", 5);
  // x = 10, y = 10: 20 -> 15. x = -10: -20 -> -16. x = 7: 14.
  EXPECT_EQ(layer.activations({{10}, {-10}, {7}}), (NumberTable{{15}, {-16}, {14}}));
}

// Softmax attention
// ------------------------------------------------------------------------------------------------

// Rows are (q, k, v); weights E(0) = 1, E(1) = 2, E(2) = 4; scores outside 0..2 are clipped.
HandMade small_full(const std::string& options = "") {
  HandMade layer("full(heads=1,dim=1,vdim=1" + options + ")", {{"q", 1}, {"k", 1}, {"v", 1}});
  layer.table("score", 0, {1, 2, 4});
  return layer;
}
const NumberTable kThree{{1, 0, 10}, {1, 1, -7}, {1, 5, 3}};

TEST(FullByHand, divides_weighted_values_by_weights_and_floors) {
  // t=0: E(0)·10 / 1 = 10.
  // t=1: (1·10 + 2·-7) / 3 = -4/3: floor((2·-4 + 3) / 6) = floor(-5/6) = -1.
  // t=2: 1·5 = 5 is clipped to 2: (10 - 14 + 4·3) / 7 = 8/7: floor(23/14) = 1.
  EXPECT_EQ(small_full().outputs(kThree), (NumberTable{{10}, {-1}, {1}}));
}

TEST(FullByHand, value_scale_keeps_fractions) {
  auto layer = small_full();
  layer.scalar("value.scale", 100);
  // 1000; -400/3 = -133.3: floor((2·100·-4 + 3)/6) = floor(-797/6) = -133; 800/7 = 114.3: floor(1607/14) =
  // 114.
  EXPECT_EQ(layer.outputs(kThree), (NumberTable{{1000}, {-133}, {114}}));
}

TEST(FullByHand, halves_of_a_quotient_go_up) {
  auto layer = small_full();
  layer.table("score", 0, {1});
  // Two equal weights: -3/2 -> floor((-6 + 2)/4) = -1, and 3/2 -> floor((6 + 2)/4) = 2, -1/2 -> 0.
  EXPECT_EQ(layer.outputs({{0, 0, -3}, {0, 0, 0}})[1], Numbers{-1});
  EXPECT_EQ(layer.outputs({{0, 0, 3}, {0, 0, 0}})[1], Numbers{2});
  EXPECT_EQ(layer.outputs({{0, 0, -1}, {0, 0, 0}})[1], Numbers{0});
}

TEST(FullByHand, no_weight_at_all_gives_zero) {
  auto layer = small_full();
  layer.table("score", 0, {0, 1});
  // Scores 0, 0 weigh nothing; then the key 1 is the only one seen.
  EXPECT_EQ(layer.outputs({{1, 0, 10}, {1, 0, 20}, {1, 1, -7}}), (NumberTable{{0}, {0}, {-7}}));
}

TEST(FullByHand, scores_are_shifted_before_they_are_looked_up) {
  auto layer = small_full();
  layer.scalar("score.shift", 1);
  // q = 1: scores 0, 1/2 -> 0, 5/2 -> 2. t=1: (10 - 7)/2 = 1.5 -> 2. t=2: (10 - 7 + 12)/6 = 2.5 -> 3.
  EXPECT_EQ(layer.outputs(kThree), (NumberTable{{10}, {2}, {3}}));
}

TEST(FullByHand, a_window_of_two_forgets_the_third_token_back) {
  // t=2 sees tokens 1, 2: (2·-7 + 4·3) / 6 = -2/6 -> floor((-4 + 6)/12) = 0.
  EXPECT_EQ(small_full(",window=2").outputs(kThree), (NumberTable{{10}, {-1}, {0}}));
}

TEST(FullByHand, a_chunk_of_two_starts_afresh_at_token_two) {
  EXPECT_EQ(small_full(",chunk=2").outputs(kThree), (NumberTable{{10}, {-1}, {3}}));
}

TEST(FullByHand, an_encoder_sees_all_tokens_from_everywhere) {
  auto layer = small_full();
  layer.dimensions().causal = false;
  EXPECT_EQ(layer.outputs(kThree), (NumberTable{{1}, {1}, {1}}));
  auto window = small_full(",window=2");
  window.dimensions().causal = false;
  // t=0: tokens 0, 1: -4/3 -> -1. t=1: all three: 1. t=2: tokens 1, 2: 0.
  EXPECT_EQ(window.outputs(kThree), (NumberTable{{-1}, {1}, {0}}));
}

TEST(FullByHand, two_query_heads_share_one_key_value_head) {
  HandMade layer("full(heads=2,kv=1,dim=1,vdim=1)", {{"q", 2}, {"k", 1}, {"v", 1}});
  layer.table("score", 0, {1, 3});
  // Head 0 asks with 0: (4 + 8)/2 = 6. Head 1 asks with 1: keys 0, 1 weigh 1, 3: (4 + 24)/4 = 7.
  EXPECT_EQ(layer.outputs({{0, 1, 0, 4}, {0, 1, 1, 8}})[1], (Numbers{6, 7}));
}

TEST(FullByHand, a_short_convolution_comes_before_the_scores) {
  auto layer = small_full(",conv=2");
  layer.set("conv.weight", {3, 2}, {1, 0, 1, 0, 0, 1});  // q and k as they are, v one token late
  // v becomes 0, 10, -7: t=1: (0 + 2·10)/3 = 6.67 -> 7. t=2: (0 + 20 - 28)/7 = -1.14 -> -1.
  EXPECT_EQ(layer.outputs(kThree), (NumberTable{{0}, {7}, {-1}}));
}

// topk: rows are (q, k, v, index_q, index_k, index_mix).
TEST(TopKByHand, the_largest_index_scores_win_and_ties_go_to_the_smaller_position) {
  HandMade layer("topk(k=2,heads=1,dim=1,vdim=1,index_dim=1,form=plain)",
                 {{"q", 1}, {"k", 1}, {"v", 1}, {"index_q", 1}, {"index_k", 1}, {"index_mix", 1}});
  layer.table("score", 0, {1});
  // t=2: I = 1·(0, 3, 3): tokens 1, 2: (20 + 40)/2 = 30. t=3: I = (0, 3, 3, 3): the smaller two: tokens 1, 2:
  // 30 again.
  const NumberTable rows{{0, 0, 10, 1, 0, 1}, {0, 0, 20, 1, 3, 1}, {0, 0, 40, 1, 3, 1}, {0, 0, 80, 1, 3, 1}};
  EXPECT_EQ(layer.outputs(rows), (NumberTable{{10}, {15}, {30}, {30}}));
  // A mix of -1 is cut to 0: all scores are 0, positions 0 and 1 win.
  auto mute = rows;
  mute[3][5] = -1;
  EXPECT_EQ(layer.outputs(mute)[3], Numbers{15});
  // A negative index score is cut to 0 as well, and then position decides: I = (0, 0, 0, 4·1) with index_q =
  // -1 at t=3.
  auto negative = rows;
  negative[3] = {0, 0, 80, -1, -4, 1};
  EXPECT_EQ(layer.outputs(negative)[3], Numbers{45});  // tokens 0 and 3
}

// sparse: rows are (q, k, v, mix); blocks of two, one selected; the compressed key and value of a block are
// the sums of its two tokens' k and v.
HandMade small_sparse(const std::string& options = "", std::int64_t mixes = 1) {
  HandMade layer("sparse(B=2,k=1,heads=1,dim=1,vdim=1" + options + ",form=plain)",
                 {{"q", 1}, {"k", 1}, {"v", 1}, {"mix", mixes}});
  const std::int64_t w = layer.width();
  Numbers k(static_cast<std::size_t>(2 * w), 0), v = k;
  k[1] = k[static_cast<std::size_t>(w + 1)] = v[2] = v[static_cast<std::size_t>(w + 2)] = 1;
  layer.set("compress_k.weight", {1, 2 * w}, k);
  layer.set("compress_v.weight", {1, 2 * w}, v);
  layer.table("score", 0, {1, 2, 4});
  layer.scalar("mix.fraction", 1);
  return layer;
}

TEST(SparseByHand, a_query_reads_its_own_block_the_best_complete_block_and_the_summaries) {
  const auto layer = small_sparse();
  const NumberTable selected{{1, 0, 10, 0}, {1, 0, 20, 0}, {1, 1, 30, 0}, {1, 0, 40, 0}, {1, 0, 50, 0}};
  // λ = 0, y = y_sel. t=0: 10. t=1: own block: 15. t=2: block 0 (the only complete one) and token 2: weights
  // 1, 1, 2:
  // (10 + 20 + 60)/4 = 22.5 -> 23. t=3: block 1 is not complete: (10 + 20 + 60 + 40)/5 = 26.
  // t=4: block scores k̃ = 0, 1: block 1: tokens 2, 3 and 4: (60 + 40 + 50)/4 = 37.5 -> 38.
  EXPECT_EQ(layer.outputs(selected), (NumberTable{{10}, {15}, {23}, {26}, {38}}));
  auto compressed = selected;
  for (auto& row : compressed) row[3] = 2;  // λ = 2 of 2: y = y_cmp
  // No complete block: 0. Block 0: ṽ = 30. t=4: k̃ = 0, 1 weigh 1, 2; ṽ = 30, 70: 170/3 = 56.67 -> 57.
  EXPECT_EQ(layer.outputs(compressed), (NumberTable{{0}, {0}, {30}, {30}, {57}}));
  auto half = selected;
  for (auto& row : half) row[3] = 1;
  // Halves to even: (0 + 10)/2 = 5, 15/2 = 7.5 -> 8, (30 + 23)/2 = 26.5 -> 26, (30 + 26)/2 = 28, (57 + 38)/2
  // = 47.5 -> 48.
  EXPECT_EQ(layer.outputs(half), (NumberTable{{5}, {8}, {26}, {28}, {48}}));
  auto beyond = selected;
  for (auto& row : beyond) row[3] = 9;  // clipped to 2
  EXPECT_EQ(layer.outputs(beyond), layer.outputs(compressed));
}

TEST(SparseByHand, equal_blocks_go_to_the_smaller_one) {
  const auto layer = small_sparse();
  // k̃ = 7 and 9 are both clipped to score 2: a tie, block 0 is read: scores 2 (E = 4) for k = 7, 0 for k =
  // 0, own token 0. (4·8 + 1·16 + 1·0) / 6 = 8.
  EXPECT_EQ(layer.outputs({{1, 7, 8, 0}, {1, 0, 16, 0}, {1, 9, 99, 0}, {1, 0, 99, 0}, {1, 0, 0, 0}})[4],
            Numbers{8});
}

TEST(SparseByHand, three_branches_add_with_their_own_weights) {
  const auto layer = small_sparse(",window=1", 3);
  // t=2, rows (q, k, v, λ0, λ1, λ2): y_cmp = 30, y_sel = (10 + 20 + 30)/3 = 20, y_win = 30 (the last token
  // alone). (1·30 + 2·20 + 1·30) / 2 = 50.
  EXPECT_EQ(layer.outputs({{0, 0, 10, 0, 0, 0}, {0, 0, 20, 0, 0, 0}, {0, 0, 30, 1, 2, 1}})[2], Numbers{50});
}

TEST(SparseByHand, compression_may_have_a_hidden_relu_layer) {
  auto layer = small_sparse();
  const std::int64_t w = layer.width();
  Numbers first(static_cast<std::size_t>(2 * w), 0);
  first[2] = 1;
  first[static_cast<std::size_t>(w + 2)] = -1;
  layer.set("compress_hidden.weight", {1, 2 * w}, first);  // max(0, v_0 - v_1)
  layer.set("compress_k.weight", {1, 1}, {0});
  layer.set("compress_v.weight", {1, 1}, {3});
  EXPECT_EQ(layer.outputs({{0, 0, 10, 0}, {0, 0, 4, 0}, {0, 0, 0, 2}})[2], Numbers{18});
  EXPECT_EQ(layer.outputs({{0, 0, 4, 0}, {0, 0, 10, 0}, {0, 0, 0, 2}})[2], Numbers{0});
}

// Linear attention: rows are (q, k, v).
// -----------------------------------------------------------------------------

HandMade small_linear(const std::string& options) {
  return HandMade("linear(heads=1,dim=1,vdim=1," + options + ")", {{"q", 1}, {"k", 1}, {"v", 1}});
}

TEST(LinearByHand, normalised_sums_divide) {
  const auto layer = small_linear("feature=identity");
  // S = 2·5 = 10, Z = 2: (10·3)/(2·3) = 5. Then S = 10 - 9 = 1, Z = 5: 1·2/(5·2) -> floor((4 + 10)/20) = 0.
  // Then k = -5: S = 1 - 35 = -34, Z = 0: 0.
  EXPECT_EQ(layer.outputs({{3, 2, 5}, {2, 3, -3}, {1, -5, 7}}), (NumberTable{{5}, {0}, {0}}));
}

TEST(LinearByHand, a_negative_denominator_changes_both_signs) {
  const auto layer = small_linear("feature=identity");
  // S = -1·3 = -3 and Z = -1, then S = -3 - 4 = -7, Z = -2; q = 1: -7/-2 = 3.5 -> floor((14 + 2)/4) = 4.
  // With v = (-3, -4): 7/-2 = -3.5: (-7, 2): floor((-14 + 2)/4) = -3.
  EXPECT_EQ(layer.outputs({{1, -1, 3}, {1, -1, 4}}), (NumberTable{{3}, {4}}));
  EXPECT_EQ(layer.outputs({{1, -1, -3}, {1, -1, -4}}), (NumberTable{{-3}, {-3}}));
}

TEST(LinearByHand, unnormalised_sums_are_shifted) {
  auto layer = small_linear("feature=relu,normalised=no");
  layer.scalar("read.shift", 2);
  // relu(k) = 0: S = 0. Then S = 6: 6·3/4 = 4.5 -> 4. A negative query reads nothing.
  EXPECT_EQ(layer.outputs({{3, -2, 5}, {3, 2, 3}, {-3, 0, 0}}), (NumberTable{{0}, {4}, {0}}));
}

TEST(LinearByHand, four_bits_wrap_and_eight_bits_round) {
  auto wrap = small_linear("feature=identity,normalised=no");
  wrap.weights.accumulator = Accumulator::wrap;
  wrap.dimensions().accumulator_bits = 4;
  // S = 5, then 10 -> -6, then -1.
  EXPECT_EQ(wrap.outputs({{1, 1, 5}, {1, 1, 5}, {1, 1, 5}}), (NumberTable{{5}, {-6}, {-1}}));
  auto round = wrap;
  round.weights.accumulator = Accumulator::round;
  round.scalar("update.shift", 1);
  // 5/2 = 2.5 -> 2 each time, and 4 bits end at 7: 2, 4, 6, 7.
  EXPECT_EQ(round.outputs({{1, 1, 5}, {1, 1, 5}, {1, 1, 5}, {1, 1, 5}}), (NumberTable{{2}, {4}, {6}, {7}}));
  auto exact = wrap;
  exact.weights.accumulator = Accumulator::exact;
  EXPECT_EQ(exact.outputs({{1, 1, 5}, {1, 1, 5}, {1, 1, 5}}), (NumberTable{{5}, {10}, {15}}));
}

TEST(LinearByHand, a_table_is_the_feature_map) {
  auto layer = small_linear("feature=exp");
  layer.table("feature", -1, {1, 2, 4});
  // φ(-1) = 1, φ(0) = 2, φ(1) = φ(9) = 4. S = 4·10 = 40, Z = 4; then S = 40 + 1·20, Z = 5: 60/5 = 12.
  EXPECT_EQ(layer.outputs({{0, 9, 10}, {0, -1, 20}}), (NumberTable{{10}, {12}}));
}

TEST(LinearByHand, taylor2_weighs_by_two_plus_two_dots_plus_their_square) {
  auto layer = small_linear("feature=taylor2,normalised=no");
  // g = 0, no shift: φ_k(x) = (1, x, x²), φ_q(x) = (2, 2x, x²): weight 2 + 2qk + (qk)². q = 3, k = -1: 2 - 6
  // + 9 = 5.
  EXPECT_EQ(layer.outputs({{3, -1, 7}}), (NumberTable{{35}}));
  // g = 1, s = 1: φ_k = rsh((4, 2x, x²), 1) = (2, x, x²/2), φ_q = rsh((8, 4x, x²), 1) = (4, 2x, x²/2).
  // q = 3: (4, 6, 9/2 -> 4); k = -1: (2, -1, 1/2 -> 0): 8 - 6 + 0 = 2, times 7.
  layer.scalar("feature.fraction", 1);
  layer.scalar("feature.shift", 1);
  EXPECT_EQ(layer.outputs({{3, -1, 7}}), (NumberTable{{14}}));
}

TEST(LinearByHand, an_encoder_adds_everything_first) {
  auto layer = small_linear("feature=identity,normalised=no");
  layer.dimensions().causal = false;
  // S = 2·5 + 1·-3 = 7, read with 1 and with 10.
  EXPECT_EQ(layer.outputs({{1, 2, 5}, {10, 1, -3}}), (NumberTable{{7}, {70}}));
}

// Gated recurrences
// ------------------------------------------------------------------------------------------------

TEST(Mamba2ByHand, decays_then_adds_then_reads) {
  HandMade layer("mamba2(heads=1,dim=1,state=1,form=plain)", {{"x", 1}, {"b", 1}, {"c", 1}, {"gate", 1}});
  layer.table("gate", 0, {0, 1, 2});  // a in quarters
  layer.scalar("decay.shift", 2);
  layer.scalar("read.shift", 1);
  // Rows (x, b, c, gate). S = 3·4 = 12: 12·1/2 = 6. a = 2: 12·2/4 = 6, + 5 = 11: 11·3/2 = 16.5 -> 16.
  // a = 1: 11/4 = 2.75 -> 3, + 0: 3/2 = 1.5 -> 2. a = 0: forgets.
  EXPECT_EQ(layer.outputs({{3, 4, 1, 0}, {5, 1, 3, 2}, {0, 0, 1, 1}, {0, 0, 1, 0}}),
            (NumberTable{{6}, {16}, {2}, {0}}));
}

TEST(MambaByHand, steps_per_channel_and_entry) {
  HandMade layer("mamba(inner=1,state=1,form=plain)", {{"x", 1}, {"b", 1}, {"c", 1}, {"delta", 1}});
  layer.table("delta", 0, {1, 2});
  layer.set("a.weight", {1, 1}, {-3});
  layer.table("decay", -3,
              {1, 2, 3, 4});  // quarters: decay(-3) = 1, decay(-2) = 2, decay(-1) = 3, decay(0) = 4
  layer.scalar("decay.index_shift", 1);
  layer.scalar("decay.shift", 2);
  layer.scalar("update.shift", 1);
  layer.set("skip.weight", {1}, {5});
  layer.scalar("skip.shift", 1);
  // Rows (x, b, c, delta).
  // t=0: Δ = 1; index -3/2 = -1.5 -> -2; h = 0 + rsh(1·3·5, 1) = 7.5 -> 8; y = 2·8 + rsh(5·5, 1) = 16 + 12.5
  // -> 12 = 28. t=1: Δ = 2; index -6/2 = -3: a = 1; h = rsh(8, 2) + rsh(2·1·-1, 1) = 2 - 1 = 1; y = 4·1 +
  // rsh(-5, 1) = 4 - 2 = 2.
  EXPECT_EQ(layer.outputs({{5, 3, 2, 0}, {-1, 1, 4, 1}}), (NumberTable{{28}, {2}}));
}

TEST(DeltaByHand, writes_what_it_did_not_predict) {
  HandMade layer("delta(heads=1,dim=1,vdim=1,form=plain)", {{"q", 1}, {"k", 1}, {"v", 1}, {"beta", 1}});
  layer.table("beta", 0, {1, 2});  // halves
  layer.scalar("write.shift", 1);
  // Rows (q, k, v, beta). e = 9 - 0, S = rsh(2·9·1, 1) = 9, y = 9. e = 3 - 9 = -6, S = 9 + rsh(1·-6·1, 1) =
  // 6, y = 12. k = -1: e = 0 - (-6) = 6: S = 6 + rsh(2·6·-1, 1) = 0.
  EXPECT_EQ(layer.outputs({{1, 1, 9, 1}, {2, 1, 3, 0}, {1, -1, 0, 1}}), (NumberTable{{9}, {12}, {0}}));
}

TEST(DeltaByHand, the_gate_comes_first_and_keys_have_length_one) {
  HandMade layer("gdelta(heads=1,dim=2,vdim=1,form=plain)",
                 {{"q", 2}, {"k", 2}, {"v", 1}, {"beta", 1}, {"gate", 1}});
  layer.table("beta", 0, {1});
  layer.table("gate", 0, {1, 2});  // halves
  layer.scalar("decay.shift", 1);
  layer.scalar("key.fraction", 2);  // unit vectors have length 4
  layer.scalar("key.extra", 0);
  layer.scalar("predict.shift", 2);
  layer.scalar("write.shift", 2);
  layer.scalar("read.shift", 2);
  // Key (3, 4): root = isqrt(25) = 5: (3·4/5, 4·4/5) = (2.4, 3.2) -> (2, 3). Query (0, 7): (0, 4).
  // t=0: S = 0; e = 20; S = (rsh(20·2, 2), rsh(20·3, 2)) = (10, 15); y = rsh(15·4, 2) = 15.
  // t=1: gate 1 of 2: (5, 7.5 -> 8). Key (1, 0) -> (4, 0): e = 1 - rsh(5·4, 2) = -4; S = (5 + rsh(-16, 2), 8)
  // = (1, 8).
  //      Query (-2, 0) -> (-4, 0): y = rsh(-4, 2) = -1.
  // t=2: gate 2: unchanged. Key (0, 0) stays 0: e = 9, nothing is written. Query (0, 1): rsh(8·4, 2) = 8.
  EXPECT_EQ(layer.outputs({{0, 7, 3, 4, 20, 0, 1}, {-2, 0, 1, 0, 1, 0, 0}, {0, 1, 0, 0, 9, 0, 1}}),
            (NumberTable{{15}, {-1}, {8}}));
}

TEST(RnnByHand, looks_its_state_up_in_a_table) {
  HandMade layer("rnn(size=1)", {{"x", 1}});
  layer.set("h.weight", {1, 1}, {2});
  layer.scalar("cell.shift", 1);
  layer.table("cell", -2, {-10, -5, 0, 5, 10});
  // (1 + 0)/2 -> 0: h = 0. (3 + 0)/2 = 1.5 -> 2: h = 10. (-23 + 20)/2 = -1.5 -> -2: h = -10. (20 - 20)/2 = 0:
  // h = 0.
  EXPECT_EQ(layer.outputs({{1}, {3}, {-23}, {20}}), (NumberTable{{0}, {10}, {-10}, {0}}));
}

TEST(RnnByHand, with_relu_it_counts_and_its_width_saturates_or_wraps) {
  HandMade layer("rnn(size=1,cell=relu)", {{"x", 1}});
  layer.set("h.weight", {1, 1}, {1});
  layer.dimensions().accumulator_bits = 4;
  EXPECT_EQ(layer.outputs({{3}, {3}, {3}, {-9}}), (NumberTable{{3}, {6}, {7}, {0}}));
  layer.weights.accumulator = Accumulator::wrap;  // 9 -> -7; then -7 + 8 = 1
  EXPECT_EQ(layer.outputs({{3}, {3}, {3}, {8}}), (NumberTable{{3}, {6}, {-7}, {1}}));
}

TEST(GruByHand, keeps_resets_and_renews) {
  HandMade layer("gru(size=1)", {{"xz", 1}, {"xr", 1}, {"xn", 1}});
  for (const char* name : {"hz.weight", "hr.weight"}) layer.set(name, {1, 1}, {0});
  layer.set("hn.weight", {1, 1}, {3});
  layer.table("gate", 0, {0, 1, 2, 3, 4});  // quarters
  layer.scalar("gate.fraction", 2);
  Numbers identity(201);
  for (std::size_t i = 0; i < identity.size(); ++i) identity[i] = static_cast<std::int64_t>(i) - 100;
  layer.table("cell", -100, identity);
  layer.scalar("cell.shift", 1);
  // Rows (z, r, n). t=0: n = rsh(21 + 0, 1) = 10.5 -> 10; z = 0: h = 10.
  // t=1: r = 1: rsh(1·30, 2) = 7.5 -> 8; n = rsh(4 + 8, 1) = 6; z = 1: rsh(10 + 3·6, 2) = 7.
  // t=2: z = 4: keeps 7. t=3: r = 0, n = rsh(-6, 1) = -3, z = 2: rsh(14 - 6, 2) = 2.
  EXPECT_EQ(layer.outputs({{0, 0, 21}, {1, 1, 4}, {4, 4, 99}, {2, 0, -6}}),
            (NumberTable{{10}, {7}, {7}, {2}}));
}

TEST(ConvByHand, the_first_tap_is_the_present) {
  HandMade layer("conv(width=3,channels=1)", {{"v", 1}});
  layer.set("taps.weight", {1, 3}, {1, 10, 100});
  EXPECT_EQ(layer.outputs({{1}, {2}, {3}, {4}}), (NumberTable{{1}, {12}, {123}, {234}}));
  layer.scalar("taps.shift", 1);  // 1/2 -> 0, 6, 61.5 -> 62, 117
  EXPECT_EQ(layer.outputs({{1}, {2}, {3}, {4}}), (NumberTable{{0}, {6}, {62}, {117}}));
}

TEST(HeadsByHand, parts_read_the_same_row_and_stand_side_by_side) {
  HandMade layer("heads(identity(vdim=1):1,linear(dim=1,vdim=1,feature=identity,normalised=no):1)",
                 {{"part.0.v", 1}, {"part.1.q", 1}, {"part.1.k", 1}, {"part.1.v", 1}});
  EXPECT_EQ(layer.outputs({{9, 1, 1, 5}, {8, 2, 1, 5}}), (NumberTable{{9, 5}, {8, 20}}));
}

// Log-linear: rows are (q, k, v...).
// ---------------------------------------------------------------------------------

// The level's weight is the bias alone: 1 for `seen`, 0 for the others. context 64: levels 0..7.
HandMade one_level(std::int64_t seen, std::int64_t values) {
  HandMade layer("loglinear(heads=1,dim=1,vdim=" + std::to_string(values) + ")",
                 {{"q", 1}, {"k", 1}, {"v", values}}, 64);
  layer.set("level.weight", {8, layer.width()}, Numbers(static_cast<std::size_t>(8 * layer.width()), 0));
  Numbers bias(8, 0);
  bias[static_cast<std::size_t>(seen)] = 1;
  layer.set("level.bias", {8}, bias);
  return layer;
}

TEST(LogLinearByHand, at_position_six_the_levels_hold_6_and_4_5_and_0_to_3) {
  // Token j writes 2^j, so a level's state is the set of its tokens.
  NumberTable rows;
  for (int j = 0; j < 7; ++j) rows.push_back({1, 1, std::int64_t{1} << j});
  EXPECT_EQ(one_level(0, 1).outputs(rows)[6], Numbers{0b1000000});
  EXPECT_EQ(one_level(1, 1).outputs(rows)[6], Numbers{0});
  EXPECT_EQ(one_level(2, 1).outputs(rows)[6], Numbers{0b0110000});
  EXPECT_EQ(one_level(3, 1).outputs(rows)[6], Numbers{0b0001111});
  EXPECT_EQ(one_level(4, 1).outputs(rows)[6], Numbers{0});
}

TEST(LogLinearByHand, buckets_are_the_set_bits_of_the_position) {
  // Values (1, j): how many tokens a level holds, and the sum of their positions.
  NumberTable rows;
  for (std::int64_t j = 0; j < 64; ++j) rows.push_back({1, 1, 1, j});
  for (std::int64_t level = 0; level < 8; ++level) {
    const auto y = one_level(level, 2).outputs(rows);
    for (std::int64_t t = 0; t < 64; ++t) {
      std::int64_t size = 0, sum = 0;
      if (level == 0) {
        size = 1;
        sum = t;
      } else if (const std::int64_t bit = std::int64_t{1} << (level - 1); t & bit) {
        const std::int64_t first = t & ~(2 * bit - 1);  // the higher set bits lie before it
        size = bit;
        sum = size * first + size * (size - 1) / 2;
      }
      ASSERT_EQ(y[static_cast<std::size_t>(t)], (Numbers{size, sum})) << "t=" << t << " level=" << level;
    }
  }
}

TEST(LogLinearByHand, a_later_token_finds_as_many_states_as_the_number_of_tokens_has_set_bits) {
  const auto layer = one_level(0, 1);
  const auto machine = layer.load(64);
  auto session = machine->start();
  ASSERT_TRUE(session);
  for (std::uint64_t t = 0; t < 64; ++t) {
    ASSERT_TRUE((*session)->append(Numbers{1, 1, 1}, false));
    EXPECT_EQ((*session)->state()[0].size(), static_cast<std::size_t>(std::popcount(t + 1))) << "t=" << t;
  }
}

TEST(LogLinearByHand, levels_are_weighed_and_negative_weights_are_nothing) {
  auto layer = one_level(0, 1);
  layer.set("level.bias", {8}, {3, -5, 7, 0, 0, 0, 0, 0});
  layer.scalar("read.shift", 1);
  // t=0: 3·4/2 = 6. t=1: level 0: 5, level 1 counts nothing: 15/2 = 7.5 -> 8. t=2: level 0: 1, level 2: 4 +
  // 5: (3 + 63)/2 = 33.
  EXPECT_EQ(layer.outputs({{1, 1, 4}, {1, 1, 5}, {1, 1, 1}}), (NumberTable{{6}, {8}, {33}}));
  layer.table("level", -5, {1, 2});  // λ(-5) = 1, all larger ones 2
  // t=1: 2·5 + 1·4 = 14 -> 7. t=2: level 0: 2·1, level 2: 2·9: 20 -> 10.
  EXPECT_EQ(layer.outputs({{1, 1, 4}, {1, 1, 5}, {1, 1, 1}}), (NumberTable{{4}, {7}, {10}}));
}

TEST(LogLinearByHand, gated_states_decay_before_the_token_that_passes) {
  HandMade layer("loglinear(base=mamba2,heads=1,dim=1,state=1,form=plain)",
                 {{"x", 1}, {"b", 1}, {"c", 1}, {"gate", 1}}, 4);
  layer.set("level.weight", {4, 4}, Numbers(16, 0));
  layer.set("level.bias", {4}, {1, 10, 100, 1000});
  layer.table("gate", 0, {1, 2, 4});  // quarters
  layer.scalar("decay.shift", 2);
  // Rows (x, b, c, gate). t=0: level 0 = 8: 8.
  // t=1: level 1 = 8 decays by 2/4: 4; level 0 = 3: 3 + 40.
  // t=2: level 2 = 3 + 4 = 7 decays by 1/4: 1.75 -> 2; level 0 = 5: 5 + 200.
  // t=3: level 1 = 5, level 2 = 2, gate 1: unchanged; level 0 = 1: 1 + 50 + 200.
  EXPECT_EQ(layer.outputs({{8, 1, 1, 2}, {3, 1, 1, 1}, {5, 1, 1, 0}, {1, 1, 1, 2}}),
            (NumberTable{{8}, {43}, {205}, {251}}));
}

TEST(LogLinearByHand, a_passing_token_erases_its_key_from_older_states) {
  HandMade layer("loglinear(base=gdelta,heads=1,dim=1,vdim=1,form=plain)",
                 {{"q", 1}, {"k", 1}, {"v", 1}, {"beta", 1}, {"gate", 1}}, 4);
  layer.set("level.weight", {4, 5}, Numbers(20, 0));
  layer.set("level.bias", {4}, {1, 10, 100, 1000});
  layer.table("beta", 0, {1, 2});  // halves
  layer.scalar("write.shift", 1);
  layer.table("gate", 0, {1});
  // Rows (q, k, v, beta, gate). t=0: S = rsh(2·8, 1) = 8. t=1: level 1 = 8: e = 0 - 8, S = 8 + rsh(1·-8, 1) =
  // 4; level 0: rsh(1·6, 1) = 3. y = 3 + 10·4. t=2: level 2 = 3 + 4 = 7: e = -7, S = 7 + rsh(2·-7, 1) = 0;
  // level 0: 5.
  EXPECT_EQ(layer.outputs({{1, 1, 8, 1, 0}, {1, 1, 6, 0, 0}, {1, 1, 5, 1, 0}}),
            (NumberTable{{8}, {43}, {5}}));
}

}  // namespace
}  // namespace rung
