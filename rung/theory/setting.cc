#include "rung/theory/setting.h"

#include <algorithm>

#include "rung/spec/nearest_word.h"
#include "rung/spec/require.h"

namespace rung {
namespace {

constexpr std::int64_t kMaxAccumulator = 4096;  // bits

bool knows(const TaskWord& word, std::string_view name) {
  return std::any_of(word.sizes.begin(), word.sizes.end(),
                     [&](const auto& size) { return size.name == name; });
}

TaskSizes complete(const Task& task) {
  TaskSizes sizes;
  for (const auto& [name, value] : task.size()) sizes[name] = value;
  return sizes;
}

// The largest n whose prompt fits, everything else as given or by default.
Result<std::int64_t> largest_n(const TaskWord& word, const TaskSizes& given, std::int64_t context) {
  const auto fits = [&](std::int64_t n) {
    TaskSizes sizes = given;
    sizes["n"] = n;
    const auto task = make_task(word.name, sizes);
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

Result<Question> seqcomp_question(const TaskWord& word, TaskSizes given, std::int64_t context) {
  Question question{.task = std::string(word.name)};
  std::int64_t named = 1;  // L that the n_l imply
  for (std::int64_t l = 1; l < 64; ++l)
    if (given.contains(fmt::format("n{}", l))) named = l + 1;
  question.fixed = named > 1 || given.contains("m") || given.contains("n");
  if (!given.contains("L") && question.fixed) given["L"] = named;
  if (!question.fixed) {
    const std::int64_t L = given.contains("L") ? given["L"] : 2;
    if (L < 1 || 2 * L + 1 > context)
      return fail(ErrorCode::range, "[bound] L = {}; expected 1 to {} at {} tokens", L, (context - 1) / 2,
                  context);
    question.L = static_cast<int>(L);
    question.sizes = {{"L", L}};
    question.prompt = context;
    return question;
  }
  RUNG_TRY(const auto task, make_task(word.name, given));
  question.sizes = complete(*task);
  question.prompt = task->prompt_length();
  question.L = static_cast<int>(question.sizes.at("L"));
  question.seqcomp.m = question.sizes.at("m");
  for (int l = 1; l < question.L; ++l) question.seqcomp.n.push_back(question.sizes.at(fmt::format("n{}", l)));
  return question;
}

}  // namespace

std::string Setting::mode_x() const { return fmt::format("mode X at {} bits", p()); }

std::int64_t Question::size(const std::string& name) const {
  const auto found = sizes.find(name);
  RUNG_REQUIRE(found != sizes.end(), "{} has no size {}", task, name);
  return found->second;
}

Result<Setting> make_setting(const Architecture& architecture, const SettingOptions& options) {
  Setting setting;
  setting.architecture = architecture;
  RUNG_TRY(setting.layers, resolve(architecture));
  const std::int64_t own = architecture.dimensions.context;
  setting.context = options.context.value_or(own > 0 ? std::min(own, kMaxContext) : kDefaultContext);
  if (setting.context < 2 || setting.context > kMaxContext)
    return fail(ErrorCode::range, "[bound] --context {}; expected 2 to {} tokens", setting.context,
                kMaxContext);
  setting.accumulator = options.accumulator.value_or(default_accumulator(architecture.dimensions.precision));
  if (setting.accumulator < 1 || setting.accumulator > kMaxAccumulator)
    return fail(ErrorCode::range, "[bound] --acc-bits {}; expected 1 to {}", setting.accumulator,
                kMaxAccumulator);
  setting.chain_of_thought = options.chain_of_thought;
  setting.assume_exact = options.assume_exact;
  const auto count = options.count ? options.count : [&](const StorageBits& bits) {
    return account(architecture, setting.layers, bits);
  };
  setting.word = make_word(architecture, setting.layers, options.storage, count, setting.accumulator);
  return setting;
}

Result<Question> make_question(std::string_view task, const TaskSizes& given, std::int64_t context,
                               bool lenient) {
  RUNG_TRY(const TaskWord* word, find_task_word(task));
  TaskSizes own;
  for (const auto& [name, value] : given) {
    const bool alias = task == "seqcomp" && name == "n";  // a second name of m: of no concern to --task all
    if (!lenient || (knows(*word, name) && !alias)) own[name] = value;
  }
  if (task == "seqcomp") return seqcomp_question(*word, own, context);
  Question question{.task = std::string(task), .fixed = own.contains("n")};
  if (!question.fixed) {
    RUNG_CHECK([&]() -> Result<void> {  // unknown names and ranges first, with the task's own message
      auto made = make_task(task, own);
      if (!made && made.error().code == ErrorCode::parse) return made.error();
      return {};
    }());
    RUNG_TRY(own["n"], largest_n(*word, own, context));
  }
  RUNG_TRY(const auto made, make_task(task, own));
  question.sizes = complete(*made);
  question.prompt = made->prompt_length();
  return question;
}

}  // namespace rung
