// Tracked recall: pairs (i, f(i)) of [n] × [σ] in any order, then w letters that move a mark on [n], then `=` → f(x),
// where x is the place of the mark, which starts at 0. Memory and tracking at once; no positions are needed. Prior work:
// state-based recall, Merrill et al. 2604.03444.
//
// One position a pair, a letter or `=`: fields `key` ([n]; a letter's number at letters, 0 at `=`), `value` ([σ], and σ
// as the blank) and `role` (0 pair, 1 letter, 2 `=`). Letter 0 leaves the mark where it is; the others generate the
// group: symmetric, letter i exchanges i - 1 and i; cyclic, letter 1 adds 1 modulo n; xor (n a power of two), letter i
// turns bit i - 1.
#include <algorithm>
#include <bit>
#include <numeric>

#include "rung/tasks/proper_names.h"
#include "rung/tasks/sampling.h"
#include "rung/tasks/token_task.h"
#include "rung/tasks/tracked_group.h"

namespace rung {
namespace {

constexpr std::int64_t kPairRole = 0, kLetterRole = 1, kEndRole = 2;

class TrackedRecallTask final : public Task {
 public:
  TrackedRecallTask(std::int64_t n, std::int64_t sigma, std::int64_t word, TrackedGroup group)
      : n_(n), sigma_(sigma), word_(word), group_(group), letters_(tracked_letters(group, n)) {}

  std::string_view name() const override { return "tracked-recall"; }
  SizeList size() const override { return {{"n", n_}, {"sigma", sigma_}, {"w", word_}}; }
  TaskOptions options() const override {
    if (group_ == TrackedGroup::symmetric) return {};
    return {{"group", std::string(name_of(group_))}};
  }
  std::vector<FieldSpec> fields() const override {
    return {{.name = "key", .size = std::max(n_, letters_)},
            {.name = "value", .size = sigma_ + 1},
            {.name = "role", .size = 3}};
  }
  AnswerSpec answer_spec() const override { return token_answer(sigma_); }
  std::int64_t prompt_length() const override { return n_ + word_ + 1; }
  std::vector<std::int64_t> query_positions() const override { return {n_ + word_}; }
  // Permutation: all values different.
  bool supports(Variant variant) const override {
    return supported(variant, {.permutation = sigma_ >= n_, .adversarial = sigma_ >= 2});
  }

  // Adversarial: all values equal except that of the place where the mark ends; the pair exchanges the two.
  Instance generate(Variant variant, std::uint64_t seed, std::uint64_t index) const override {
    RUNG_REQUIRE(supports(variant), "tracked-recall {}", variant_name(variant));
    Draw drawn(variant, seed, index);
    Random& random = drawn.random;
    std::vector<std::int64_t> key(static_cast<std::size_t>(n_)), value(key.size());
    std::iota(key.begin(), key.end(), 0);
    random.shuffle(key);
    std::int64_t mark = 0;
    std::vector<std::int64_t> word(static_cast<std::size_t>(word_));
    for (auto& letter : word) {
      letter = draw(random, variant, letters_);
      mark = tracked_step(group_, n_, letter, mark);
    }
    const auto asked = static_cast<std::size_t>(std::find(key.begin(), key.end(), mark) - key.begin());
    if (variant == Variant::permutation) {
      value = distinct(random, n_, sigma_);
    } else if (variant == Variant::adversarial) {
      std::int64_t common = draw(random, variant, sigma_), odd = other_than(random, common, sigma_);
      if (drawn.flipped) std::swap(common, odd);
      std::fill(value.begin(), value.end(), common);
      value[asked] = odd;
    } else {
      for (auto& v : value) v = draw(random, variant, sigma_);
    }
    const std::int64_t answer = value[asked];
    key.insert(key.end(), word.begin(), word.end());
    key.push_back(0);
    value.resize(key.size(), sigma_);
    std::vector<std::int64_t> role(static_cast<std::size_t>(n_), kPairRole);
    role.resize(key.size() - 1, kLetterRole);
    role.push_back(kEndRole);
    return {Prompt{prompt_length(), {std::move(key), std::move(value), std::move(role)}}, {answer}};
  }

  std::vector<std::int64_t> answer(const Prompt& prompt) const override {
    const auto& key = prompt.fields[0];
    std::int64_t mark = 0;
    for (std::int64_t t = n_; t < n_ + word_; ++t)
      mark = tracked_step(group_, n_, key[static_cast<std::size_t>(t)], mark);
    const auto found = std::find(key.begin(), key.begin() + n_, mark) - key.begin();
    RUNG_REQUIRE(found < n_, "key {} is not there", mark);
    return {prompt.fields[1][static_cast<std::size_t>(found)]};
  }

  Result<void> validate(const Prompt& prompt) const override {
    RUNG_CHECK(validate_shape(*this, prompt));
    for (std::int64_t t = 0; t < prompt_length(); ++t) {
      const auto at = static_cast<std::size_t>(t);
      const std::int64_t role = role_at(t), size = role == kPairRole     ? n_
                                                   : role == kLetterRole ? letters_
                                                                         : 1;
      if (prompt.fields[2][at] != role)
        return fail(ErrorCode::format,
                    "[task] role {} at position {} of a tracked-recall prompt; expected {}",
                    prompt.fields[2][at], t, role);
      if (prompt.fields[0][at] >= size)
        return fail(ErrorCode::format,
                    "[task] key {} at position {} of a tracked-recall prompt; expected 0 to {}",
                    prompt.fields[0][at], t, size - 1);
      if ((prompt.fields[1][at] == sigma_) != (role != kPairRole))
        return fail(
            ErrorCode::format,
            "[task] value {} at position {} of a tracked-recall prompt; expected the blank {} outside pairs",
            prompt.fields[1][at], t, sigma_);
    }
    auto sorted = sorted_keys(prompt);
    if (const auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end())
      return fail(ErrorCode::format, "[task] key {} twice in a tracked-recall prompt; expected each once",
                  *twice);
    return {};
  }

  // Pairs in order of (key, value) over the keys not used yet, then letters in order.
  std::int64_t choices(const Prompt& prefix) const override {
    switch (role_at(prefix.positions)) {
      case kPairRole: {
        std::int64_t count = 0;
        return __builtin_mul_overflow(n_ - prefix.positions, sigma_, &count) ? 0 : count;
      }
      case kLetterRole:
        return letters_;
      default:
        return 1;
    }
  }
  void extend(Prompt& prefix, std::int64_t choice) const override {
    RUNG_REQUIRE(choice >= 0 && choice < choices(prefix), "choice={}", choice);
    const std::int64_t role = role_at(prefix.positions);
    std::int64_t key = role == kPairRole ? choice / sigma_ : choice;
    if (role == kPairRole)
      for (const auto taken : sorted_keys(prefix)) key += taken <= key ? 1 : 0;
    prefix.fields[0].push_back(key);
    prefix.fields[1].push_back(role == kPairRole ? choice % sigma_ : sigma_);
    prefix.fields[2].push_back(role);
    ++prefix.positions;
  }

  std::string text(const Prompt& prompt) const override {
    std::string out;
    for (std::size_t t = 0; t < static_cast<std::size_t>(n_); ++t)
      out += fmt::format("{}:{} ", prompt.fields[0][t], prompt.fields[1][t]);
    for (std::int64_t t = n_; t < n_ + word_; ++t)
      out += fmt::format("g{} ", prompt.fields[0][static_cast<std::size_t>(t)]);
    return out + "=";
  }

  // Keys are people, values are towns; a ball goes from hand to hand.
  std::optional<Language> language(const Instance& instance) const override {
    if (group_ != TrackedGroup::symmetric) return std::nullopt;
    const auto& prompt = instance.prompt;
    std::string out;
    for (std::size_t t = 0; t < static_cast<std::size_t>(n_); ++t)
      out += fmt::format("The {} of {} is {}. ", kHomeWord, entity_name(0, prompt.fields[0][t]),
                         entity_name(1, prompt.fields[1][t]));
    out += fmt::format("{} has the ball. ", entity_name(0, 0));
    for (std::int64_t t = n_; t < n_ + word_; ++t) {
      const std::int64_t letter = prompt.fields[0][static_cast<std::size_t>(t)];
      out += letter == 0 ? "Nothing happens. "
                         : fmt::format("{} and {} exchange what they have. ", entity_name(0, letter - 1),
                                       entity_name(0, letter));
    }
    out += fmt::format("What is the {} of the one who has the ball?", kHomeWord);
    return Language{std::move(out), entity_name(1, instance.answer.front())};
  }

 private:
  std::int64_t role_at(std::int64_t position) const {
    return position < n_ ? kPairRole : position < n_ + word_ ? kLetterRole : kEndRole;
  }
  std::vector<std::int64_t> sorted_keys(const Prompt& prompt) const {
    std::vector<std::int64_t> sorted(prompt.fields[0].begin(),
                                     prompt.fields[0].begin() + std::min(prompt.positions, n_));
    std::sort(sorted.begin(), sorted.end());
    return sorted;
  }

  std::int64_t n_, sigma_, word_;
  TrackedGroup group_;
  std::int64_t letters_;
};

Result<std::unique_ptr<Task>> make_tracked_recall(const TaskSizes& sizes, const TaskOptions& options) {
  const std::int64_t n = sizes.at("n");
  const auto found = options.find("group");
  const TrackedGroup group = found == options.end() ? TrackedGroup::symmetric : tracked_group(found->second);
  if (group == TrackedGroup::bits && !std::has_single_bit(static_cast<std::uint64_t>(n)))
    return fail(ErrorCode::range, "[task] n = {} of tracked-recall with group xor; expected a power of two",
                n);
  return new_task<TrackedRecallTask>(n, size_or(sizes, "sigma", n), sizes.at("w"), group);
}

}  // namespace

std::int64_t tracked_letters(TrackedGroup group, std::int64_t n) {
  switch (group) {
    case TrackedGroup::symmetric:
      return n;
    case TrackedGroup::cyclic:
      return 2;
    case TrackedGroup::bits:
      return std::bit_width(static_cast<std::uint64_t>(n));
  }
  return 0;
}

std::int64_t tracked_step(TrackedGroup group, std::int64_t n, std::int64_t letter, std::int64_t mark) {
  if (letter == 0) return mark;
  switch (group) {
    case TrackedGroup::symmetric:
      return mark == letter ? letter - 1 : mark == letter - 1 ? letter : mark;
    case TrackedGroup::cyclic:
      return mark + 1 == n ? 0 : mark + 1;
    case TrackedGroup::bits:
      return mark ^ (std::int64_t{1} << (letter - 1));
  }
  return mark;
}

TaskWord tracked_recall_word() {
  return {.name = "tracked-recall",
          .summary = "pairs (i, f(i)), then w letters that move a mark from 0 to x, then = -> f(x)",
          .sizes = {{"n", "pairs, and places of the mark", 4, 2, kMaxPromptLength / 4},
                    {"sigma", "values; n unless given", std::nullopt, 1, kMaxAlphabet - 1},
                    {"w", "letters of the word", 4, 1, kMaxPromptLength / 2}},
          .make = make_tracked_recall,
          .options = {{.name = "group",
                       .help = "what moves the mark: exchanges of neighbours, a step round, or bits turned "
                               "(n a power of two)",
                       .words = {"symmetric", "cyclic", "xor"}}}};
}

}  // namespace rung
