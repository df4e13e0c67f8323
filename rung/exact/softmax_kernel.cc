#include "rung/exact/softmax_kernel.h"

#include <algorithm>

#include "rung/exact/vector_clones.h"

namespace rung {
namespace {

constexpr std::int64_t kTile = 64;
// Partial sums go over to the 128-bit ones after this many keys, so that a million keys need no wider numbers
// than these.
constexpr std::int64_t kKeysPerSum = 64 * kTile;

// Four coordinates, or four tokens, at a time: the sums are read and written once for all four (integers
// below 2^53 add exactly in any order).
RUNG_VECTOR_CLONES void tile_scores(const double* query, const double* keys, std::int64_t key_dim,
                                    double* scores) {
  for (std::int64_t j = 0; j < kTile; ++j) scores[j] = 0;
  std::int64_t c = 0;
  for (; c + 4 <= key_dim; c += 4) {
    const double q0 = query[c], q1 = query[c + 1], q2 = query[c + 2], q3 = query[c + 3];
    const double* key = keys + c * kTile;
    for (std::int64_t j = 0; j < kTile; ++j)
      scores[j] += (q0 * key[j] + q1 * key[kTile + j]) + (q2 * key[2 * kTile + j] + q3 * key[3 * kTile + j]);
  }
  for (; c < key_dim; ++c)
    for (std::int64_t j = 0; j < kTile; ++j) scores[j] += query[c] * keys[c * kTile + j];
}
RUNG_VECTOR_CLONES void tile_scores(const std::int64_t* query, const std::int64_t* keys, std::int64_t key_dim,
                                    std::int64_t* scores) {
  for (std::int64_t j = 0; j < kTile; ++j) scores[j] = 0;
  for (std::int64_t c = 0; c < key_dim; ++c)
    for (std::int64_t j = 0; j < kTile; ++j) scores[j] += query[c] * keys[c * kTile + j];
}
void tile_scores(const std::int64_t* query, const std::int64_t* keys, std::int64_t key_dim, Int128* scores) {
  for (std::int64_t j = 0; j < kTile; ++j) scores[j] = 0;
  for (std::int64_t c = 0; c < key_dim; ++c)
    for (std::int64_t j = 0; j < kTile; ++j) scores[j] += static_cast<Int128>(query[c]) * keys[c * kTile + j];
}

RUNG_VECTOR_CLONES void add_values(const double* weights, const double* values, std::int64_t begin,
                                   std::int64_t end, std::int64_t value_dim, double* num, double& den) {
  double total = 0;
  std::int64_t j = begin;
  for (; j + 4 <= end; j += 4) {
    const double w0 = weights[j], w1 = weights[j + 1], w2 = weights[j + 2], w3 = weights[j + 3];
    const double* value = values + j * value_dim;
    total += (w0 + w1) + (w2 + w3);
    for (std::int64_t c = 0; c < value_dim; ++c)
      num[c] += (w0 * value[c] + w1 * value[value_dim + c]) +
                (w2 * value[2 * value_dim + c] + w3 * value[3 * value_dim + c]);
  }
  for (; j < end; ++j) {
    const double weight = weights[j];
    total += weight;
    for (std::int64_t c = 0; c < value_dim; ++c) num[c] += weight * values[j * value_dim + c];
  }
  den += total;
}
RUNG_VECTOR_CLONES void add_values(const std::int64_t* weights, const std::int64_t* values,
                                   std::int64_t begin, std::int64_t end, std::int64_t value_dim,
                                   std::int64_t* num, std::int64_t& den) {
  for (std::int64_t j = begin; j < end; ++j) {
    den += weights[j];
    for (std::int64_t c = 0; c < value_dim; ++c) num[c] += weights[j] * values[j * value_dim + c];
  }
}
void add_values(const std::int64_t* weights, const std::int64_t* values, std::int64_t begin, std::int64_t end,
                std::int64_t value_dim, Int128* num, Int128& den) {
  for (std::int64_t j = begin; j < end; ++j) {
    den += weights[j];
    for (std::int64_t c = 0; c < value_dim; ++c)
      num[c] += static_cast<Int128>(weights[j]) * values[j * value_dim + c];
  }
}

// Number: how keys, values and weights are stored; Sum: how they add up.
template <class Number, class Sum>
class TiledStore final : public HeadStore {
 public:
  TiledStore(std::int64_t key_dim, std::int64_t value_dim, const ScoreRule& rule)
      : key_dim_(key_dim), value_dim_(value_dim), rule_(&rule) {
    for (const auto weight : rule.weights.values) table_.push_back(static_cast<Number>(weight));
  }
  std::int64_t size() const override { return size_; }
  void resize(std::int64_t count) override {
    size_ = count;
    const std::int64_t tiles = (count + kTile - 1) / kTile;
    keys_.resize(static_cast<std::size_t>(tiles * kTile * key_dim_));
    values_.resize(static_cast<std::size_t>(tiles * kTile * value_dim_));
  }
  void put(std::int64_t t, const std::int64_t* key, const std::int64_t* value) override {
    Number* column = keys_.data() + (t / kTile) * kTile * key_dim_ + t % kTile;
    for (std::int64_t c = 0; c < key_dim_; ++c) column[c * kTile] = static_cast<Number>(key[c]);
    for (std::int64_t c = 0; c < value_dim_; ++c)
      values_[static_cast<std::size_t>(t * value_dim_ + c)] = static_cast<Number>(value[c]);
  }

  void add(const std::int64_t* query, std::int64_t begin, std::int64_t end,
           SoftmaxSums& sums) const override {
    if (begin >= end) return;
    std::vector<Number> wide_query(query, query + key_dim_);
    std::vector<Sum> num(static_cast<std::size_t>(value_dim_), Sum{0});
    Sum den{0};
    Sum scores[kTile];
    Number weights[kTile];
    const auto hand_over = [&] {
      for (std::size_t c = 0; c < num.size(); ++c) sums.num[c] += static_cast<Int128>(num[c]);
      sums.den += static_cast<Int128>(den);
      std::fill(num.begin(), num.end(), Sum{0});
      den = Sum{0};
    };
    for (std::int64_t tile = begin / kTile; tile * kTile < end; ++tile) {
      if (tile % (kKeysPerSum / kTile) == 0) hand_over();
      const std::int64_t first = std::max<std::int64_t>(begin - tile * kTile, 0);
      const std::int64_t last = std::min<std::int64_t>(end - tile * kTile, kTile);
      if (last - first <= 4) {  // a selected token here and there: no whole tile
        for (std::int64_t j = first; j < last; ++j) scores[j] = dot(wide_query.data(), tile * kTile + j);
      } else {
        tile_scores(wide_query.data(), keys_.data() + tile * kTile * key_dim_, key_dim_, scores);
      }
      for (std::int64_t j = first; j < last; ++j) weights[j] = weight(scores[j]);
      add_values(weights, values_.data() + tile * kTile * value_dim_, first, last, value_dim_, num.data(),
                 den);
    }
    hand_over();
  }

  Int128 score(const std::int64_t* query, std::int64_t j) const override {
    std::vector<Number> wide_query(query, query + key_dim_);
    return shift_half_even(static_cast<Int128>(dot(wide_query.data(), j)), rule_->shift);
  }

  void get(std::int64_t t, std::int64_t* key, std::int64_t* value) const override {
    const Number* column = keys_.data() + (t / kTile) * kTile * key_dim_ + t % kTile;
    for (std::int64_t c = 0; c < key_dim_; ++c) key[c] = static_cast<std::int64_t>(column[c * kTile]);
    for (std::int64_t c = 0; c < value_dim_; ++c)
      value[c] = static_cast<std::int64_t>(values_[static_cast<std::size_t>(t * value_dim_ + c)]);
  }

  void append_numbers(std::vector<std::int64_t>& out) const override {
    const std::size_t first = out.size(), row = static_cast<std::size_t>(key_dim_ + value_dim_);
    out.resize(first + static_cast<std::size_t>(size_) * row);
    for (std::int64_t t = 0; t < size_; ++t) {
      std::int64_t* at = out.data() + first + static_cast<std::size_t>(t) * row;
      get(t, at, at + key_dim_);
    }
  }

 private:
  Sum dot(const Number* query, std::int64_t t) const {
    const Number* column = keys_.data() + (t / kTile) * kTile * key_dim_ + t % kTile;
    Sum total{0};
    for (std::int64_t c = 0; c < key_dim_; ++c)
      total += static_cast<Sum>(query[c]) * static_cast<Sum>(column[c * kTile]);
    return total;
  }
  Number weight(Sum score) const {
    using Index = std::conditional_t<std::is_same_v<Sum, Int128>, Int128, std::int64_t>;
    const Index index = shift_half_even(static_cast<Index>(score), rule_->shift) - rule_->weights.low;
    const Index last = static_cast<Index>(table_.size()) - 1;
    return table_[static_cast<std::size_t>(index < 0 ? Index{0} : index > last ? last : index)];
  }

  std::int64_t key_dim_, value_dim_, size_ = 0;
  const ScoreRule* rule_;
  std::vector<Number> table_, keys_, values_;
};

}  // namespace

int score_bits(std::int64_t key_dim, const ScoreRule& rule, const HeadWidths& widths) {
  return widths.query_bits + widths.key_bits - 1 + ceil_lg(static_cast<std::uint64_t>(key_dim)) +
         shift_growth(rule.shift);
}

int partial_sum_bits(const ScoreRule& rule, const HeadWidths& widths) {
  return rule.weights.bits() + widths.value_bits - 1 +
         ceil_lg(static_cast<std::uint64_t>(std::max<std::int64_t>(widths.keys, 1)));
}

KernelNumber narrowest_kernel(std::int64_t key_dim, const ScoreRule& rule, const HeadWidths& widths) {
  HeadWidths together = widths;
  together.keys = std::min(widths.keys, kKeysPerSum);
  const int needed = std::max(score_bits(key_dim, rule, widths), partial_sum_bits(rule, together));
  constexpr int kDoubleBits = 53, kIntBits = 62;
  if (needed <= kDoubleBits) return KernelNumber::float64;
  if (needed <= kIntBits) return KernelNumber::int64;
  return KernelNumber::int128;
}

std::unique_ptr<HeadStore> make_head_store(std::int64_t key_dim, std::int64_t value_dim,
                                           const ScoreRule& rule, const HeadWidths& widths,
                                           KernelNumber number) {
  if (number == KernelNumber::automatic) number = narrowest_kernel(key_dim, rule, widths);
  switch (number) {
    case KernelNumber::float64:
      return std::make_unique<TiledStore<double, double>>(key_dim, value_dim, rule);
    case KernelNumber::int64:
      return std::make_unique<TiledStore<std::int64_t, std::int64_t>>(key_dim, value_dim, rule);
    default:
      return std::make_unique<TiledStore<std::int64_t, Int128>>(key_dim, value_dim, rule);
  }
}

}  // namespace rung
