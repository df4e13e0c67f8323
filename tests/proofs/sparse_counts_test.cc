// 2-Sum against one block-sparse layer: the library, the checker and the extracted predicates decide alike.
#include <gtest/gtest.h>

#include "check/forced.h"
#include "rung/base/random.h"
#include "rung/theory/horizon.h"
#include "tests/proofs/extracted.h"

namespace rung {
namespace {

struct SparseDraw {
  SparseLayer layer;
  std::int64_t n = 0, M = 0;
};
// Bits close to what a block can hold, numbers of blocks close to those that are read.
SparseDraw drawn(Random& random, bool positions) {
  SparseDraw d;
  d.layer.position_dependent = positions;
  d.layer.block = random.between(1, 12);
  d.layer.selected = random.between(0, 9);
  d.M = d.layer.block + static_cast<std::int64_t>(random.next() >> (63 - random.below(10)));
  d.n = d.layer.block * (d.layer.selected + random.between(0, positions ? 12 : 2)) + random.between(0, 11);
  const Count contents = positions ? Count::subsets_or_empty(
                                         std::max<std::int64_t>(1, d.M / random.between(1, 8)), d.layer.block)
                                   : Count::binomial(d.M, d.layer.block);
  const Integer near = bits_needed(contents) - 2 + random.below(4);
  d.layer.message_bits = near < 0 ? Integer(0) : near;
  return d;
}
std::vector<Integer> numbers_of(const SparseDraw& d) {
  return {d.layer.message_bits, d.layer.block, d.layer.selected, d.n, d.M};
}

TEST(sparse_counts, agree_on_one_compression_for_all_blocks) {
  Random random(28);
  std::vector<CountSetting> settings;
  for (std::size_t i = 0; i < settings_a_theorem(); ++i) {
    const SparseDraw d = drawn(random, false);
    settings.push_back({"sparse-two-sum", numbers_of(d), sparse_two_sum_impossible(d.layer, d.n, d.M)});
  }
  expect_agreement(settings);
}

TEST(sparse_counts, agree_on_compression_that_sees_positions) {
  Random random(29);
  std::vector<CountSetting> settings;
  for (std::size_t i = 0; i < settings_a_theorem(); ++i) {
    const SparseDraw d = drawn(random, true);
    auto numbers = numbers_of(d);
    numbers.push_back(determined_values(d.layer.message_bits, d.layer.block));
    settings.push_back(
        {"sparse-two-sum-positions", std::move(numbers), sparse_two_sum_impossible(d.layer, d.n, d.M)});
  }
  expect_agreement(settings);
}

// The checker names d* + 1 `values`.
TEST(forced_counts, of_messages_agree_with_the_extracted_ones) {
  Random random(30);
  std::vector<CountSetting> settings[2];
  rung_check::Budget budget(rung_check::kDefaultWork);
  for (std::size_t i = 0; i < settings_a_theorem(); ++i) {
    const bool positions = i % 2 == 1;
    const SparseDraw d = drawn(random, positions);
    rung_check::Shape shape;
    shape.block = d.layer.block;
    shape.select = d.layer.selected;
    auto numbers = numbers_of(d);
    std::optional<std::int64_t> values;
    if (positions) {
      const std::int64_t most = random.between(1, std::max<std::int64_t>(1, d.M - d.layer.block + 1));
      values = most;
      numbers.push_back(most - 1);
    }
    bool forced = true;
    try {
      rung_check::contents_exceed_messages(d.n, d.M, shape, d.layer.message_bits.convert_to<std::int64_t>(),
                                           values, budget);
    } catch (const rung_check::Rejected&) {
      forced = false;
    }
    settings[positions].push_back(
        {positions ? "sparse-two-sum-positions" : "sparse-two-sum", std::move(numbers), forced});
  }
  for (const auto& part : settings) expect_agreement(part);
}

}  // namespace
}  // namespace rung
