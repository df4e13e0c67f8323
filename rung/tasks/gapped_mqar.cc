#include "rung/tasks/gapped_mqar.h"

#include <algorithm>
#include <charconv>

#include "rung/base/nearest_word.h"
#include "rung/tasks/sampling.h"
#include "rung/tasks/task_list.h"
#include "rung/tasks/token_task.h"

namespace rung {
namespace {

constexpr std::int64_t kMostGapPlaces = std::int64_t{1} << 23;

class GappedMqarTask final : public TokenTask {
 public:
  GappedMqarTask(const GappedMqarSizes& sizes, double power)
      : n_(sizes.pairs), keys_(sizes.keys), sigma_(sizes.values), power_(power), law_(sizes.places, power) {}

  std::string_view name() const override { return "mqar"; }
  SizeList size() const override {
    return {{"n", n_}, {"M", keys_}, {"sigma", sigma_}, {"queries", law_.places()}};
  }
  TaskOptions options() const override { return {{"gaps", fmt::format("{}", power_)}}; }
  AnswerSpec answer_spec() const override { return token_answer(sigma_); }
  std::int64_t prompt_length() const override { return 2 * (n_ + law_.places()); }
  std::vector<std::int64_t> query_positions() const override {
    std::vector<std::int64_t> positions;
    for (std::int64_t t = 2 * n_; t < prompt_length(); t += 2) positions.push_back(t);
    return positions;
  }
  std::int64_t asked() const override { return n_; }
  bool certifiable() const override { return false; }
  const GapLaw* gap_law() const override { return &law_; }
  bool supports(Variant variant) const override { return variant == Variant::uniform; }

  Instance generate(Variant variant, std::uint64_t seed, std::uint64_t index) const override {
    RUNG_REQUIRE(supports(variant), "mqar with gaps, {}", variant_name(variant));
    Random random(seed, index);
    const auto keys = distinct(random, n_, keys_), values = distinct(random, n_, sigma_),
               gaps = law_.draw(random, n_);
    std::vector<std::int64_t> tokens(static_cast<std::size_t>(prompt_length()), blank()),
        answers(static_cast<std::size_t>(law_.places()), kNotAsked);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const auto gap = static_cast<std::size_t>(gaps[i]);
      tokens[2 * i] = tokens[2 * (keys.size() + gap)] = sigma_ + keys[i];
      tokens[2 * i + 1] = answers[gap] = values[i];
    }
    return token_instance(std::move(tokens), std::move(answers));
  }

  std::vector<std::int64_t> answer(const Prompt& prompt) const override {
    std::vector<std::int64_t> answers;
    for (const std::int64_t place : query_positions()) {
      answers.push_back(kNotAsked);
      for (std::int64_t pair = 0; pair < n_; ++pair)
        if (prompt.token(2 * pair) == prompt.token(place)) answers.back() = prompt.token(2 * pair + 1);
    }
    return answers;
  }

  Result<void> validate(const Prompt& prompt) const override {
    RUNG_CHECK(TokenTask::validate(prompt));
    std::vector<std::int64_t> keys, values, asked;
    for (std::int64_t pair = 0; pair < n_; ++pair) {
      keys.push_back(prompt.token(2 * pair));
      values.push_back(prompt.token(2 * pair + 1));
    }
    for (const std::int64_t place : query_positions())
      if (prompt.token(place) != blank()) asked.push_back(prompt.token(place));
    for (auto* each : {&keys, &values, &asked}) std::sort(each->begin(), each->end());
    const auto repeats = [](const std::vector<std::int64_t>& sorted) {
      return std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
    };
    if (repeats(keys) || repeats(values) || asked != keys)
      return fail(
          ErrorCode::format,
          "[task] an mqar prompt with gaps has {} pairs and asks {} times; expected different keys and "
          "values, and each key asked for once",
          n_, asked.size());
    return {};
  }
  std::int64_t choices(const Prompt& prefix) const override {
    const std::int64_t t = prefix.positions;
    if (t < 2 * n_) return range(t).count - t / 2;
    return t % 2 == 1 ? 1 : static_cast<std::int64_t>(next_questions(prefix).size());
  }
  void extend(Prompt& prefix, std::int64_t choice) const override {
    const std::int64_t t = prefix.positions;
    std::int64_t token = blank();
    if (t < 2 * n_) {
      std::vector<std::int64_t> used;
      for (std::int64_t s = t % 2; s < t; s += 2) used.push_back(prefix.token(s));
      std::sort(used.begin(), used.end());
      token = range(t).low + choice;
      for (const std::int64_t other : used) token += other <= token ? 1 : 0;
    } else if (t % 2 == 0) {
      token = next_questions(prefix).at(static_cast<std::size_t>(choice));
    }
    prefix.fields[0].push_back(token);
    ++prefix.positions;
  }

  std::string symbol(std::size_t, std::int64_t value) const override {
    if (value == blank()) return "_";
    return value < sigma_ ? std::to_string(value) : fmt::format("k{}", value - sigma_);
  }
  std::string answer_text(std::span<const std::int64_t> answer) const override {
    std::string out;
    for (const auto value : answer)
      out += (out.empty() ? "" : " ") + (value == kNotAsked ? std::string("_") : std::to_string(value));
    return out;
  }

 protected:
  std::int64_t vocabulary() const override { return sigma_ + keys_ + 1; }
  Range range(std::int64_t position) const override {
    if (position < 2 * n_) return position % 2 == 0 ? Range{sigma_, keys_} : Range{0, sigma_};
    return position % 2 == 0 ? Range{sigma_, keys_ + 1} : Range{blank(), 1};
  }

 private:
  std::int64_t blank() const { return sigma_ + keys_; }

  // What may stand at the next place: keys that were not asked for yet, increasing, and blank while places are left.
  std::vector<std::int64_t> next_questions(const Prompt& prefix) const {
    std::vector<std::int64_t> left;
    for (std::int64_t pair = 0; pair < n_; ++pair) left.push_back(prefix.token(2 * pair));
    for (std::int64_t t = 2 * n_; t < prefix.positions; t += 2) std::erase(left, prefix.token(t));
    std::sort(left.begin(), left.end());
    if (static_cast<std::int64_t>(left.size()) < (prompt_length() - prefix.positions) / 2)
      left.push_back(blank());
    return left;
  }

  std::int64_t n_, keys_, sigma_;
  double power_;
  GapLaw law_;
};

}  // namespace

Result<std::unique_ptr<Task>> make_gapped_mqar(const GappedMqarSizes& sizes, const std::string& power) {
  double value = 0;
  const auto [end, error] = std::from_chars(power.data(), power.data() + power.size(), value);
  if (error != std::errc() || end != power.data() + power.size() || !(value > 0 && value <= 1))
    return fail(ErrorCode::parse, "[task] gaps = {} of mqar; expected none, or a power above 0 and at most 1",
                rung::quoted(power));
  if (std::min({sizes.keys, sizes.values, sizes.places}) < sizes.pairs)
    return fail(
        ErrorCode::range,
        "[task] mqar with gaps: {} pairs of {} keys and {} values at {} places; expected as many of each",
        sizes.pairs, sizes.keys, sizes.values, sizes.places);
  if (sizes.places > kMostGapPlaces)
    return fail(ErrorCode::range, "[task] mqar with gaps: queries = {}; expected at most {}", sizes.places,
                kMostGapPlaces);
  return new_task<GappedMqarTask>(sizes, value);
}

}  // namespace rung
