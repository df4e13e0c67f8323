#include "rung/tasks/task_list.h"

#include <algorithm>

#include "rung/base/nearest_word.h"
#include "rung/tasks/user_task.h"

// The explicit list: a task is added by adding its file, which defines TaskWord NAME_word(), and its line
// here.
#define RUNG_TASK_LIST(TASK) \
  TASK(eva)                  \
  TASK(index)                \
  TASK(retrieval)            \
  TASK(mqar)                 \
  TASK(two_sum)              \
  TASK(two_sum_exists)       \
  TASK(three_sum)            \
  TASK(seqcomp)              \
  TASK(sparse_average)       \
  TASK(equality)             \
  TASK(disjointness)         \
  TASK(nearest)              \
  TASK(dyck)                 \
  TASK(cgram)                \
  TASK(counting)             \
  TASK(istree)               \
  TASK(khop)                 \
  TASK(parity)               \
  TASK(modulo)               \
  TASK(group)                \
  TASK(flipflop)             \
  TASK(tracked_recall)       \
  TASK(copy)                 \
  TASK(selective_copy)

namespace rung {

#define RUNG_DECLARE_TASK(name) TaskWord name##_word();
RUNG_TASK_LIST(RUNG_DECLARE_TASK)

std::span<const TaskWord> task_words() {
#define RUNG_CALL_TASK(name) name##_word(),
  static const std::vector<TaskWord> words = {RUNG_TASK_LIST(RUNG_CALL_TASK)};
  return words;
}

namespace {

template <class Items>
std::vector<std::string_view> names_of(const Items& items) {
  std::vector<std::string_view> names;
  for (const auto& item : items) names.push_back(item.name);
  return names;
}

template <class Items>
auto find_named(const Items& items, std::string_view name) {
  return std::find_if(items.begin(), items.end(), [&](const auto& item) { return item.name == name; });
}

Result<TaskSizes> complete_sizes(const TaskWord& word, const TaskSizes& given) {
  for (const auto& [name, value] : given) {
    const auto size = find_named(word.sizes, name);
    if (size == word.sizes.end())
      return fail(ErrorCode::parse, "[task] {} has no size {}; {}", word.name, rung::quoted(name),
                  suggest(name, names_of(word.sizes)));
    if (value < size->low || value > size->high)
      return fail(ErrorCode::range, "[task] {} = {} of {}; expected {} to {}", name, value, word.name,
                  size->low, size->high);
  }
  TaskSizes sizes = given;
  for (const auto& size : word.sizes)
    if (size.default_value) sizes.emplace(size.name, *size.default_value);
  return sizes;
}

Result<void> check_options(const TaskWord& word, const TaskOptions& given) {
  for (const auto& [name, value] : given) {
    const auto option = find_named(word.options, name);
    if (option == word.options.end())
      return fail(ErrorCode::parse, "[task] {} has no option {}; {}", word.name, rung::quoted(name),
                  suggest(name, names_of(word.options)));
    if (!option->open && std::find(option->words.begin(), option->words.end(), value) == option->words.end())
      return fail(ErrorCode::parse, "[task] unknown {} {} of {}; {}", name, rung::quoted(value), word.name,
                  suggest(value, option->words));
  }
  return {};
}

}  // namespace

Result<const TaskWord*> find_task_word(std::string_view name) {
  const auto words = task_words();
  const auto found = find_named(words, name);
  if (found == words.end())
    return fail(ErrorCode::parse, "[task] unknown task {}; {}", rung::quoted(name),
                suggest(name, names_of(words)));
  return &*found;
}

Result<std::unique_ptr<Task>> make_task(std::string_view name, const TaskSizes& given,
                                        const TaskOptions& options) {
  if (is_user_task(name)) return read_user_task(std::string(name), given, options);
  RUNG_TRY(const TaskWord* word, find_task_word(name));
  RUNG_TRY(const TaskSizes sizes, complete_sizes(*word, given));
  RUNG_CHECK(check_options(*word, options));
  RUNG_TRY(auto task, word->make(sizes, options));
  if (task->prompt_length() > kMaxPromptLength)
    return fail(ErrorCode::range, "[task] a {} prompt of {} tokens; expected at most {}", name,
                task->prompt_length(), kMaxPromptLength);
  return task;
}

}  // namespace rung
