// Forms of a task: its options and its variants. A theorem speaks about the forms that it names and about no
// other, and what it says is never more than an exact count of classes allows.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "rung/capacity/capacity.h"
#include "rung/capacity/prefix_tree.h"
#include "tests/theory/asked.h"

namespace rung {
namespace {

const std::vector<std::string>& form_stacks() {
  static const std::vector<std::string> all = {"identity",
                                               "linear",
                                               "linear(normalised=no,feature=identity)*2",
                                               "rnn",
                                               "loglinear",
                                               "sparse(B=2,k=1,form=plain)",
                                               "full",
                                               "full*3",
                                               "full+linear",
                                               "linear+full*2",
                                               "heads(full:2,linear:2)*2",
                                               "(delta(form=plain)+full)*4"};
  return all;
}

// Every choice of options, complete.
std::vector<std::map<std::string, std::string>> all_options(const TaskWord& word) {
  std::vector<std::map<std::string, std::string>> all{{}};
  for (const auto& option : word.options) {
    std::vector<std::map<std::string, std::string>> more;
    for (const auto& chosen : all)
      for (const auto value : option.words) {
        auto with = chosen;
        with[std::string(option.name)] = value;
        more.push_back(std::move(with));
      }
    all = std::move(more);
  }
  return all;
}

std::vector<std::optional<Variant>> all_variants() {
  std::vector<std::optional<Variant>> all{std::nullopt};
  for (const Variant variant : kEveryVariant) all.emplace_back(variant);
  return all;
}

bool form_named(const Theorem& theorem, const Question& question) {
  for (const auto& [option, word] : question.options) {
    bool named = false;
    for (const auto& values : theorem.options) {
      named = named || (values.option == option && values.words.empty());
      for (const auto value : values.words) named = named || (values.option == option && value == word);
    }
    if (!named) return false;
  }
  return !question.variant || std::find(theorem.variants.begin(), theorem.variants.end(),
                                        *question.variant) != theorem.variants.end();
}

TEST(task_form, is_named_by_every_theorem_option_by_option) {
  for (const auto& theorem : theorems()) {
    std::set<std::string_view> known;
    for (const auto task : theorem.tasks) {
      const TaskWord& word = **find_task_word(task);
      for (const auto& option : word.options) {
        known.insert(option.name);
        const auto found = std::find_if(theorem.options.begin(), theorem.options.end(),
                                        [&](const auto& values) { return values.option == option.name; });
        ASSERT_NE(found, theorem.options.end()) << theorem.id << " does not name " << option.name;
        // Whatever an open option is, or some of its words; one with a list is gone through word by word.
        EXPECT_TRUE(option.open || !found->words.empty()) << theorem.id;
        for (const auto value : found->words)
          EXPECT_NE(std::find(option.words.begin(), option.words.end(), value), option.words.end())
              << theorem.id << " " << value;
      }
    }
    for (const auto& values : theorem.options)
      EXPECT_TRUE(known.contains(values.option)) << theorem.id << " " << values.option;
  }
}

TEST(task_form, that_a_theorem_does_not_name_leaves_it_open_with_the_reason) {
  std::size_t refused = 0, spoken = 0;
  std::vector<std::pair<std::string, Setting>> settings;
  for (const auto& line : form_stacks())
    settings.emplace_back(line, Asked().width(64).heads(4).bits(8).context(64).setting(line));
  for (const auto& theorem : theorems())
    for (const auto task : theorem.tasks) {
      const TaskWord& word = **find_task_word(task);
      for (const auto& options : all_options(word))
        for (const auto& variant : all_variants()) {
          const auto question = make_question(task, {}, 64, false, {options, variant});
          if (!question) continue;  // a variant that the task does not have
          EXPECT_EQ(question->options, options);
          for (const auto& [line, setting] : settings) {
            const auto v = apply(theorem, setting, *question);
            if (form_named(theorem, *question)) {
              spoken += v.has_value();
              continue;
            }
            ++refused;
            ASSERT_TRUE(v) << theorem.id;
            EXPECT_EQ(v->outcome, Outcome::open) << theorem.id << " " << line;
            EXPECT_FALSE(v->left || v->right || v->horizon || v->margin) << theorem.id;
            bool said = false;
            for (const auto& h : v->hypotheses) {
              EXPECT_FALSE(h.holds);
              for (const auto& [option, value] : options)
                said = said || h.numbers == "asked with " + option + " = " + value;
              said = said || h.numbers.starts_with("asked about those of variant ");
            }
            EXPECT_TRUE(said) << theorem.id;
          }
        }
    }
  EXPECT_GT(refused, 1000u);
  EXPECT_GT(spoken, 1000u);
}

std::optional<Verdict> always_impossible(const Theorem& theorem, const Setting&, const Question& question) {
  Verdict v = verdict_of(theorem, question);
  v.outcome = Outcome::impossible;
  return v;
}

TEST(task_form, is_judged_outside_the_theorem) {
  const std::vector<OptionValues> kLast{{"read", {"last"}}, {"neighbours", {"any"}}};
  const auto setting = Asked().setting("rnn");
  const auto ask = [&](const std::vector<OptionValues>& options, const std::vector<Variant>& variants,
                       const QuestionForm& form) {
    const Theorem careless{.id = "careless",
                           .tasks = {"khop"},
                           .options = options,
                           .variants = variants,
                           .evaluate = always_impossible};
    return apply(careless, setting, *make_question("khop", {}, 64, false, form))->outcome;
  };
  EXPECT_EQ(ask({}, {}, {}), Outcome::open);  // not even the default, unless it is named
  EXPECT_EQ(ask(kLast, {}, {}), Outcome::impossible);
  EXPECT_EQ(ask(kLast, {}, {.options = {{"read", "all"}}}), Outcome::open);
  EXPECT_EQ(ask(kLast, {}, {.options = {{"neighbours", "different"}}}), Outcome::open);
  EXPECT_EQ(ask({{"order", {"last", "all"}}}, {}, {}), Outcome::open);
  EXPECT_EQ(ask(kLast, {}, {.variant = Variant::uniform}), Outcome::open);
  EXPECT_EQ(ask(kLast, {Variant::uniform}, {.variant = Variant::uniform}), Outcome::impossible);
}

TEST(task_form, easy_order_is_refuted_by_nothing) {
  // Three bits suffice at this size (rung capacity); in the hard order sixteen do not.
  auto asked = Asked().bits(5);
  const TaskSizes sizes{{"m", 2}, {"n1", 2}};
  const std::string line = "recurrent(kind=any,elements=1)";
  EXPECT_EQ(asked.outcome(line, "seqcomp", sizes), Outcome::impossible);
  EXPECT_EQ(asked.with("order", "hard").outcome(line, "seqcomp", sizes), Outcome::impossible);
  const auto v = asked.with("order", "easy").on(line, "seqcomp", sizes);
  EXPECT_EQ(v.outcome, Outcome::open);
  EXPECT_EQ(v.hypotheses.front().text, "order = hard");
  EXPECT_EQ(v.hypotheses.front().numbers, "asked with order = easy");
}

TEST(task_form, read_everywhere_is_harder_and_the_average_then_asks_for_tokens_to_come) {
  auto asked = Asked().width(512).heads(1).bits(12, 6);
  const TaskSizes sizes{{"n", 16}};
  EXPECT_EQ(asked.with("read", "last").outcome("none+full", "sparse-average", sizes), Outcome::possible);
  const auto v = asked.with("read", "all").on("full", "sparse-average", sizes);
  EXPECT_EQ(v.outcome, Outcome::impossible);
  EXPECT_EQ(v.theorem, "causal-sparse-average");
  EXPECT_EQ(Asked(asked).encoder().outcome("full", "sparse-average", sizes), Outcome::open);
  EXPECT_EQ(asked.on("full", "sparse-average", {{"n", 1}}).outcome, Outcome::open);
  auto hops = Asked().bits(2);
  for (const char* read : {"last", "all"})
    EXPECT_EQ(
        hops.with("read", read).outcome("recurrent(kind=any,elements=1)", "khop", {{"n", 40}, {"sigma", 16}}),
        Outcome::impossible)
        << read;
}

TEST(task_form, refuses_options_and_variants_that_the_task_does_not_have) {
  EXPECT_FALSE(make_question("eva", {}, 64, false, {.options = {{"order", "easy"}}}));
  EXPECT_FALSE(make_question("seqcomp", {}, 64, false, {.options = {{"order", "upside-down"}}}));
  EXPECT_TRUE(make_question("eva", {}, 64, true, {.options = {{"order", "easy"}}}));  // for --task all
  EXPECT_FALSE(make_question("khop", {}, 64, false, {.variant = Variant::permutation}));
}

// All sizes of a task up to a few, whose prompts can be listed.
std::vector<TaskSizes> tiny_sizes(const TaskWord& word, double most_prompts) {
  std::vector<TaskSizes> all{{}}, fit;
  for (const auto& size : word.sizes) {
    if (word.name == "seqcomp" && size.name != "L" && size.name != "m" && size.name != "n1") continue;
    std::vector<std::int64_t> values{1, 2, 3, 4, 5};
    if (size.name == "f") values = {0, 1};
    if (size.name == "L") values = {1, 2};
    std::vector<TaskSizes> more;
    for (const auto& chosen : all)
      for (const auto value : values) {
        if (value < size.low) continue;
        auto with = chosen;
        with[std::string(size.name)] = value;
        more.push_back(std::move(with));
      }
    all = std::move(more);
  }
  for (const auto& sizes : all)
    if (const auto task = make_task(word.name, sizes);
        task && static_cast<double>(estimated_prompts(**task)) <= most_prompts)
      fit.push_back(sizes);
  return fit;
}

// One opaque recurrence with exactly this many state bits. Made once: the tests below ask for few, very often.
const Setting& recurrence_of(int bits, bool thought) {
  static std::map<std::pair<int, bool>, Setting> made;
  const auto found = made.find({bits, thought});
  if (found != made.end()) return found->second;
  Asked asked;
  if (thought) asked.thought();
  asked.options.storage.state = bits;
  return made.emplace(std::pair(bits, thought), asked.setting("recurrent(kind=any,elements=1)"))
      .first->second;
}

TEST(task_form, is_never_called_impossible_with_as_many_bits_as_it_has_classes) {
  std::size_t compared = 0, impossible = 0, tight = 0;
  for (const auto& word : task_words())
    for (const auto& sizes : tiny_sizes(word, 1500))
      for (const auto& options : all_options(word)) {
        const auto task = make_task(word.name, sizes, options);
        if (!task) continue;                              // a size that this form of the task does not have
        if (estimated_prompts(**task) > 20000) continue;  // words over a large group
        const auto counted = count_capacity(**task, {});
        const auto question = make_question(word.name, sizes, 64, false, {options, {}});
        ASSERT_TRUE(question) << question.error().message;
        if (!counted) {  // an answer depends on tokens that come later: no causal model
          EXPECT_EQ(word.name, "sparse-average") << counted.error().message;
          EXPECT_NE(decide(Asked().width(512).bits(12, 6).setting("full"), *question).outcome,
                    Outcome::possible);
          continue;
        }
        int needed = 0;  // states that suffice at every cut
        for (const CutCapacity& cut : counted->cuts) {
          ASSERT_TRUE(cut.upper) << word.name;
          needed = std::max(needed, static_cast<int>(class_bits(*cut.upper)));
        }
        for (const bool thought : {false, true})
          for (int bits = std::max(1, needed - 2); bits <= needed + 1; ++bits) {
            const auto v = decide(recurrence_of(bits, thought), *question);
            ++compared;
            impossible += v.outcome == Outcome::impossible;
            tight += v.outcome == Outcome::impossible && bits == needed - 1;
            if (bits >= needed) {
              EXPECT_NE(v.outcome, Outcome::impossible)
                  << word.name << " " << (*task)->size().dump() << " " << v.theorem << ": " << bits << " of "
                  << needed << " bits";
            }
            EXPECT_NE(v.outcome, Outcome::possible) << word.name;  // nobody builds an opaque recurrence
          }
      }
  EXPECT_GT(compared, 2000u);
  EXPECT_GT(impossible, 300u);
  EXPECT_GT(tight, 100u);
}

// The prefixes of the prompts that a variant draws, told apart by their continuations and answers: so many
// states suffice, for prefixes with equal rows go on alike.
std::size_t rows_of_variant(const Task& task, Variant variant) {
  constexpr std::uint64_t kDrawn = 3000;
  std::map<Prompt, std::vector<std::int64_t>, bool (*)(const Prompt&, const Prompt&)> support(
      [](const Prompt& a, const Prompt& b) { return a.fields < b.fields; });
  for (std::uint64_t i = 0; i < kDrawn; ++i) {
    const Instance instance = task.generate(variant, 7, i);
    support[instance.prompt] = instance.answer;
  }
  std::size_t most = 1;
  for (std::int64_t cut = 1; cut < task.prompt_length(); ++cut) {
    std::map<std::string, std::set<std::string>> rows;
    for (const auto& [prompt, answer] : support) {
      std::string before, after;
      for (const auto& field : prompt.fields) {
        const auto each = static_cast<std::ptrdiff_t>(field.size()) / prompt.positions;
        for (std::ptrdiff_t i = 0; i < static_cast<std::ptrdiff_t>(field.size()); ++i)
          (i < cut * each ? before : after) += std::to_string(field[static_cast<std::size_t>(i)]) + " ";
      }
      for (const auto number : answer) after += "> " + std::to_string(number);
      rows[before].insert(after);
    }
    std::set<std::set<std::string>> distinct;
    for (auto& [before, row] : rows) distinct.insert(std::move(row));
    most = std::max(most, distinct.size());
  }
  return most;
}

TEST(task_form, of_a_variant_is_judged_by_the_prompts_that_it_draws) {
  std::size_t compared = 0, impossible = 0;
  for (const auto& word : task_words())
    for (const auto& sizes : tiny_sizes(word, 250)) {
      const auto options = word.name == "sparse-average"
                               ? std::map<std::string, std::string>{{"read", "last"}}
                               : std::map<std::string, std::string>{};
      const auto task = make_task(word.name, sizes, options);
      ASSERT_TRUE(task);
      for (const Variant variant : kEveryVariant) {
        const auto question = make_question(word.name, sizes, 64, false, {options, variant});
        if (!question) continue;
        const auto suffice =
            static_cast<int>(class_bits(static_cast<std::int64_t>(rows_of_variant(**task, variant))));
        for (int bits = std::max(1, suffice - 2); bits <= suffice + 1; ++bits) {
          const auto v = decide(recurrence_of(bits, false), *question);
          ++compared;
          impossible += v.outcome == Outcome::impossible;
          if (bits >= suffice) {
            EXPECT_NE(v.outcome, Outcome::impossible)
                << word.name << " " << (*task)->size().dump() << " " << variant_name(variant) << " "
                << v.theorem << ": " << bits << " bits";
          }
        }
      }
    }
  EXPECT_GT(compared, 500u);
  EXPECT_GT(impossible, 50u);
}

TEST(task_form, of_permutations_needs_fewer_bits_than_of_functions) {
  // 3! = 6 permutations, 27 functions.
  const auto outcome = [](int bits, std::optional<Variant> variant) {
    return decide(recurrence_of(bits, false), *make_question("eva", {{"n", 3}}, 64, false, {{}, variant}))
        .outcome;
  };
  EXPECT_EQ(outcome(4, std::nullopt), Outcome::impossible);
  EXPECT_EQ(outcome(4, Variant::uniform), Outcome::impossible);
  EXPECT_EQ(outcome(4, Variant::zipf), Outcome::impossible);
  EXPECT_EQ(outcome(4, Variant::permutation), Outcome::open);
  EXPECT_EQ(outcome(4, Variant::adversarial), Outcome::open);
}

}  // namespace
}  // namespace rung
