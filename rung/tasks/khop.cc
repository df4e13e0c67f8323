// k-hop induction (Sanford, Hsu, Telgarsky 2402.09268): from a place, step to the place right after the last
// earlier one that holds the same symbol; k times; the answer is the symbol there, or σ ("none") where a step
// has nowhere to go. Read at the last place, or at every place with read = all. With neighbours = different no symbol
// stands beside itself, as in the paper's experiments: a step then never stays where it is.
#include <algorithm>

#include "rung/tasks/sampling.h"
#include "rung/tasks/task_list.h"
#include "rung/tasks/token_task.h"

namespace rung {
namespace {

class KhopTask final : public TokenTask {
 public:
  KhopTask(std::int64_t n, std::int64_t hops, std::int64_t sigma, bool everywhere, bool different)
      : n_(n), hops_(hops), sigma_(sigma), everywhere_(everywhere), different_(different) {}

  std::string_view name() const override { return "khop"; }
  SizeList size() const override { return {{"n", n_}, {"k", hops_}, {"sigma", sigma_}}; }
  TaskOptions options() const override {
    TaskOptions options;
    if (everywhere_) options["read"] = "all";
    if (different_) options["neighbours"] = "different";
    return options;
  }
  bool certifiable() const override { return !different_; }
  AnswerSpec answer_spec() const override { return token_answer(sigma_ + 1); }
  std::int64_t prompt_length() const override { return n_; }
  std::vector<std::int64_t> query_positions() const override {
    if (!everywhere_) return {n_ - 1};
    std::vector<std::int64_t> positions(static_cast<std::size_t>(n_));
    for (std::size_t t = 0; t < positions.size(); ++t) positions[t] = static_cast<std::int64_t>(t);
    return positions;
  }
  bool supports(Variant variant) const override {
    if (different_) return variant == Variant::uniform;
    return supported(variant, {.permutation = false,
                               .adversarial = sigma_ >= (hops_ == 1 ? 2 : 3) && (n_ - 1) / 2 >= hops_});
  }

  Instance generate(Variant variant, std::uint64_t seed, std::uint64_t index) const override {
    RUNG_REQUIRE(supports(variant), "khop {}", variant_name(variant));
    Draw drawn(variant, seed, index);
    std::vector<std::int64_t> s;
    if (variant == Variant::adversarial)
      s = chain(drawn.random, drawn.flipped);
    else
      for (std::int64_t t = 0; t < n_; ++t)
        s.push_back(different_ && t > 0 ? other_than(drawn.random, s.back(), sigma_)
                                        : draw(drawn.random, variant, sigma_));
    Instance instance = token_instance(std::move(s), {});
    instance.answer = answer(instance.prompt);
    return instance;
  }

  std::vector<std::int64_t> answer(const Prompt& prompt) const override {
    std::vector<std::int64_t> answers;
    for (const auto start : query_positions()) {
      std::int64_t place = start;
      for (std::int64_t hop = 0; hop < hops_ && place >= 0; ++hop) place = step(prompt, place);
      answers.push_back(place >= 0 ? prompt.token(place) : sigma_);
    }
    return answers;
  }

  Result<void> validate(const Prompt& prompt) const override {
    RUNG_CHECK(TokenTask::validate(prompt));
    for (std::int64_t t = 1; different_ && t < n_; ++t)
      if (prompt.token(t) == prompt.token(t - 1))
        return fail(ErrorCode::format,
                    "[task] a khop prompt has {} at positions {} and {}; expected different neighbours",
                    prompt.token(t), t - 1, t);
    return {};
  }
  std::int64_t choices(const Prompt& prefix) const override {
    return TokenTask::choices(prefix) - (different_ && prefix.positions > 0 ? 1 : 0);
  }
  void extend(Prompt& prefix, std::int64_t choice) const override {
    const bool passes = different_ && prefix.positions > 0 && choice >= prefix.fields[0].back();
    TokenTask::extend(prefix, choice + (passes ? 1 : 0));
  }

  std::string answer_text(std::span<const std::int64_t> answer) const override {
    std::string out;
    for (const auto a : answer) {
      if (!out.empty()) out += ' ';
      out += a == sigma_ ? "none" : std::to_string(a);
    }
    return out;
  }

 protected:
  std::int64_t vocabulary() const override { return sigma_; }
  Range range(std::int64_t) const override { return {0, sigma_}; }

 private:
  static std::int64_t step(const Prompt& prompt, std::int64_t place) {
    for (std::int64_t before = place - 1; before >= 0; --before)
      if (prompt.token(before) == prompt.token(place)) return before + 1;
    return -1;
  }

  // Read from the end, the hops go back through pairs "x y" whose symbols alternate between two; the pair
  // that is reached last ends in the answer, which the flipped instance exchanges. Further symbols fill the
  // gaps where σ > 2; otherwise everything left over stands in front, where no hop comes.
  std::vector<std::int64_t> chain(Random& random, bool flipped) const {
    const std::int64_t used = std::min<std::int64_t>(sigma_, 16);
    const auto role = distinct(random, used, sigma_);
    const auto gap_symbol = [&](bool front) {
      const std::int64_t from = front || used == 2 ? 0 : 2;
      return role[static_cast<std::size_t>(from + draw(random, Variant::uniform, used - from))];
    };
    // The symbol before the answer cannot be the answer: the last hop would stop one place later. (With two
    // symbols and one hop it stops at the end itself, which holds the same symbol.)
    std::vector<std::int64_t> possible = role;
    if (used > 2) possible.erase(possible.begin() + (hops_ - 1) % 2);
    const auto two = distinct(random, 2, static_cast<std::int64_t>(possible.size()));
    const std::int64_t answer = possible[static_cast<std::size_t>(two[flipped ? 1 : 0])];
    // Gaps before each pair, before the last symbol, and in front.
    std::int64_t spare = n_ - (2 * hops_ + 1);
    std::vector<std::int64_t> s = {role[0]};  // written backwards
    for (std::int64_t hop = 0; hop < hops_; ++hop) {
      if (used > 2 && spare > 0) {
        const std::int64_t gap = random.between(0, std::min(spare, 2 * n_ / (hops_ + 1)));
        for (std::int64_t i = 0; i < gap; ++i) s.push_back(gap_symbol(false));
        spare -= gap;
      }
      s.push_back(hop + 1 == hops_ ? answer : role[static_cast<std::size_t>((hop + 1) % 2)]);
      s.push_back(role[static_cast<std::size_t>(hop % 2)]);
    }
    while (spare-- > 0) s.push_back(gap_symbol(true));
    std::reverse(s.begin(), s.end());
    return s;
  }

  std::int64_t n_, hops_, sigma_;
  bool everywhere_, different_;
};

}  // namespace

TaskWord khop_word() {
  TaskWord word{
      .name = "khop",
      .summary = "n symbols -> the symbol reached by k steps of induction from the last place",
      .sizes = {{"n", "symbols", 8, 1, kMaxPromptLength},
                {"k", "hops", 2, 1, kMaxPromptLength},
                {"sigma", "alphabet", 4, 1, kMaxAlphabet - 1}},
      .make = [](const TaskSizes& sizes, const TaskOptions& options) -> Result<std::unique_ptr<Task>> {
        const auto says = [&](const std::string& option, std::string_view value) {
          const auto found = options.find(option);
          return found != options.end() && found->second == value;
        };
        const bool different = says("neighbours", "different");
        if (different && sizes.at("sigma") == 1)
          return fail(ErrorCode::range,
                      "[task] khop with different neighbours and sigma = 1; expected 2 or more");
        return new_task<KhopTask>(sizes.at("n"), sizes.at("k"), sizes.at("sigma"), says("read", "all"),
                                  different);
      }};
  word.options = {{"read", "where answers are read: at the last place, or at every one", {"last", "all"}},
                  {"neighbours", "whether a symbol may stand beside itself", {"any", "different"}}};
  return word;
}

}  // namespace rung
