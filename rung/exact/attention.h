// Softmax attention over a store of keys and values, for both arithmetics behind one shape:
//   mode X: table weights, exact integer sums, one rounded division (softmax_kernel.h)
//   mode Q: rounded scores, exp in double, one rounding of the output
// Tensors: score.shift, score.table + score.low (mode X), score.tau (mode Q; weights are exp(tau * score)),
// value.scale (c), y.bits.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "rung/exact/mixer.h"
#include "rung/exact/softmax_kernel.h"

namespace rung {

// Of so many cached entries, each a key and a value of one key/value head.
inline std::vector<int> entry_widths(const MixerShape& shape, std::int64_t entries, int key_bits,
                                     int value_bits) {
  std::vector<int> widths;
  for (std::int64_t i = 0; i < entries; ++i) {
    widths.insert(widths.end(), static_cast<std::size_t>(shape.key_dim), key_bits);
    widths.insert(widths.end(), static_cast<std::size_t>(shape.value_dim), value_bits);
  }
  return widths;
}

// The rule of one layer, shared by its heads.
template <class A>
struct SoftmaxRule {
  ScoreRule score;
  double tau = 0;          // mode Q; 0: use the table
  Width score_width;       // mode Q
  std::int64_t scale = 1;  // c
  Width output;
  int top_site = -1;  // mode Q: the largest score of a query

  static SoftmaxRule read(const MixerContext<A>& context) {
    auto& source = context.source;
    SoftmaxRule rule;
    rule.score.shift = source.shift("score.shift");
    if (source.integer()) {
      rule.score.weights = source.table("score", "exp");
      for (const auto weight : rule.score.weights.values)
        if (weight < 0)
          source.refuse(
              fail(ErrorCode::range, "[weights] \"{}score.table\" holds a negative weight", source.prefix()));
      rule.tau = source.real_scalar("score.tau", 0);
    } else {
      rule.tau = source.real_scalar("score.tau", 1);
    }
    rule.score_width = source.width("score");
    rule.scale = source.scalar("value.scale", 1, 1, std::int64_t{1} << 32);
    rule.output = source.width("y");
    rule.top_site = source.site("score.top");
    return rule;
  }
  // Refuses sizes at which a score or 2 c num + den could leave 127 bits.
  void check(const MixerContext<A>& context, const HeadWidths& widths) const {
    if constexpr (A::kExact) {
      const int bits =
          std::max(score_bits(context.shape.key_dim, score, widths),
                   partial_sum_bits(score, widths) + bit_length(static_cast<std::uint64_t>(scale)) + 2);
      if (bits > 126)
        context.source.refuse(fail(
            ErrorCode::resource, "[exact] \"{}\": sums over {} keys need {} bits; at most 126 are exact here",
            context.source.prefix(), widths.keys, bits));
    }
  }
};

// Keys and values of one head, and the sums of one query over some of them.
template <class A>
class KeyValues {
 public:
  using Value = std::int64_t;
  using Sums = SoftmaxSums;
  KeyValues(std::int64_t key_dim, std::int64_t value_dim, const SoftmaxRule<A>& rule,
            const HeadWidths& widths)
      : value_dim_(value_dim),
        rule_(&rule),
        store_(make_head_store(key_dim, value_dim, rule.score, widths)) {}
  Sums sums() const { return SoftmaxSums(value_dim_); }
  std::int64_t size() const { return store_->size(); }
  void resize(std::int64_t count) { store_->resize(count); }
  void put(std::int64_t t, const Value* key, const Value* value) { store_->put(t, key, value); }
  void get(std::int64_t t, Value* key, Value* value) const { store_->get(t, key, value); }
  void add(const A&, const Value* query, std::int64_t begin, std::int64_t end, Sums& sums) const {
    store_->add(query, begin, end, sums);
  }
  void finish(const A&, const Sums& sums, Value* y) const {
    for (std::int64_t c = 0; c < value_dim_; ++c)
      y[c] = saturate(rounded_quotient<Int128>(sums.num[static_cast<std::size_t>(c)], sums.den, rule_->scale),
                      rule_->output.bits);
  }
  // The clipped score, as selection by score uses it.
  Value score(const A&, const Value* query, std::int64_t j) const {
    const Int128 raw = store_->score(query, j);
    const Int128 low = rule_->score.weights.low,
                 high = low + static_cast<Int128>(rule_->score.weights.values.size()) - 1;
    return static_cast<Value>(raw < low ? low : raw > high ? high : raw);
  }
  // The shares that all keys have in the softmax of a query, times 2^fraction and rounded.
  std::vector<Int128> chances(const A&, const Value* query, int fraction) const {
    std::vector<Int128> all;
    Int128 sum = 0;
    for (std::int64_t j = 0; j < size(); ++j)
      sum += all.emplace_back(rule_->score.weights.at(store_->score(query, j)));
    for (auto& weight : all) weight = rounded_quotient<Int128>(weight, sum, std::int64_t{1} << fraction);
    return all;
  }
  void append_numbers(std::vector<Value>& out) const { store_->append_numbers(out); }
  static void merge(Sums& into, const Sums& from) {
    for (std::size_t c = 0; c < into.num.size(); ++c) into.num[c] += from.num[c];
    into.den += from.den;
  }

 private:
  std::int64_t value_dim_;
  const SoftmaxRule<A>* rule_;
  std::unique_ptr<HeadStore> store_;
};

template <>
class KeyValues<RealArithmetic> {
 public:
  using Value = double;
  using A = RealArithmetic;
  using Sums = std::vector<std::pair<double, std::int64_t>>;  // (score, key)
  KeyValues(std::int64_t key_dim, std::int64_t value_dim, const SoftmaxRule<A>& rule, const HeadWidths&)
      : key_dim_(key_dim), value_dim_(value_dim), rule_(&rule) {}
  Sums sums() const { return {}; }
  std::int64_t size() const { return size_; }
  void resize(std::int64_t count) {
    size_ = count;
    keys_.resize(static_cast<std::size_t>(count * key_dim_));
    values_.resize(static_cast<std::size_t>(count * value_dim_));
  }
  void put(std::int64_t t, const Value* key, const Value* value) {
    std::copy(key, key + key_dim_, keys_.begin() + t * key_dim_);
    std::copy(value, value + value_dim_, values_.begin() + t * value_dim_);
  }
  void get(std::int64_t t, Value* key, Value* value) const {
    std::copy_n(keys_.begin() + t * key_dim_, key_dim_, key);
    std::copy_n(values_.begin() + t * value_dim_, value_dim_, value);
  }
  Value score(const A& arithmetic, const Value* query, std::int64_t j) const {
    double dot = 0;
    for (std::int64_t c = 0; c < key_dim_; ++c)
      dot += query[c] * keys_[static_cast<std::size_t>(j * key_dim_ + c)];
    const double score = arithmetic.narrow(dot, rule_->score.shift, rule_->score_width);
    const Table& table = rule_->score.weights;  // the clipping of an integer model is part of the model
    if (table.values.empty()) return score;
    return std::clamp(score, static_cast<double>(table.low),
                      static_cast<double>(table.low) + static_cast<double>(table.values.size()) - 1);
  }
  void add(const A& arithmetic, const Value* query, std::int64_t begin, std::int64_t end, Sums& sums) const {
    for (std::int64_t j = begin; j < end; ++j) sums.emplace_back(score(arithmetic, query, j), j);
  }
  void finish(const A& arithmetic, const Sums& sums, Value* y) const {
    std::vector<double> num(static_cast<std::size_t>(value_dim_), 0.0);
    double den = 0, top = -INFINITY;
    for (const auto& [score, j] : sums) top = std::max(top, score);
    if (!sums.empty()) arithmetic.watch(rule_->top_site, top);
    for (const auto& [score, j] : sums) {
      const double weight = weight_of(score, top);
      den += weight;
      for (std::int64_t c = 0; c < value_dim_; ++c)
        num[static_cast<std::size_t>(c)] += weight * values_[static_cast<std::size_t>(j * value_dim_ + c)];
    }
    for (std::int64_t c = 0; c < value_dim_; ++c)
      y[c] = arithmetic.quotient(num[static_cast<std::size_t>(c)], den, rule_->scale, rule_->output);
  }
  // The shares that all keys have in the softmax of a query, not rounded.
  std::vector<double> chances(const A& arithmetic, const Value* query, int) const {
    std::vector<double> all;
    for (std::int64_t j = 0; j < size_; ++j) all.push_back(score(arithmetic, query, j));
    if (all.empty()) return all;
    const double top = *std::max_element(all.begin(), all.end());
    double sum = 0;
    for (auto& share : all) sum += share = weight_of(share, top);
    for (auto& share : all) share = sum == 0 ? 0 : share / sum;
    return all;
  }
  void append_numbers(std::vector<Value>& out) const {
    for (std::int64_t t = 0; t < size_; ++t) {
      out.insert(out.end(), keys_.begin() + t * key_dim_, keys_.begin() + (t + 1) * key_dim_);
      out.insert(out.end(), values_.begin() + t * value_dim_, values_.begin() + (t + 1) * value_dim_);
    }
  }
  static void merge(Sums& into, const Sums& from) { into.insert(into.end(), from.begin(), from.end()); }

 private:
  // Of a key, where `top` is the query's largest score.
  double weight_of(double score, double top) const {
    return rule_->tau != 0 ? std::exp(rule_->tau * (score - top))
                           : static_cast<double>(rule_->score.weights.at_real(score));
  }

  std::int64_t key_dim_, value_dim_, size_ = 0;
  const SoftmaxRule<A>* rule_;
  std::vector<double> keys_, values_;
};

}  // namespace rung
