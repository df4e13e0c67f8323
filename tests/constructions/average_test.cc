// q-sparse average and nearest neighbour: constructions on real-valued data.
#include "tests/constructions/verified.h"

namespace rung {
namespace {

TEST(SparseAverage, averages_every_subset_of_a_few_vectors) {
  expect_exhaustive(built({.name = "sparse-average", .sizes = {{"n", 3}, {"q", 1}, {"f", 0}}}));
  expect_exhaustive(built({.name = "sparse-average", .sizes = {{"n", 3}, {"q", 2}, {"f", 0}}}));
  expect_exhaustive(built({.name = "sparse-average", .sizes = {{"n", 3}, {"q", 3}, {"f", 1}}}));
}

TEST(SparseAverage, covers_all_inputs_at_larger_sizes) {
  for (const auto& [n, q] : {std::pair(8, 2), {32, 3}, {64, 2}, {16, 7}, {9, 9}}) {
    expect_interval(built({.name = "sparse-average", .sizes = {{"n", n}, {"q", q}, {"d", 2}}}), 30);
    expect_interval(
        built({.name = "sparse-average", .sizes = {{"n", n}, {"q", q}}, .options = {{"read", "last"}}}), 30);
  }
}

TEST(SparseAverage, fails_with_fewer_signs) {
  Construction made = built({.name = "sparse-average", .sizes = {{"n", 32}, {"q", 3}}});
  Tensor& keys = made.weights.tensors["layers.1.k.weight"];
  std::vector<std::int64_t> weights;
  for (std::int64_t i = 0; i < keys.size(); ++i)
    weights.push_back(i / keys.shape[1] < keys.shape[0] / 2 ? keys.integer(i) : 0);
  keys = integer_tensor(keys.shape, weights);
  expect_failure(made, {.budget = 1000, .samples = 20});
}

TEST(SparseAverage, fails_below_some_precision) {
  const ConstructionRequest request{.name = "sparse-average", .sizes = {{"n", 8}, {"q", 2}}};
  const auto search = search_precision(request, {.budget = 1000, .samples = 50}, 2, 48);
  ASSERT_TRUE(search) << search.error().message;
  EXPECT_LE(*search->p_measured, *built(request).p_proved);
  EXPECT_TRUE(search->failure);
}

TEST(NearestNeighbour, finds_the_label_with_one_softmax_where_its_weights_reach) {
  for (const auto& [n, margin] : {std::pair(1, 64), {2, 128}, {8, 128}, {16, 128}})
    expect_interval(
        built({.name = "nearest", .sizes = {{"n", n}, {"margin", margin}}, .options = {{"by", "softmax"}}}),
        100);
}

TEST(NearestNeighbour, loses_the_label_with_one_softmax_where_they_do_not) {
  const Construction made = built({.name = "nearest", .sizes = {{"n", 16}}, .options = {{"by", "softmax"}}});
  EXPECT_FALSE(made.interval().holds);
  expect_failure(made, {.samples = 500});
}

TEST(NearestNeighbour, finds_the_label_by_thresholds) {
  for (const auto& [n, d, margin] :
       {std::tuple(1, 4, 64), {2, 2, 16}, {8, 4, 32}, {16, 4, 16}, {16, 3, 5}, {64, 4, 4}})
    expect_interval(built({.name = "nearest",
                           .sizes = {{"n", n}, {"d", d}, {"sigma", 3}, {"margin", margin}},
                           .options = {{"by", "thresholds"}}}),
                    50);
}

TEST(NearestNeighbour, fails_with_half_of_the_thresholds) {
  Construction made = built({.name = "nearest", .sizes = {{"n", 16}}, .options = {{"by", "thresholds"}}});
  Tensor& out = made.weights.tensors["layers.1.o.weight"];
  std::vector<std::int64_t> weights;
  for (std::int64_t i = 0; i < out.size(); ++i) weights.push_back(i % 2 == 0 ? out.integer(i) : 0);
  out = integer_tensor(out.shape, weights);
  expect_failure(made, {.samples = 100});
}

TEST(NearestNeighbour, fails_when_vectors_lose_bits) {
  expect_failure(built({.name = "nearest", .sizes = {{"n", 8}}, .precision = 7}), {.samples = 200});
  EXPECT_FALSE(build_construction({.name = "nearest", .sizes = {{"n", 8}, {"margin", 0}}}));
  EXPECT_FALSE(build_construction(
      {.name = "nearest", .sizes = {{"n", 8}, {"f", 20}, {"margin", 1}}, .options = {{"by", "thresholds"}}}));
}

}  // namespace
}  // namespace rung
