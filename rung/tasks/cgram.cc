// c-gram retrieval: a string of n symbols whose last c-1 symbols stood before → the symbol that followed
// there; of several such places the last counts. They may overlap. With period p = distance of the two
// places: s[t] = s[t-p] for the last c-1 places t, and the answer is s[n-p] for the smallest such p ≥ 1.
#include <algorithm>

#include "rung/tasks/sampling.h"
#include "rung/tasks/task_list.h"
#include "rung/tasks/token_task.h"

namespace rung {
namespace {

class CgramTask final : public TokenTask {
 public:
  CgramTask(std::int64_t n, std::int64_t c, std::int64_t sigma) : n_(n), c_(c), sigma_(sigma) {}

  std::string_view name() const override { return "cgram"; }
  SizeList size() const override { return {{"n", n_}, {"c", c_}, {"sigma", sigma_}}; }
  AnswerSpec answer_spec() const override { return token_answer(sigma_); }
  std::int64_t prompt_length() const override { return n_; }
  // Permutation: all symbols before the repeated ones different.
  bool supports(Variant variant) const override {
    return supported(variant, {.permutation = sigma_ >= free(), .adversarial = sigma_ >= 4 && free() >= c_});
  }

  Instance generate(Variant variant, std::uint64_t seed, std::uint64_t index) const override {
    RUNG_REQUIRE(supports(variant), "cgram {}", variant_name(variant));
    Draw drawn(variant, seed, index);
    Random& random = drawn.random;
    std::vector<std::int64_t> s;
    if (variant == Variant::adversarial) {
      s = near_duplicates(random, drawn.flipped);
    } else if (variant == Variant::permutation) {
      s = distinct(random, free(), sigma_);
      repeat(s, 1 + draw(random, variant, free()));
    } else {
      for (std::int64_t t = 0; t < free(); ++t) s.push_back(draw(random, variant, sigma_));
      repeat(s, 1 + draw(random, variant, free()));
    }
    Instance instance = token_instance(std::move(s), {});
    instance.answer = answer(instance.prompt);
    return instance;
  }

  std::vector<std::int64_t> answer(const Prompt& prompt) const override {
    const auto periods = alive(prompt);
    RUNG_REQUIRE(!periods.empty(), "the last {} symbols did not stand before", c_ - 1);
    return {prompt.token(n_ - periods.front())};
  }

  Result<void> validate(const Prompt& prompt) const override {
    RUNG_CHECK(TokenTask::validate(prompt));
    if (alive(prompt).empty())
      return fail(ErrorCode::format, "[task] the last {} symbols of a cgram prompt did not stand before",
                  c_ - 1);
    return {};
  }

  std::int64_t choices(const Prompt& prefix) const override {
    if (prefix.positions < free()) return sigma_;
    return static_cast<std::int64_t>(continuations(prefix).size());
  }
  void extend(Prompt& prefix, std::int64_t choice) const override {
    const std::int64_t symbol =
        prefix.positions < free() ? choice : continuations(prefix).at(static_cast<std::size_t>(choice));
    prefix.fields[0].push_back(symbol);
    ++prefix.positions;
  }

 protected:
  std::int64_t vocabulary() const override { return sigma_; }
  Range range(std::int64_t) const override { return {0, sigma_}; }

 private:
  std::int64_t free() const { return n_ - (c_ - 1); }  // symbols before the last c-1

  // The periods that fit the last symbols as far as they are written, increasing.
  std::vector<std::int64_t> alive(const Prompt& prefix) const {
    std::vector<std::int64_t> periods;
    for (std::int64_t p = 1; p <= free(); ++p) {
      bool fits = true;
      for (std::int64_t t = free(); fits && t < prefix.positions; ++t)
        fits = prefix.token(t) == prefix.token(t - p);
      if (fits) periods.push_back(p);
    }
    return periods;
  }
  std::vector<std::int64_t> continuations(const Prompt& prefix) const {
    std::vector<std::int64_t> symbols;
    for (const auto p : alive(prefix)) symbols.push_back(prefix.token(prefix.positions - p));
    std::sort(symbols.begin(), symbols.end());
    symbols.erase(std::unique(symbols.begin(), symbols.end()), symbols.end());
    return symbols;
  }
  void repeat(std::vector<std::int64_t>& s, std::int64_t period) const {
    while (static_cast<std::int64_t>(s.size()) < n_)
      s.push_back(s[s.size() - static_cast<std::size_t>(period)]);
  }

  // Blocks of c symbols, a context of c-1 and what follows it. One block has the true context and is followed
  // by one symbol; the contexts of the others differ from it in exactly one place and are followed by another
  // symbol; the flipped instance exchanges the two. What follows is never a symbol of a context, so contexts
  // are found at blocks alone.
  std::vector<std::int64_t> near_duplicates(Random& random, bool flipped) const {
    const std::int64_t inner = sigma_ - 2;
    // A few symbols are enough and keep the memory of a large alphabet away: all roles are drawn from
    // `roles`.
    const std::int64_t used = std::min<std::int64_t>(inner, 8);
    const auto roles = distinct(random, used + 2, sigma_);
    std::vector<std::int64_t> context(static_cast<std::size_t>(c_ - 1));
    for (auto& symbol : context) symbol = draw(random, Variant::uniform, used);
    std::int64_t common = roles[static_cast<std::size_t>(used)],
                 odd = roles[static_cast<std::size_t>(used + 1)];
    if (flipped) std::swap(common, odd);
    const std::int64_t blocks = free() / c_;
    const auto target = draw(random, Variant::uniform, blocks);
    std::vector<std::int64_t> s;
    for (std::int64_t t = 0; t < free() % c_; ++t) s.push_back(coin(random) ? common : odd);
    for (std::int64_t b = 0; b < blocks; ++b) {
      auto written = context;
      auto& changed = written[random.below(written.size())];
      const std::int64_t near = other_than(random, changed, used);
      if (b != target) changed = near;
      for (const auto symbol : written) s.push_back(roles[static_cast<std::size_t>(symbol)]);
      s.push_back(b == target ? odd : common);
    }
    for (const auto symbol : context) s.push_back(roles[static_cast<std::size_t>(symbol)]);
    return s;
  }

  std::int64_t n_, c_, sigma_;
};

Result<std::unique_ptr<Task>> make_cgram(const TaskSizes& sizes, const TaskOptions&) {
  const std::int64_t n = sizes.at("n"), c = sizes.at("c");
  if (c > n)
    return fail(ErrorCode::range, "[task] c = {} of cgram with n = {} symbols; expected c at most n", c, n);
  return new_task<CgramTask>(n, c, sizes.at("sigma"));
}

}  // namespace

TaskWord cgram_word() {
  return {.name = "cgram",
          .summary = "n symbols, the last c-1 of which stood before -> the symbol that followed there",
          .sizes = {{"n", "symbols", 8, 2, kMaxPromptLength},
                    {"c", "length of a gram: c-1 symbols and what follows", 3, 2, kMaxPromptLength},
                    {"sigma", "alphabet", 4, 1, kMaxAlphabet}},
          .make = make_cgram};
}

}  // namespace rung
