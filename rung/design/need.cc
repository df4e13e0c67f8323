#include "rung/design/need.h"

#include <algorithm>

#include "rung/base/nearest_word.h"
#include "rung/base/size_text.h"

namespace rung {

Result<Need> parse_need(std::string_view text) {
  Need need{.text = std::string(text)};
  const std::size_t colon = std::min(text.find(':'), text.size());
  need.task = text.substr(0, colon);
  RUNG_TRY(const TaskWord* word, find_task_word(need.task));
  if (colon == text.size()) return need;
  for (std::size_t begin = colon + 1; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view item = text.substr(begin, end - begin);
    begin = end + 1;
    const std::size_t equals = item.find('=');
    if (equals == 0 || equals == std::string_view::npos || equals + 1 == item.size())
      return fail(ErrorCode::parse, "[need] {} in {}; expected sizes and options, as in seqcomp:L=4",
                  rung::quoted(item), rung::quoted(text));
    const std::string name(item.substr(0, equals));
    const std::string_view value = item.substr(equals + 1);
    const bool option = std::any_of(word->options.begin(), word->options.end(),
                                    [&](const TaskWord::Option& known) { return known.name == name; });
    if (need.sizes.contains(name) || need.form.options.contains(name))
      return fail(ErrorCode::parse, "[need] {} stands twice in {}", name, rung::quoted(text));
    if (option) {
      need.form.options[name] = value;
      continue;
    }
    RUNG_TRY(need.sizes[name], parse_size(value));
  }
  return need;
}

Result<Question> Need::question(std::int64_t context) const {
  RUNG_TRY(Question asked, make_question(task, sizes, context, false, form));
  if (asked.prompt > context)
    return fail(ErrorCode::range, "[need] {} has a prompt of {} tokens; the context has {}", text,
                asked.prompt, context);
  return asked;
}

}  // namespace rung
