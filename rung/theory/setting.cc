#include "rung/theory/setting.h"

#include <algorithm>

#include "rung/base/require.h"
#include "rung/tasks/user_task.h"

namespace rung {
namespace {

bool knows(const TaskWord& word, std::string_view name) {
  return std::any_of(word.sizes.begin(), word.sizes.end(),
                     [&](const auto& size) { return size.name == name; });
}

bool has_option(const TaskWord& word, std::string_view name) {
  return std::any_of(word.options.begin(), word.options.end(),
                     [&](const auto& option) { return option.name == name; });
}

Result<void> has_variant(const Task& task, const QuestionForm& form) {
  if (!form.variant || task.supports(*form.variant)) return {};
  return fail(ErrorCode::unsupported, "[bound] {} of these sizes has no variant {}", task.name(),
              variant_name(*form.variant));
}

TaskSizes complete(const Task& task) {
  TaskSizes sizes;
  for (const auto& [name, value] : task.size()) sizes[name] = value;
  return sizes;
}

// The largest n whose prompt fits, everything else as given or by default.
Result<std::int64_t> largest_n(const TaskWord& word, const TaskSizes& given, const QuestionForm& form,
                               std::int64_t context) {
  const auto fits = [&](std::int64_t n) {
    TaskSizes sizes = given;
    sizes["n"] = n;
    const auto task = make_task(word.name, sizes, form.options);
    return task && (*task)->prompt_length() <= context;
  };
  // The least sizes that a task accepts may lie above 1 (a modulus, a depth): step over refusals first.
  std::int64_t low = 1;
  while (low < context && !fits(low)) low *= 2;
  if (low >= context && !fits(low))
    return fail(ErrorCode::range, "[bound] no instance of {} has a prompt of at most {} tokens", word.name,
                context);
  std::int64_t high = 2 * context + 2;
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return low;
}

std::shared_ptr<const FollowedAutomaton> followed_by(const Task& task, const std::string& path = {}) {
  if (!task.automaton()) return nullptr;
  auto followed = std::make_shared<FollowedAutomaton>(followed_automaton(*task.automaton()));
  followed->file = !task.built_in() && !find_task_word(task.name());
  followed->path = path;
  return followed;
}

// A user's automaton: its only size is n, its only option `read`.
Result<Question> file_question(const std::string& path, const TaskSizes& given, std::int64_t context,
                               const QuestionForm& form) {
  TaskSizes sizes = given;
  sizes.emplace("n", context - 1);  // with ^
  RUNG_TRY(const auto task, make_task(path, sizes, form.options));
  if (!task->automaton())
    return fail(ErrorCode::unsupported, "[bound] {} is not an automaton; nothing is known about a table",
                path);
  RUNG_CHECK(has_variant(*task, form));
  Question question{.task = std::string(task->name()), .variant = form.variant, .fixed = given.contains("n")};
  question.options = {{"read", "last"}};
  for (const auto& [option, word] : form.options) question.options[option] = word;
  question.sizes = complete(*task);
  question.prompt = task->prompt_length();
  question.followed = followed_by(*task, path);
  return question;
}

Result<Question> seqcomp_question(const TaskWord& word, TaskSizes given, const QuestionForm& form,
                                  std::int64_t context) {
  Question question{.task = std::string(word.name)};
  std::int64_t named = 1;  // L that the n_l imply
  for (std::int64_t l = 1; l < 64; ++l)
    if (given.contains(fmt::format("n{}", l))) named = l + 1;
  question.fixed = named > 1 || given.contains("m") || given.contains("n");
  if (!given.contains("L") && question.fixed) given["L"] = named;
  if (!question.fixed) {
    RUNG_TRY(const auto smallest, make_task(word.name, {}, form.options));  // options that it does not have
    RUNG_CHECK(has_variant(*smallest, form));
    const std::int64_t L = given.contains("L") ? given["L"] : 2;
    if (L < 1 || 2 * L + 1 > context)
      return fail(ErrorCode::range, "[bound] L = {}; expected 1 to {} at {} tokens", L, (context - 1) / 2,
                  context);
    question.L = static_cast<int>(L);
    question.sizes = {{"L", L}};
    question.prompt = context;
    return question;
  }
  RUNG_TRY(const auto task, make_task(word.name, given, form.options));
  RUNG_CHECK(has_variant(*task, form));
  question.sizes = complete(*task);
  question.prompt = task->prompt_length();
  question.L = static_cast<int>(question.sizes.at("L"));
  question.seqcomp.m = question.sizes.at("m");
  for (int l = 1; l < question.L; ++l) question.seqcomp.n.push_back(question.sizes.at(fmt::format("n{}", l)));
  return question;
}

}  // namespace

std::vector<std::string> Setting::widths() const {
  std::vector<std::string> out;
  if (word.full_letters() > 0)
    out.push_back(sum_bits
                      ? fmt::format("partial sums of {} bits", *sum_bits)
                      : fmt::format("an exponent table of {} bits: sums over N tokens of {} + ⌈lg N⌉ bits "
                                    "(numerator) and {} + ⌈lg N⌉ (denominator)",
                                    kExponentBits, kExponentBits + p() + 1, kExponentBits));
  const StateBits state = word.total();
  const bool exact = state.growing > 0 || state.level_growing > 0;
  if (exact)
    out.push_back(fmt::format(
        "exact sums of linear attention: {} + ⌈lg t⌉ bits an entry after t tokens (acc=exact)", 2 * p() - 1));
  if (word.given_entries) out.push_back(fmt::format("state entries of {} bits", entry_bits));
  return out;
}

std::string Setting::mode_x() const {
  if (unknown_format()) return "the number format is not stated";
  return exact_sums()
             ? fmt::format("mode X at {} bits", p())
             : fmt::format("sums in {} are rounded", format_precision(architecture.dimensions.precision));
}

FollowedAutomaton followed_automaton(const Automaton& automaton) {
  FollowedAutomaton followed{.least = minimised(automaton)};
  auto algebra = algebra_of(followed.least);
  if (algebra)
    followed.algebra = std::move(*algebra);
  else
    followed.refused = algebra.error().message;
  return followed;
}

std::int64_t Question::size(const std::string& name) const {
  const auto found = sizes.find(name);
  RUNG_REQUIRE(found != sizes.end(), "{} has no size {}", task, name);
  return found->second;
}

Result<Setting> make_setting(const Architecture& architecture, const SettingOptions& options) {
  Setting setting;
  setting.architecture = architecture;
  setting.assumes = options.assumes;
  if (setting.unknown_format() && options.assume_exact) {
    setting.architecture.dimensions.precision.format = NumberFormat::fixed;
    setting.assumes.push_back(fmt::format("number format not stated, taken for fixed point of {} bits",
                                          architecture.dimensions.precision.bits));
  }
  RUNG_TRY(setting.layers, resolve(architecture));
  const std::int64_t own = architecture.dimensions.context;
  setting.context = options.context.value_or(own > 0 ? std::min(own, kMaxContext) : kDefaultContext);
  if (setting.context < 2 || setting.context > kMaxContext)
    return fail(ErrorCode::range, "[bound] `context` {}; expected 2 to {} tokens", setting.context,
                kMaxContext);
  setting.sum_bits = options.sum_bits;
  if (setting.sum_bits && (*setting.sum_bits < 1 || *setting.sum_bits > kMaxSumBits))
    return fail(ErrorCode::range, "[bound] `sum-bits` {}; expected 1 to {}", *setting.sum_bits, kMaxSumBits);
  const Dimensions& sizes = architecture.dimensions;
  setting.entry_bits =
      options.storage.state.value_or(static_cast<int>(sizes.accumulator_bits.value_or(sizes.precision.bits)));
  setting.storage = options.storage;
  setting.chain_of_thought = options.chain_of_thought;
  setting.assume_exact = options.assume_exact;
  setting.position_period = options.position_period;
  if (setting.position_period && (*setting.position_period < 1 || *setting.position_period > kMaxContext))
    return fail(ErrorCode::range, "[bound] `position-period` {}; expected 1 to {} tokens",
                *setting.position_period, kMaxContext);
  if (setting.position_period && architecture.dimensions.position != PositionCode::none)
    return fail(ErrorCode::unsupported,
                "[bound] `position-period` {} of an architecture with other positions ({})",
                *setting.position_period, position_name(architecture.dimensions.position));
  const auto count = options.count ? options.count : [&](const StorageBits& bits) {
    return account(architecture, setting.layers, bits);
  };
  setting.word = make_word(architecture, setting.layers, options.storage, count, setting.sum_bits);
  return setting;
}

Result<Question> make_question(std::string_view task, const TaskSizes& given, std::int64_t context,
                               bool lenient, const QuestionForm& form) {
  if (is_user_task(task)) return file_question(std::string(task), given, context, form);
  RUNG_TRY(const TaskWord* word, find_task_word(task));
  TaskSizes own;
  for (const auto& [name, value] : given) {
    const bool alias = task == "seqcomp" && name == "n";  // a second name of m: of no concern to --task all
    if (!lenient || (knows(*word, name) && !alias)) own[name] = value;
  }
  QuestionForm asked{.variant = form.variant};
  for (const auto& [name, value] : form.options)
    if (!lenient || has_option(*word, name)) asked.options[name] = value;
  // An option is a part of what is asked, also where nobody named it.
  std::map<std::string, std::string> complete_options;
  for (const auto& option : word->options) {
    const auto given_word = asked.options.find(std::string(option.name));
    complete_options[std::string(option.name)] =
        given_word == asked.options.end() ? std::string(option.words.front()) : given_word->second;
  }
  const auto formed = [&](Question question) {
    question.options = complete_options;
    question.variant = asked.variant;
    return question;
  };
  if (task == "seqcomp") {
    RUNG_TRY(Question question, seqcomp_question(*word, own, asked, context));
    return formed(std::move(question));
  }
  Question question{.task = std::string(task), .fixed = own.contains("n")};
  if (!question.fixed) {
    RUNG_CHECK([&]() -> Result<void> {  // unknown names and ranges first, with the task's own message
      auto made = make_task(task, own, asked.options);
      if (!made && made.error().code == ErrorCode::parse) return made.error();
      return {};
    }());
    // As many letters as places: a mark that moves little needs little of the table.
    if (task == "tracked-recall" && !own.contains("w")) own["w"] = std::max<std::int64_t>(1, context / 3);
    RUNG_TRY(own["n"], largest_n(*word, own, asked, context));
  }
  RUNG_TRY(const auto made, make_task(task, own, asked.options));
  RUNG_CHECK(has_variant(*made, asked));
  question.sizes = complete(*made);
  question.prompt = made->prompt_length();
  question.followed = followed_by(*made);
  return formed(std::move(question));
}

}  // namespace rung
