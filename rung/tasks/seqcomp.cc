// L-SeqComp: compose L functions written out in the prompt (seqcomp_layout.h has sizes and order).
#include "rung/tasks/seqcomp_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "rung/tasks/proper_names.h"
#include "rung/tasks/sampling.h"
#include "rung/tasks/task_list.h"
#include "rung/tasks/token_task.h"

namespace rung {
namespace {

class SeqCompTask final : public TokenTask {
 public:
  explicit SeqCompTask(SeqCompLayout layout) : layout_(std::move(layout)) {}

  std::string_view name() const override { return "seqcomp"; }
  SizeList size() const override {
    SizeList size = {{"L", layout_.levels()}, {"m", layout_.domain(0)}};
    for (std::int64_t l = 1; l < layout_.levels(); ++l) size.add(fmt::format("n{}", l), layout_.branching(l));
    return size;
  }
  TaskOptions options() const override {
    if (layout_.order() == SeqCompLayout::Order::hard) return {};
    return {{"order", "easy"}};
  }
  AnswerSpec answer_spec() const override { return token_answer(last_domain()); }
  std::int64_t prompt_length() const override { return layout_.length(); }
  bool supports(Variant variant) const override {
    return variant != Variant::adversarial || last_domain() >= 2;
  }

  Instance generate(Variant variant, std::uint64_t seed, std::uint64_t index) const override {
    RUNG_REQUIRE(supports(variant), "seqcomp {}", variant_name(variant));
    Draw pair(variant, seed, index);
    Random& random = pair.random;
    std::vector<std::int64_t> tokens(static_cast<std::size_t>(layout_.length()));
    const std::int64_t levels = layout_.levels();
    const auto at = [&](std::int64_t position) -> std::int64_t& {
      return tokens[static_cast<std::size_t>(position)];
    };
    for (std::int64_t l = levels; l >= 1; --l) {
      const std::int64_t domain = layout_.domain(l - 1), base = layout_.table_position(l);
      if (variant == Variant::permutation) {
        const auto values = distinct(random, domain, domain);
        std::copy(values.begin(), values.end(), tokens.begin() + base);
      } else {
        for (std::int64_t j = 0; j < domain; ++j) at(base + j) = draw(random, variant, domain);
      }
    }
    at(layout_.start_position()) = draw(random, variant, layout_.domain(0));
    for (std::int64_t l = 1; l < levels; ++l)
      at(layout_.branch_position(l)) = draw(random, variant, layout_.branching(l));
    at(layout_.equals_position()) = layout_.equals_token();
    Instance instance = token_instance(std::move(tokens), {});
    if (variant == Variant::adversarial) {  // z_L constant except at the true argument
      auto& written = instance.prompt.fields[0];
      std::int64_t common = draw(random, variant, last_domain());
      std::int64_t odd = other_than(random, common, last_domain());
      if (pair.flipped) std::swap(common, odd);
      const std::int64_t base = layout_.table_position(levels);
      std::fill_n(written.begin() + base, last_domain(), common);
      written[static_cast<std::size_t>(base + arguments(instance.prompt).back())] = odd;
    }
    instance.answer = answer(instance.prompt);
    return instance;
  }

  std::vector<std::int64_t> answer(const Prompt& prompt) const override {
    const std::int64_t levels = layout_.levels();
    return {prompt.token(layout_.table_position(levels) + arguments(prompt).back())};
  }

  // u_0 = z_0, u_t = w_t · N_{t-1} + i_t for t < L: the arguments of z_1, …, z_L; then u_L = i_L. L+1 tokens.
  std::optional<std::vector<std::int64_t>> chain_of_thought(const Prompt& prompt) const override {
    auto thoughts = arguments(prompt);
    thoughts.push_back(answer(prompt).front());
    return thoughts;
  }

  std::string symbol(std::size_t, std::int64_t value) const override {
    return value == layout_.equals_token() ? "=" : std::to_string(value);
  }
  std::string text(const Prompt& prompt) const override {
    std::string out;
    for (std::int64_t t = 0; t < prompt.positions; ++t) {
      if (t > 0) out += starts_group(t) ? " | " : " ";
      out += symbol(0, prompt.token(t));
    }
    return out;
  }

  // Facts "The R of E is F.": z_1 gives the homes of people, z_l the relations w of the places that z_{l-1}
  // reached. Places of different levels have different names. The question follows the facts, or comes first
  // in easy order.
  std::optional<Language> language(const Instance& instance) const override {
    const Prompt& prompt = instance.prompt;
    const std::int64_t levels = layout_.levels();
    const bool hard = layout_.order() == SeqCompLayout::Order::hard;
    std::string facts;
    for (std::int64_t step = 1; step <= levels; ++step) {
      const std::int64_t l = hard ? levels + 1 - step : step;
      const std::int64_t entities = l == 1 ? layout_.domain(0) : layout_.domain(l - 2);
      for (std::int64_t argument = 0; argument < layout_.domain(l - 1); ++argument)
        fmt::format_to(std::back_inserter(facts), "{}The {} of {} is {}.", facts.empty() ? "" : " ",
                       relation(l, argument / entities), entity_name(l - 1, argument % entities),
                       entity_name(l, prompt.token(layout_.table_position(l) + argument)));
    }
    std::string question = "What is ";
    for (std::int64_t l = levels; l >= 1; --l)
      question +=
          fmt::format("the {} of ", relation(l, l == 1 ? 0 : prompt.token(layout_.branch_position(l - 1))));
    question += entity_name(0, prompt.token(layout_.start_position())) + "?";
    return Language{hard ? facts + " " + question : question + " " + facts,
                    entity_name(levels, instance.answer.front())};
  }

 protected:
  std::int64_t vocabulary() const override { return last_domain() + 1; }
  Range range(std::int64_t position) const override {
    if (position == layout_.equals_position()) return {layout_.equals_token(), 1};
    if (position == layout_.start_position()) return {0, layout_.domain(0)};
    for (std::int64_t l = 1; l <= layout_.levels(); ++l) {
      const std::int64_t offset = position - layout_.table_position(l);
      if (offset >= 0 && offset < layout_.domain(l - 1)) return {0, layout_.domain(l - 1)};
      if (l < layout_.levels() && position == layout_.branch_position(l)) return {0, layout_.branching(l)};
    }
    RUNG_REQUIRE(false, "position={} of {}", position, layout_.length());
  }

 private:
  std::int64_t last_domain() const { return layout_.domain(layout_.levels() - 1); }  // N_{L-1}

  // The arguments at which z_1, …, z_L are read.
  std::vector<std::int64_t> arguments(const Prompt& prompt) const {
    std::vector<std::int64_t> found = {prompt.token(layout_.start_position())};
    for (std::int64_t l = 1; l < layout_.levels(); ++l) {
      const std::int64_t value = prompt.token(layout_.table_position(l) + found.back());
      found.push_back(prompt.token(layout_.branch_position(l)) * layout_.domain(l - 1) + value);
    }
    return found;
  }

  // The word for w at level l.
  static std::string relation(std::int64_t l, std::int64_t w) {
    return l == 1 ? std::string(kHomeWord) : relation_word(w);
  }

  bool starts_group(std::int64_t position) const {
    if (position == layout_.start_position() || position == layout_.equals_position()) return true;
    for (std::int64_t l = 1; l <= layout_.levels(); ++l)
      if (position == layout_.table_position(l) ||
          (l < layout_.levels() && position == layout_.branch_position(l)))
        return true;
    return false;
  }

  SeqCompLayout layout_;
};

Result<std::unique_ptr<Task>> make_seqcomp(const TaskSizes& sizes, const TaskOptions& options) {
  if (sizes.contains("n") && sizes.contains("m") && sizes.at("n") != sizes.at("m"))
    return fail(ErrorCode::range,
                "[task] n = {} and m = {} of seqcomp; n is another name of m, give one of them",
                sizes.at("n"), sizes.at("m"));
  const std::int64_t m = size_or(sizes, "m", size_or(sizes, "n", 2));
  const std::int64_t levels = sizes.at("L");
  std::vector<std::int64_t> branching;
  for (std::int64_t l = 1; l < kMaxSeqCompLevels; ++l) {
    const std::string name = fmt::format("n{}", l);
    if (l < levels)
      branching.push_back(size_or(sizes, name, 2));
    else if (sizes.contains(name))
      return fail(ErrorCode::range, "[task] seqcomp with L = {} has no size {}; expected {}", levels, name,
                  levels == 1   ? "none of that kind"
                  : levels == 2 ? "n1"
                                : fmt::format("n1 to n{}", levels - 1));
  }
  const auto order = options.contains("order") && options.at("order") == "easy" ? SeqCompLayout::Order::easy
                                                                                : SeqCompLayout::Order::hard;
  RUNG_TRY(auto layout, SeqCompLayout::make(m, std::move(branching), order));
  return new_task<SeqCompTask>(std::move(layout));
}

}  // namespace

TaskWord seqcomp_word() {
  TaskWord word{
      .name = "seqcomp",
      .summary =
          "L functions written out, composed: the values of z_L ... z_1, z_0, w_1 ... w_{L-1}, = -> i_L",
      .sizes = {{"L", "functions", 2, 1, kMaxSeqCompLevels},
                {"m", "N_0, arguments of z_1; 2 unless given", std::nullopt, 1, kMaxPromptLength},
                {"n", "another name of m", std::nullopt, 1, kMaxPromptLength}},
      .make = make_seqcomp};
  static constexpr std::string_view names[] = {"n1", "n2", "n3", "n4", "n5", "n6", "n7"};
  static_assert(std::size(names) == kMaxSeqCompLevels - 1);
  for (const auto name : names)
    word.sizes.push_back({name, "N_l = n_l N_{l-1}; 2 unless given", std::nullopt, 1, kMaxPromptLength});
  word.options = {{"order", "hard: z_L first; easy: w, z_0, z_1 ... z_L", {"hard", "easy"}}};
  return word;
}

}  // namespace rung
