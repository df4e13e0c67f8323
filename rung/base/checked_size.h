// Products and sums of sizes that came from outside: absent as soon as they leave 0..2^62, so that no later
// step can overflow or allocate by them unseen.
//   CheckedSize bits = CheckedSize(heads) * dim * dim;   if (!bits.value()) ...
#pragma once

#include <cstdint>
#include <optional>

namespace rung {

inline constexpr std::int64_t kMaxProduct = std::int64_t{1} << 62;

class CheckedSize {
 public:
  CheckedSize(std::int64_t value) : value_(value), ok_(value >= 0 && value <= kMaxProduct) {}

  std::optional<std::int64_t> value() const { return ok_ ? std::optional(value_) : std::nullopt; }
  std::int64_t or_zero() const { return ok_ ? value_ : 0; }
  bool ok() const { return ok_; }

  friend CheckedSize operator*(CheckedSize a, CheckedSize b) {
    std::int64_t product = 0;
    const bool overflow = __builtin_mul_overflow(a.value_, b.value_, &product);
    return CheckedSize(product, a.ok_ && b.ok_ && !overflow && product >= 0 && product <= kMaxProduct);
  }
  friend CheckedSize operator+(CheckedSize a, CheckedSize b) {
    std::int64_t sum = 0;
    const bool overflow = __builtin_add_overflow(a.value_, b.value_, &sum);
    return CheckedSize(sum, a.ok_ && b.ok_ && !overflow && sum >= 0 && sum <= kMaxProduct);
  }
  CheckedSize& operator+=(CheckedSize other) { return *this = *this + other; }

 private:
  CheckedSize(std::int64_t value, bool ok) : value_(value), ok_(ok) {}
  std::int64_t value_;
  bool ok_;
};

}  // namespace rung
