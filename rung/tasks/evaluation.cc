#include "rung/tasks/evaluation.h"

#include <algorithm>

#include "rung/tasks/sampling.h"
#include "rung/tasks/token_task.h"

namespace rung {
namespace {

class EvaluationTask final : public TokenTask {
 public:
  EvaluationTask(std::string_view name, std::int64_t n, std::int64_t sigma)
      : name_(name), n_(n), sigma_(sigma) {}

  std::string_view name() const override { return name_; }
  SizeList size() const override {
    SizeList size = {{"n", n_}};
    if (name_ != "eva") size.add("sigma", sigma_);
    return size;
  }
  AnswerSpec answer_spec() const override { return token_answer(sigma_); }
  std::int64_t prompt_length() const override { return n_ + 1; }
  // Permutation: all values different.
  bool supports(Variant variant) const override {
    return supported(variant, {.permutation = sigma_ >= n_, .adversarial = sigma_ >= 2});
  }

  Instance generate(Variant variant, std::uint64_t seed, std::uint64_t index) const override {
    RUNG_REQUIRE(supports(variant), "{} {}", name_, variant_name(variant));
    const auto n = static_cast<std::size_t>(n_);
    if (variant == Variant::adversarial) {
      Draw pair(variant, seed, index);
      const std::int64_t x = draw(pair.random, variant, n_);
      std::int64_t common = draw(pair.random, variant, sigma_);
      std::int64_t odd = other_than(pair.random, common, sigma_);
      if (pair.flipped) std::swap(common, odd);
      std::vector<std::int64_t> tokens(n + 1, common);
      tokens[static_cast<std::size_t>(x)] = odd;
      tokens[n] = x;
      return token_instance(std::move(tokens), {odd});
    }
    Random random(seed, index);
    std::vector<std::int64_t> tokens;
    if (variant == Variant::permutation) {
      tokens = distinct(random, n_, sigma_);
      tokens.resize(n + 1);
    } else {
      tokens.resize(n + 1);
      for (std::size_t i = 0; i < n; ++i) tokens[i] = draw(random, variant, sigma_);
    }
    const std::int64_t x = draw(random, variant, n_);
    tokens[n] = x;
    const std::int64_t value = tokens[static_cast<std::size_t>(x)];
    return token_instance(std::move(tokens), {value});
  }

  std::vector<std::int64_t> answer(const Prompt& prompt) const override {
    return {prompt.token(prompt.token(n_))};
  }

  std::optional<std::vector<std::int64_t>> chain_of_thought(const Prompt& prompt) const override {
    return answer(prompt);
  }

 protected:
  std::int64_t vocabulary() const override { return std::max(n_, sigma_); }
  Range range(std::int64_t position) const override { return {0, position < n_ ? sigma_ : n_}; }

 private:
  std::string_view name_;
  std::int64_t n_, sigma_;
};

}  // namespace

std::unique_ptr<Task> make_evaluation_task(std::string_view name, std::int64_t n, std::int64_t sigma) {
  return std::make_unique<EvaluationTask>(name, n, sigma);
}

}  // namespace rung
