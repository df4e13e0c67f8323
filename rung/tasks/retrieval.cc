// Retrieval of pairs: (a_1,b_1) … (a_n,b_n), query a → b_i where a = a_i. One position a pair: fields `key`
// (D bits, all keys different), `value` ([σ], and σ itself as the blank of the query) and `role` (0 pair, 1
// query).
#include <algorithm>
#include <array>
#include <bit>

#include "rung/base/ceil_lg.h"
#include "rung/tasks/proper_names.h"
#include "rung/tasks/sampling.h"
#include "rung/tasks/task_list.h"
#include "rung/tasks/token_task.h"

namespace rung {
namespace {

constexpr std::int64_t kPair = 0, kQuery = 1;

class RetrievalTask final : public Task {
 public:
  RetrievalTask(std::int64_t n, std::int64_t key_bits, std::int64_t sigma)
      : n_(n), key_bits_(key_bits), sigma_(sigma) {}

  std::string_view name() const override { return "retrieval"; }
  SizeList size() const override { return {{"n", n_}, {"D", key_bits_}, {"sigma", sigma_}}; }
  std::vector<FieldSpec> fields() const override {
    return {
        {.name = "key", .size = keys()}, {.name = "value", .size = sigma_ + 1}, {.name = "role", .size = 2}};
  }
  AnswerSpec answer_spec() const override { return token_answer(sigma_); }
  std::int64_t prompt_length() const override { return n_ + 1; }
  std::vector<std::int64_t> query_positions() const override { return {n_}; }
  // Permutation: all values different.
  bool supports(Variant variant) const override {
    return supported(variant, {.permutation = sigma_ >= n_, .adversarial = sigma_ >= 2});
  }

  Instance generate(Variant variant, std::uint64_t seed, std::uint64_t index) const override {
    RUNG_REQUIRE(supports(variant), "retrieval {}", variant_name(variant));
    Draw drawn(variant, seed, index);
    Random& random = drawn.random;
    const auto n = static_cast<std::size_t>(n_);
    std::vector<std::int64_t> key, value(n);
    std::size_t asked = 0;
    if (variant == Variant::adversarial) {
      asked = random.below(n);
      key = nearby_keys(random, asked);
      std::int64_t common = draw(random, variant, sigma_);
      std::int64_t odd = other_than(random, common, sigma_);
      if (drawn.flipped) std::swap(common, odd);
      std::fill(value.begin(), value.end(), common);
      value[asked] = odd;
    } else {
      key = distinct(random, n_, keys());
      if (variant == Variant::permutation)
        value = distinct(random, n_, sigma_);
      else
        for (auto& v : value) v = draw(random, variant, sigma_);
      asked = static_cast<std::size_t>(draw(random, variant, n_));
    }
    const std::int64_t answer = value[asked];
    key.push_back(key[asked]);
    value.push_back(sigma_);
    std::vector<std::int64_t> role(n, kPair);
    role.push_back(kQuery);
    return {Prompt{n_ + 1, {std::move(key), std::move(value), std::move(role)}}, {answer}};
  }

  std::vector<std::int64_t> answer(const Prompt& prompt) const override {
    const auto& key = prompt.fields[0];
    const auto found = std::find(key.begin(), key.end() - 1, key.back()) - key.begin();
    RUNG_REQUIRE(found < n_, "key {} is not there", key.back());
    return {prompt.fields[1][static_cast<std::size_t>(found)]};
  }

  Result<void> validate(const Prompt& prompt) const override {
    RUNG_CHECK(validate_shape(*this, prompt));
    for (std::int64_t t = 0; t <= n_; ++t) {
      const auto at = static_cast<std::size_t>(t);
      if (prompt.fields[2][at] != (t < n_ ? kPair : kQuery))
        return fail(ErrorCode::format,
                    "[task] role {} at position {} of a retrieval prompt; expected the query last",
                    prompt.fields[2][at], t);
      if ((prompt.fields[1][at] == sigma_) != (t == n_))
        return fail(
            ErrorCode::format,
            "[task] value {} at position {} of a retrieval prompt; expected the blank {} at the query alone",
            prompt.fields[1][at], t, sigma_);
    }
    auto sorted = sorted_keys(prompt);
    if (const auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end())
      return fail(ErrorCode::format, "[task] key {} twice in a retrieval prompt; expected different keys",
                  *twice);
    if (!std::binary_search(sorted.begin(), sorted.end(), prompt.fields[0].back()))
      return fail(ErrorCode::format,
                  "[task] the query of a retrieval prompt asks for key {}, which is not there",
                  prompt.fields[0].back());
    return {};
  }

  std::int64_t choices(const Prompt& prefix) const override {
    if (prefix.positions == n_) return n_;
    std::int64_t count = 0;
    return __builtin_mul_overflow(keys() - prefix.positions, sigma_, &count) ? 0 : count;
  }
  // Pairs in order of (key, value) over the keys not used yet; queries in order of the key.
  void extend(Prompt& prefix, std::int64_t choice) const override {
    RUNG_REQUIRE(choice >= 0 && choice < choices(prefix), "choice={}", choice);
    const bool query = prefix.positions == n_;
    std::int64_t key = choice / sigma_;
    if (query)
      key = ranked_key(prefix, choice);
    else
      for (const auto taken : sorted_keys(prefix)) key += taken <= key ? 1 : 0;
    prefix.fields[0].push_back(key);
    prefix.fields[1].push_back(query ? sigma_ : choice % sigma_);
    prefix.fields[2].push_back(query ? kQuery : kPair);
    ++prefix.positions;
  }

  std::string text(const Prompt& prompt) const override {
    std::string out;
    for (std::size_t t = 0; t < static_cast<std::size_t>(n_); ++t)
      out += fmt::format("{}:{} ", prompt.fields[0][t], prompt.fields[1][t]);
    return out + fmt::format("{}:?", prompt.fields[0].back());
  }

  // Keys are people, values are towns.
  std::optional<Language> language(const Instance& instance) const override {
    const auto& prompt = instance.prompt;
    std::string out;
    for (std::size_t t = 0; t < static_cast<std::size_t>(n_); ++t)
      out += fmt::format("The {} of {} is {}. ", kHomeWord, entity_name(0, prompt.fields[0][t]),
                         entity_name(1, prompt.fields[1][t]));
    out += fmt::format("What is the {} of {}?", kHomeWord, entity_name(0, prompt.fields[0].back()));
    return Language{std::move(out), entity_name(1, instance.answer.front())};
  }

 private:
  std::int64_t keys() const { return std::int64_t{1} << key_bits_; }

  std::vector<std::int64_t> sorted_keys(const Prompt& prompt) const {
    const auto pairs = std::min(prompt.positions, n_);
    std::vector<std::int64_t> sorted(prompt.fields[0].begin(), prompt.fields[0].begin() + pairs);
    std::sort(sorted.begin(), sorted.end());
    return sorted;
  }

  // The key with `rank` smaller ones among the pairs, digit by digit from the top: a million pairs are asked
  // a thousand times.
  std::int64_t ranked_key(const Prompt& prompt, std::int64_t rank) const {
    constexpr int kDigit = 11;
    std::span<const std::int64_t> left(prompt.fields[0].data(),
                                       static_cast<std::size_t>(std::min(prompt.positions, n_)));
    std::vector<std::int64_t> kept;
    for (std::int64_t low = std::max<std::int64_t>(0, key_bits_ - kDigit);;
         low = std::max<std::int64_t>(0, low - kDigit)) {
      std::array<std::int64_t, std::size_t{1} << kDigit> count{};
      const auto digit = [low](std::int64_t key) {
        return static_cast<std::size_t>(key >> low) % (std::size_t{1} << kDigit);
      };
      for (const auto key : left) ++count[digit(key)];
      std::size_t at = 0;
      while (rank >= count[at]) rank -= count[at++];
      std::vector<std::int64_t> same;
      for (const auto key : left)
        if (digit(key) == at) same.push_back(key);
      kept = std::move(same);
      left = kept;
      if (left.size() == 1 || low == 0) return left.front();
    }
  }

  // A key drawn evenly stands at `asked`; the others are the keys nearest to it in Hamming distance: all at
  // distance 1, then 2, … until there are n. Which bits come first, and the places, are drawn.
  std::vector<std::int64_t> nearby_keys(Random& random, std::size_t asked) const {
    const auto target = static_cast<std::uint64_t>(draw(random, Variant::uniform, keys()));
    const auto bit = distinct(random, key_bits_, key_bits_);
    std::vector<std::int64_t> found;
    for (int weight = 1; static_cast<std::int64_t>(found.size()) < n_ - 1; ++weight) {
      std::uint64_t mask = (std::uint64_t{1} << weight) - 1;
      while (mask < static_cast<std::uint64_t>(keys()) && static_cast<std::int64_t>(found.size()) < n_ - 1) {
        std::uint64_t flips = 0;
        for (std::uint64_t rest = mask; rest != 0; rest &= rest - 1)
          flips |= std::uint64_t{1} << bit[static_cast<std::size_t>(std::countr_zero(rest))];
        found.push_back(static_cast<std::int64_t>(target ^ flips));
        const std::uint64_t low = mask & (0 - mask),
                            carried = mask + low;  // the next mask of the same weight
        mask = carried | (((mask ^ carried) >> 2) / low);
      }
    }
    random.shuffle(found);
    found.insert(found.begin() + static_cast<std::ptrdiff_t>(asked), static_cast<std::int64_t>(target));
    return found;
  }

  std::int64_t n_, key_bits_, sigma_;
};

Result<std::unique_ptr<Task>> make_retrieval(const TaskSizes& sizes, const TaskOptions&) {
  const std::int64_t n = sizes.at("n");
  const std::int64_t needed = std::max(1, ceil_lg(static_cast<std::uint64_t>(n)));
  const std::int64_t key_bits = size_or(sizes, "D", needed);
  if (key_bits < needed)
    return fail(ErrorCode::range,
                "[task] retrieval of n = {} different keys of D = {} bits; expected D at least {}", n,
                key_bits, needed);
  return new_task<RetrievalTask>(n, key_bits, size_or(sizes, "sigma", n));
}

}  // namespace

TaskWord retrieval_word() {
  return {.name = "retrieval",
          .summary = "pairs (a_1,b_1) ... (a_n,b_n) of key and value, query a -> b_i with a = a_i",
          .sizes = {{"n", "pairs", 8, 1, kMaxPromptLength - 1},
                    {"D", "key bits; the least that n keys need unless given", std::nullopt, 1, 60},
                    {"sigma", "values; n unless given", std::nullopt, 1, kMaxAlphabet - 1}},
          .make = make_retrieval};
}

}  // namespace rung
