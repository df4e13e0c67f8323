// L-SeqComp, sequential composition of functions (Chen, Peng, Wu 2412.02975): sizes and where everything
// stands.
//
// N_0 = m, N_l = n_l · N_{l-1}. z_0 ∈ [m]; z_l: [N_{l-1}] → [N_{l-1}] for l = 1..L; w_l ∈ [n_l] for l
// = 1..L-1. i_0 = z_0, i_1 = z_1(i_0), i_l = z_l(w_{l-1} · N_{l-2} + i_{l-1}); the answer is i_L. Hard order:
// the values of z_L in argument order, then those of z_{L-1}, …, z_1, then z_0, w_1, …, w_{L-1}, then `=`, at
// which i_L is read. Easy order: w_1, …, w_{L-1}, z_0, the values of z_1, …, z_L, `=`. T = N_0 + … + N_{L-1}
// + L + 1 in both. Token ids: values are [N_{L-1}], `=` is N_{L-1}.
#pragma once

#include <cstdint>
#include <vector>

#include "rung/base/result.h"

namespace rung {

inline constexpr std::int64_t kMaxSeqCompLevels = 8;

class SeqCompLayout {
 public:
  enum class Order { hard, easy };

  // branching[l-1] = n_l for l = 1..L-1, so L = branching.size() + 1. ENSURES T at most 2^31 on success.
  static Result<SeqCompLayout> make(std::int64_t m, std::vector<std::int64_t> branching, Order order);

  std::int64_t levels() const { return static_cast<std::int64_t>(branching_.size()) + 1; }  // L
  std::int64_t domain(std::int64_t l) const {
    return domains_[static_cast<std::size_t>(l)];
  }  // N_l, 0 <= l < L
  std::int64_t branching(std::int64_t l) const { return branching_[static_cast<std::size_t>(l - 1)]; }  // n_l
  Order order() const { return order_; }

  std::int64_t length() const { return length_; }                // T
  std::int64_t equals_token() const { return domains_.back(); }  // N_{L-1}
  std::int64_t equals_position() const { return length_ - 1; }
  std::int64_t start_position() const { return start_; }                          // of z_0
  std::int64_t branch_position(std::int64_t l) const { return branch_ + l - 1; }  // of w_l
  std::int64_t table_position(std::int64_t l) const {
    return tables_[static_cast<std::size_t>(l - 1)];
  }  // of z_l(0)

 private:
  std::vector<std::int64_t> branching_, domains_, tables_;
  std::int64_t length_ = 0, start_ = 0, branch_ = 0;
  Order order_ = Order::hard;
};

}  // namespace rung
