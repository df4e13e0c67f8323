#include "check/task_of_fields.h"

#include <algorithm>

namespace rung_check {
namespace {

class Retrieval final : public Task {
 public:
  Retrieval(std::int64_t n, std::int64_t bits, std::int64_t sigma, Budget& budget)
      : n_(n), keys_(std::int64_t{1} << bits), sigma_(sigma), budget_(budget) {
    fields = {{"key", keys_}, {"value", sigma + 1}, {"role", 2}};
    length = n + 1;
    queries = {n};
    answer_size = sigma;
  }
  std::vector<Row> answers(const Prompt& p) const override {
    const Row& key = p.fields[0];
    return {{p.fields[1][at(std::find(key.begin(), key.end(), key.back()) - key.begin())]}};
  }
  void rules(const Prompt& p) const override {
    for (std::int64_t t = 0; t <= n_; ++t)
      if (p.fields[2][at(t)] != (t == n_ ? 1 : 0) || (p.fields[1][at(t)] == sigma_) != (t == n_))
        throw Rejected("a retrieval prompt has its query elsewhere than at the end");
    const Row& used = written(p);
    if (std::adjacent_find(used.begin(), used.end()) != used.end())
      throw Rejected("a retrieval prompt has a key twice");
    if (!std::binary_search(used.begin(), used.end(), p.fields[0].back()))
      throw Rejected("a retrieval prompt asks for a key that is not there");
  }
  std::int64_t choices(const Prompt& p) const override {
    if (p.positions == n_) return n_;
    const Int count = static_cast<Int>(keys_ - p.positions) * sigma_;
    return count > kLargestNumber ? 0 : static_cast<std::int64_t>(count);
  }
  void extend(Prompt& p, std::int64_t choice) const override {
    const Row& used = written(p);
    const bool query = p.positions == n_;
    std::int64_t key = query ? used[at(choice)] : choice / sigma_;
    if (!query)
      for (const auto taken : used) key += taken <= key ? 1 : 0;
    p.fields[0].push_back(key);
    p.fields[1].push_back(query ? sigma_ : choice % sigma_);
    p.fields[2].push_back(query ? 1 : 0);
    ++p.positions;
  }

 private:
  // The keys in order. Those of the last prompt asked about are remembered: a prompt that grows by a position
  // costs its length, not a sort.
  const Row& written(const Prompt& p) const {
    const auto begin = p.fields[0].begin(), end = begin + std::min(p.positions, n_);
    const auto count = static_cast<std::size_t>(end - begin);
    budget_.work(4 * count);
    if (seen_.size() > count || count - seen_.size() > 1 || !std::equal(seen_.begin(), seen_.end(), begin)) {
      budget_.sorting(count);
      seen_.assign(begin, end);
      sorted_ = seen_;
      std::sort(sorted_.begin(), sorted_.end());
    } else if (seen_.size() < count) {
      seen_.push_back(*(end - 1));
      sorted_.insert(std::upper_bound(sorted_.begin(), sorted_.end(), seen_.back()), seen_.back());
    }
    return sorted_;
  }
  std::int64_t n_, keys_, sigma_;
  Budget& budget_;
  mutable Row seen_, sorted_;  // keys as they stand, and in order
};

class SparseAverage final : public Task {
 public:
  SparseAverage(std::int64_t n, std::int64_t q, std::int64_t d, std::int64_t f, bool last, Budget& budget)
      : n_(n),
        q_(q),
        d_(d),
        one_(std::int64_t{1} << f),
        finer_(ceil_lg(static_cast<std::uint64_t>(q)) + 2),
        budget_(budget) {
    fields = {{"subset", n, q}, {"vector", 2 * one_ + 1, d, -one_}};
    length = n;
    for (std::int64_t t = last ? n - 1 : 0; t < n; ++t) queries.push_back(t);
    vector = true;
    answer_size = d;
    fraction = f + finer_;
    tolerance = 4 * q;
  }
  std::vector<Row> answers(const Prompt& p) const override {
    budget_.work(queries.size() * at(d_) * at(q_));
    std::vector<Row> all;
    for (const auto i : queries) {
      all.emplace_back();
      for (std::int64_t c = 0; c < d_; ++c) {
        Int sum = 0;
        for (std::int64_t j = 0; j < q_; ++j) sum += p.fields[1][at(p.fields[0][at(i * q_ + j)] * d_ + c)];
        all.back().push_back(static_cast<std::int64_t>(floor_div(2 * (sum << finer_) + q_, 2 * q_)));
      }
    }
    return all;
  }
  void rules(const Prompt& p) const override {
    for (std::int64_t i = 0; i < n_; ++i)
      for (std::int64_t j = 1; j < q_; ++j)
        if (p.fields[0][at(i * q_ + j - 1)] >= p.fields[0][at(i * q_ + j)])
          throw Rejected("a subset of a sparse-average prompt is not strictly increasing");
  }
  std::int64_t choices(const Prompt&) const override {
    Int count = binomial(n_, q_);
    for (std::int64_t c = 0; c < d_ && count < kLargestNumber; ++c) count *= 2 * one_ + 1;
    return count >= kLargestNumber ? 0 : static_cast<std::int64_t>(count);
  }
  void extend(Prompt& p, std::int64_t choice) const override {
    // A binomial coefficient per member, of few factors: their number is one of the choices, below 2^62.
    budget_.work(at(n_) * kDivision * at(1 + std::min<std::int64_t>({q_, n_ - q_, 62})));
    Row vector_part(at(d_));
    for (auto c = vector_part.rbegin(); c != vector_part.rend(); ++c) {
      *c = choice % (2 * one_ + 1) - one_;
      choice /= 2 * one_ + 1;
    }
    for (std::int64_t member = 0, chosen = 0; chosen < q_; ++member) {
      const Int with = binomial(n_ - member - 1, q_ - chosen - 1);  // subsets that go on with `member`
      if (choice < with) {
        p.fields[0].push_back(member);
        ++chosen;
      } else {
        choice -= static_cast<std::int64_t>(with);
      }
    }
    p.fields[1].insert(p.fields[1].end(), vector_part.begin(), vector_part.end());
    ++p.positions;
  }

 private:
  static Int binomial(std::int64_t n, std::int64_t k) {  // or 2^62 where it is larger
    Int value = k > n ? 0 : 1;
    for (std::int64_t i = 1; i <= std::min(k, n - k); ++i)
      if ((value = value * (n - std::min(k, n - k) + i) / i) >= kLargestNumber) return kLargestNumber;
    return value;
  }
  static constexpr std::uint64_t kDivision = 16;  // of 128 bits, in multiply-adds
  std::int64_t n_, q_, d_, one_, finer_;
  Budget& budget_;
};

class Nearest final : public Task {
 public:
  Nearest(std::int64_t n, std::int64_t d, std::int64_t sigma, std::int64_t f, std::int64_t margin,
          Budget& budget)
      : n_(n),
        d_(d),
        sigma_(sigma),
        one_(std::int64_t{1} << f),
        gap_(static_cast<Int>(margin) << f),
        // |v|² is off 4^f by no more than 2^f √d + d/4: rounding moves each component by 1/2 at most.
        slack_((isqrt((Int{16} << (2 * f)) * d) + d) / 4),
        budget_(budget) {
    fields = {{"vector", 2 * one_ + 1, d, -one_}, {"label", sigma + 1}};
    length = 2 * n + 1;
    queries = {2 * n};
    answer_size = sigma;
  }
  std::vector<Row> answers(const Prompt& p) const override {
    return {{p.fields[1][at(2 * nearest(p).point + 1)]}};
  }
  void rules(const Prompt& p) const override {
    for (std::int64_t t = 0; t < length; ++t) {
      const bool point = t % 2 == 0;
      if ((p.fields[1][at(t)] == sigma_) != point)
        throw Rejected("a nearest prompt has a label where a point is expected, or the other way round");
      const Int off = product(p, t, t) - (point ? static_cast<Int>(one_) * one_ : 0);
      const Int slack = point ? slack_ : 0;
      if (off > slack || off < -slack)
        throw Rejected("a nearest prompt has a point off the sphere, or a vector at a label");
    }
    if (n_ > 1 && nearest(p).lead < gap_)
      throw Rejected("the two best products of a nearest prompt are closer than its margin");
  }
  std::int64_t choices(const Prompt&) const override { return 0; }

 private:
  struct Best {
    std::int64_t point = 0;  // the first of equals
    Int lead = 0;            // over the best of the others, where there are any
  };
  Best nearest(const Prompt& p) const {
    budget_.work(at(n_) * at(d_));
    Best best;
    Int first = product(p, 0, 2 * n_), second = 0;
    for (std::int64_t i = 1; i < n_; ++i) {
      const Int now = product(p, 2 * i, 2 * n_);
      if (i == 1 || now > second) second = std::min(now, first);
      if (now <= first) continue;
      first = now;
      best.point = i;
    }
    best.lead = first - second;
    return best;
  }
  Int product(const Prompt& p, std::int64_t s, std::int64_t t) const {
    Int sum = 0;
    for (std::int64_t c = 0; c < d_; ++c)
      sum += static_cast<Int>(p.fields[0][at(s * d_ + c)]) * p.fields[0][at(t * d_ + c)];
    return sum;
  }
  std::int64_t n_, d_, sigma_, one_;
  Int gap_, slack_;  // of products and squares, in units of 4^-f
  Budget& budget_;
};

}  // namespace

std::unique_ptr<Task> make_retrieval(std::int64_t n, std::int64_t bits, std::int64_t sigma, Budget& budget) {
  return std::make_unique<Retrieval>(n, bits, sigma, budget);
}
std::unique_ptr<Task> make_sparse_average(std::int64_t n, std::int64_t q, std::int64_t d, std::int64_t f,
                                          bool last, Budget& budget) {
  return std::make_unique<SparseAverage>(n, q, d, f, last, budget);
}
std::unique_ptr<Task> make_nearest(std::int64_t n, std::int64_t d, std::int64_t sigma, std::int64_t f,
                                   std::int64_t margin, Budget& budget) {
  return std::make_unique<Nearest>(n, d, sigma, f, margin, budget);
}

}  // namespace rung_check
