// The layout of the two-party problems: a#b#, a and b of n bits, read at the last `#`. Token ids: 0, 1, `#`
// = 2.
#pragma once

#include "rung/tasks/sampling.h"
#include "rung/tasks/token_task.h"

namespace rung {

class TwoStringsTask : public TokenTask {
 public:
  SizeList size() const override { return {{"n", n_}}; }
  AnswerSpec answer_spec() const override { return boolean_answer(); }
  std::int64_t prompt_length() const override { return 2 * n_ + 2; }
  bool supports(Variant variant) const override { return variant != Variant::permutation; }
  std::string symbol(std::size_t, std::int64_t value) const override {
    return value == kHash ? "#" : std::to_string(value);
  }

 protected:
  static constexpr std::int64_t kHash = 2;

  explicit TwoStringsTask(std::int64_t n) : n_(n) {}
  std::int64_t vocabulary() const override { return 3; }
  Range range(std::int64_t position) const override {
    if (position == n_ || position == 2 * n_ + 1) return {kHash, 1};
    return {0, 2};
  }

  std::int64_t a(const Prompt& prompt, std::int64_t i) const { return prompt.token(i); }
  std::int64_t b(const Prompt& prompt, std::int64_t i) const { return prompt.token(n_ + 1 + i); }

  using Bits = std::vector<std::int64_t>;
  Bits draw_bits(Random& random, Variant variant) const {
    Bits bits(static_cast<std::size_t>(n_));
    for (auto& bit : bits) bit = draw(random, variant, 2);
    return bits;
  }
  static Instance two_strings(Bits first, const Bits& second, bool yes) {
    first.push_back(kHash);
    first.insert(first.end(), second.begin(), second.end());
    first.push_back(kHash);
    return token_instance(std::move(first), {yes ? 1 : 0});
  }

  std::int64_t n_;
};

}  // namespace rung
