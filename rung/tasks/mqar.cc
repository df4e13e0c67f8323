// MQAR, multi-query associative recall: k_1 v_1 … k_n v_n, then queries → the value of each queried key;
// where a key comes twice the last wins. Token ids: values are [σ], keys σ … σ+M-1. Keys are different where
// M ≥ n allows it, except in the adversarial variant.
#include <algorithm>
#include <map>

#include "rung/tasks/gapped_mqar.h"
#include "rung/tasks/sampling.h"
#include "rung/tasks/task_list.h"
#include "rung/tasks/token_task.h"

namespace rung {
namespace {

class MqarTask final : public TokenTask {
 public:
  MqarTask(std::int64_t n, std::int64_t keys, std::int64_t sigma, std::int64_t queries)
      : n_(n), keys_(keys), sigma_(sigma), queries_(queries) {}

  std::string_view name() const override { return "mqar"; }
  SizeList size() const override {
    return {{"n", n_}, {"M", keys_}, {"sigma", sigma_}, {"queries", queries_}};
  }
  AnswerSpec answer_spec() const override { return token_answer(sigma_); }
  std::int64_t prompt_length() const override { return 2 * n_ + queries_; }
  std::vector<std::int64_t> query_positions() const override {
    std::vector<std::int64_t> positions(static_cast<std::size_t>(queries_));
    for (std::size_t i = 0; i < positions.size(); ++i) positions[i] = 2 * n_ + static_cast<std::int64_t>(i);
    return positions;
  }
  bool supports(Variant variant) const override {
    return supported(
        variant, {.permutation = keys_ >= n_ && sigma_ >= n_ && queries_ <= n_, .adversarial = sigma_ >= 2});
  }

  Instance generate(Variant variant, std::uint64_t seed, std::uint64_t index) const override {
    RUNG_REQUIRE(supports(variant), "mqar {}", variant_name(variant));
    Draw drawn(variant, seed, index);
    Random& random = drawn.random;
    const auto n = static_cast<std::size_t>(n_);
    std::vector<std::int64_t> key(n), value(n), asked(static_cast<std::size_t>(queries_));
    if (variant == Variant::adversarial) {
      repeat_keys(random, drawn.flipped, key, value);
    } else if (keys_ >= n_) {
      key = distinct(random, n_, keys_);
    } else {
      for (auto& k : key) k = draw(random, variant, keys_);
    }
    if (variant == Variant::permutation) {
      value = distinct(random, n_, sigma_);
      asked = distinct(random, queries_, n_);
    } else {
      if (variant != Variant::adversarial)
        for (auto& v : value) v = draw(random, variant, sigma_);
      for (auto& a : asked) a = draw(random, variant, n_);
    }
    std::vector<std::int64_t> tokens;
    tokens.reserve(static_cast<std::size_t>(prompt_length()));
    std::map<std::int64_t, std::int64_t> latest;
    for (std::size_t i = 0; i < n; ++i) {
      tokens.push_back(sigma_ + key[i]);
      tokens.push_back(value[i]);
      latest[key[i]] = value[i];
    }
    std::vector<std::int64_t> answers;
    for (const auto a : asked) {
      tokens.push_back(sigma_ + key[static_cast<std::size_t>(a)]);
      answers.push_back(latest[key[static_cast<std::size_t>(a)]]);
    }
    return token_instance(std::move(tokens), std::move(answers));
  }

  std::vector<std::int64_t> answer(const Prompt& prompt) const override {
    std::vector<std::int64_t> answers;
    for (std::int64_t query = 2 * n_; query < prompt_length(); ++query)
      for (std::int64_t pair = n_ - 1; pair >= 0; --pair)
        if (prompt.token(2 * pair) == prompt.token(query)) {
          answers.push_back(prompt.token(2 * pair + 1));
          break;
        }
    return answers;
  }

  Result<void> validate(const Prompt& prompt) const override {
    RUNG_CHECK(TokenTask::validate(prompt));
    const auto known = written_keys(prompt);
    for (std::int64_t t = 2 * n_; t < prompt_length(); ++t)
      if (!std::binary_search(known.begin(), known.end(), prompt.token(t)))
        return fail(ErrorCode::format,
                    "[task] an mqar prompt asks at position {} for key {}, which is not there", t,
                    prompt.token(t) - sigma_);
    return {};
  }

  std::int64_t choices(const Prompt& prefix) const override {
    if (prefix.positions < 2 * n_) return TokenTask::choices(prefix);
    return static_cast<std::int64_t>(written_keys(prefix).size());
  }
  void extend(Prompt& prefix, std::int64_t choice) const override {
    if (prefix.positions < 2 * n_) return TokenTask::extend(prefix, choice);
    prefix.fields[0].push_back(written_keys(prefix).at(static_cast<std::size_t>(choice)));
    ++prefix.positions;
  }

  std::string symbol(std::size_t, std::int64_t value) const override {
    return value < sigma_ ? std::to_string(value) : fmt::format("k{}", value - sigma_);
  }

 protected:
  std::int64_t vocabulary() const override { return sigma_ + keys_; }
  Range range(std::int64_t position) const override {
    if (position < 2 * n_ && position % 2 == 1) return {0, sigma_};
    return {sigma_, keys_};
  }

 private:
  // Different key tokens of the pairs, sorted.
  std::vector<std::int64_t> written_keys(const Prompt& prompt) const {
    std::vector<std::int64_t> known;
    for (std::int64_t pair = 0; pair < n_; ++pair) known.push_back(prompt.token(2 * pair));
    std::sort(known.begin(), known.end());
    known.erase(std::unique(known.begin(), known.end()), known.end());
    return known;
  }

  // Every key comes at least twice where n allows it, in mixed order. All but its last place hold one value,
  // the last place another; the flipped instance exchanges the two.
  void repeat_keys(Random& random, bool flipped, std::vector<std::int64_t>& key,
                   std::vector<std::int64_t>& value) const {
    const std::int64_t different = std::clamp<std::int64_t>(n_ / 2, 1, keys_);
    const auto names = distinct(random, different, keys_);
    std::vector<std::int64_t> early, last;
    for (std::int64_t i = 0; i < different; ++i) {
      early.push_back(draw(random, Variant::uniform, sigma_));
      last.push_back(other_than(random, early.back(), sigma_));
    }
    if (flipped) std::swap(early, last);
    for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::int64_t>(i) % different;
    random.shuffle(key);
    std::vector<bool> seen(static_cast<std::size_t>(different), false);
    for (std::size_t i = key.size(); i-- > 0;) {
      const auto which = static_cast<std::size_t>(key[i]);
      value[i] = seen[which] ? early[which] : last[which];
      seen[which] = true;
      key[i] = names[which];
    }
  }

  std::int64_t n_, keys_, sigma_, queries_;
};

}  // namespace

TaskWord mqar_word() {
  TaskWord word{
      .name = "mqar",
      .summary =
          "k_1 v_1 ... k_n v_n, then queries -> the value of each queried key, the last one where it repeats",
      .sizes = {{"n", "pairs", 4, 1, kMaxPromptLength / 2},
                {"M", "keys to choose from; 2n unless given", std::nullopt, 1, kMaxAlphabet / 2},
                {"sigma", "values; n unless given", std::nullopt, 1, kMaxAlphabet / 2},
                {"queries", "queries; n unless given", std::nullopt, 1, kMaxPromptLength}},
      .make = [](const TaskSizes& sizes, const TaskOptions& options) -> Result<std::unique_ptr<Task>> {
        const std::int64_t n = sizes.at("n");
        const std::int64_t keys = size_or(sizes, "M", 2 * n), sigma = size_or(sizes, "sigma", n),
                           queries = size_or(sizes, "queries", n);
        const auto gaps = options.find("gaps");
        if (gaps == options.end() || gaps->second == "none")
          return new_task<MqarTask>(n, keys, sigma, queries);
        return make_gapped_mqar({.pairs = n, .keys = keys, .values = sigma, .places = queries}, gaps->second);
      }};
  word.options = {{.name = "gaps",
                   .help = "power of the law of Zoology's gaps; queries are then places for questions",
                   .words = {"none", "0.01", "1"},
                   .open = true}};
  return word;
}

}  // namespace rung
