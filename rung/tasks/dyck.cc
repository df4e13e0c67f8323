// Dyck-(k,D): n brackets of k types → 1 iff well nested with depth at most D; read at the last bracket. Token
// ids: opening brackets are [k], the closing one of type i is k+i. Answers are balanced by a coin where n is
// even. 1: a walk that chooses evenly among the moves from which it can still close in time; 0: brackets
// drawn until they are no such word. Adversarial: a well-nested word, or the same with one closing bracket
// exchanged for one of another type (k = 1: turned round).
#include "rung/tasks/sampling.h"
#include "rung/tasks/task_list.h"
#include "rung/tasks/token_task.h"

namespace rung {
namespace {

class DyckTask final : public TokenTask {
 public:
  DyckTask(std::int64_t n, std::int64_t types, std::int64_t depth) : n_(n), types_(types), depth_(depth) {}

  std::string_view name() const override { return "dyck"; }
  SizeList size() const override { return {{"n", n_}, {"k", types_}, {"depth", depth_}}; }
  AnswerSpec answer_spec() const override { return boolean_answer(); }
  std::int64_t prompt_length() const override { return n_; }
  bool supports(Variant variant) const override {
    return supported(variant, {.permutation = false, .adversarial = n_ % 2 == 0});
  }

  Instance generate(Variant variant, std::uint64_t seed, std::uint64_t index) const override {
    RUNG_REQUIRE(supports(variant), "dyck {}", variant_name(variant));
    Draw drawn(variant, seed, index);
    Random& random = drawn.random;
    if (variant == Variant::adversarial) {
      auto word = walk(random, variant);
      std::int64_t& bracket = word[closing_place(random, word)];
      const std::int64_t exchanged = types_ == 1 ? 0 : types_ + other_than(random, bracket - types_, types_);
      if (drawn.flipped) bracket = exchanged;
      return token_instance(std::move(word), {drawn.flipped ? 0 : 1});
    }
    if (n_ % 2 == 0 && coin(random)) return token_instance(walk(random, variant), {1});
    std::vector<std::int64_t> word(static_cast<std::size_t>(n_));
    do
      for (auto& bracket : word) bracket = draw(random, variant, 2 * types_);
    while (well_nested(word));
    return token_instance(std::move(word), {0});
  }

  std::vector<std::int64_t> answer(const Prompt& prompt) const override {
    return {well_nested(prompt.fields[0]) ? 1 : 0};
  }

  std::string symbol(std::size_t, std::int64_t value) const override {
    constexpr std::string_view kOpen = "([{<", kClose = ")]}>";
    const std::int64_t type = value % types_;
    if (types_ <= static_cast<std::int64_t>(kOpen.size()))
      return std::string(1, (value < types_ ? kOpen : kClose)[static_cast<std::size_t>(type)]);
    return fmt::format("{}{}", value < types_ ? '(' : ')', type);
  }

 protected:
  std::int64_t vocabulary() const override { return 2 * types_; }
  Range range(std::int64_t) const override { return {0, 2 * types_}; }

 private:
  bool well_nested(const std::vector<std::int64_t>& word) const {
    std::vector<std::int64_t> open;
    for (const auto bracket : word) {
      if (bracket < types_) {
        open.push_back(bracket);
        if (static_cast<std::int64_t>(open.size()) > depth_) return false;
      } else {
        if (open.empty() || open.back() != bracket - types_) return false;
        open.pop_back();
      }
    }
    return open.empty();
  }

  std::vector<std::int64_t> walk(Random& random, Variant variant) const {
    std::vector<std::int64_t> word, open;
    for (std::int64_t left = n_; left > 0; --left) {
      const auto height = static_cast<std::int64_t>(open.size());
      const bool may_open = height < depth_ && height + 1 <= left - 1;
      const bool may_close = height > 0;
      if (may_open && (!may_close || coin(random))) {
        open.push_back(draw(random, variant, types_));
        word.push_back(open.back());
      } else {
        word.push_back(types_ + open.back());
        open.pop_back();
      }
    }
    return word;
  }

  std::size_t closing_place(Random& random, const std::vector<std::int64_t>& word) const {
    std::uint64_t which = random.below(word.size() / 2);
    for (std::size_t t = 0;; ++t)
      if (word[t] >= types_ && which-- == 0) return t;
  }

  std::int64_t n_, types_, depth_;
};

}  // namespace

TaskWord dyck_word() {
  return {.name = "dyck",
          .summary = "n brackets of k types -> 1 iff well nested with depth at most `depth`",
          .sizes = {{"n", "brackets", 8, 1, kMaxPromptLength},
                    {"k", "types of brackets", 2, 1, kMaxAlphabet / 2},
                    {"depth", "greatest depth", 2, 1, kMaxPromptLength}},
          .make = [](const TaskSizes& sizes, const TaskOptions&) {
            return new_task<DyckTask>(sizes.at("n"), sizes.at("k"), sizes.at("depth"));
          }};
}

}  // namespace rung
