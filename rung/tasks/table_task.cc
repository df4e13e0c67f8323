// A user's task as a table of prompts and answers. A drawn instance is an evenly drawn row; the table is all
// there is.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "rung/base/nearest_word.h"
#include "rung/tasks/sampling.h"
#include "rung/tasks/token_task.h"
#include "rung/tasks/user_task.h"

namespace rung {
namespace {

struct Row {
  std::vector<std::int64_t> tokens;
  std::int64_t answer = 0;
  std::int64_t line = 0;
};

bool before(const Row& a, const Row& b) { return a.tokens < b.tokens; }

class TableTask final : public TokenTask {
 public:
  // REQUIRES rows sorted by tokens, no two alike, all of one length.
  TableTask(std::string name, std::vector<Row> rows, bool boolean)
      : name_(std::move(name)), rows_(std::move(rows)), boolean_(boolean) {
    for (const auto& row : rows_) {
      vocabulary_ = std::max(vocabulary_, 1 + *std::max_element(row.tokens.begin(), row.tokens.end()));
      answers_ = std::max(answers_, 1 + row.answer);
    }
  }

  std::string_view name() const override { return name_; }
  bool built_in() const override { return false; }
  SizeList size() const override { return {{"length", prompt_length()}, {"rows", rows_.size()}}; }
  AnswerSpec answer_spec() const override { return boolean_ ? boolean_answer() : token_answer(answers_); }
  std::int64_t prompt_length() const override {
    return static_cast<std::int64_t>(rows_.front().tokens.size());
  }
  bool supports(Variant variant) const override { return variant == Variant::uniform; }

  Instance generate(Variant variant, std::uint64_t seed, std::uint64_t index) const override {
    RUNG_REQUIRE(supports(variant), "{} {}", name_, variant_name(variant));
    Random random(seed, index);
    const Row& row = rows_[random.below(rows_.size())];
    return token_instance(row.tokens, {row.answer});
  }
  std::vector<std::int64_t> answer(const Prompt& prompt) const override {
    const Row* row = find(prompt);
    RUNG_REQUIRE(row != nullptr, "a prompt that is not in the table {}", name_);
    return {row->answer};
  }
  Result<void> validate(const Prompt& prompt) const override {
    RUNG_CHECK(TokenTask::validate(prompt));
    if (!find(prompt)) return fail(ErrorCode::format, "[task] a prompt that is not in the table {}", name_);
    return {};
  }

  std::int64_t choices(const Prompt& prefix) const override {
    return static_cast<std::int64_t>(next_tokens(prefix).size());
  }
  void extend(Prompt& prefix, std::int64_t choice) const override {
    prefix.fields[0].push_back(next_tokens(prefix).at(static_cast<std::size_t>(choice)));
    ++prefix.positions;
  }

 protected:
  std::int64_t vocabulary() const override { return vocabulary_; }
  Range range(std::int64_t) const override { return {0, vocabulary_}; }

 private:
  const Row* find(const Prompt& prompt) const {
    const auto row = std::lower_bound(rows_.begin(), rows_.end(), Row{prompt.fields[0]}, before);
    return row != rows_.end() && row->tokens == prompt.fields[0] ? &*row : nullptr;
  }
  // The tokens that follow the prefix in some row, increasing.
  std::vector<std::int64_t> next_tokens(const Prompt& prefix) const {
    std::vector<std::int64_t> found;
    Row bound{prefix.fields[0]};
    const auto& head = prefix.fields[0];
    for (auto row = std::lower_bound(rows_.begin(), rows_.end(), bound, before);
         row != rows_.end() && std::equal(head.begin(), head.end(), row->tokens.begin());
         row = std::lower_bound(row, rows_.end(), bound, before)) {
      found.push_back(row->tokens[head.size()]);
      bound.tokens = head;
      bound.tokens.push_back(found.back() + 1);
    }
    return found;
  }

  std::string name_;
  std::vector<Row> rows_;
  bool boolean_;
  std::int64_t vocabulary_ = 1, answers_ = 1;
};

Result<std::int64_t> read_number(const nlohmann::json& value, std::string_view what, std::int64_t line) {
  if (!value.is_number_integer() || value < 0 || value >= kMaxAlphabet)
    return fail(ErrorCode::format, "[task] {} in line {}; expected whole numbers from 0 to {}", what, line,
                kMaxAlphabet - 1);
  return value.get<std::int64_t>();
}

Result<Row> read_row(std::string_view text, std::int64_t line, bool& boolean) {
  const auto document = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!document.is_object() || !document.contains("tokens") || !document.contains("answer"))
    return fail(ErrorCode::format, "[task] line {} of a table; expected {{\"tokens\":[...],\"answer\":a}}",
                line);
  const auto& tokens = document["tokens"];
  if (!tokens.is_array() || tokens.empty())
    return fail(ErrorCode::format, "[task] \"tokens\" in line {}; expected a list of at least one number",
                line);
  Row row{{}, 0, line};
  for (const auto& token : tokens) {
    RUNG_TRY(const std::int64_t value, read_number(token, "a token", line));
    row.tokens.push_back(value);
  }
  const auto& answer = document["answer"];
  boolean = answer.is_boolean();
  if (boolean) {
    row.answer = answer.get<bool>() ? 1 : 0;
  } else {
    RUNG_TRY(row.answer, read_number(answer, "the answer", line));
  }
  return row;
}

}  // namespace

Result<std::unique_ptr<Task>> read_table_task(std::string name, std::string_view text) {
  std::vector<Row> rows;
  bool boolean = false;
  std::int64_t line = 0;
  while (!text.empty()) {
    const auto end = text.find('\n');
    const auto this_line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    ++line;
    if (this_line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    bool is_boolean = false;
    RUNG_TRY(Row row, read_row(this_line, line, is_boolean));
    if (!rows.empty() && row.tokens.size() != rows.front().tokens.size())
      return fail(ErrorCode::format, "[task] {} tokens in line {}; expected {} as in line {}",
                  row.tokens.size(), line, rows.front().tokens.size(), rows.front().line);
    if (!rows.empty() && is_boolean != boolean)
      return fail(ErrorCode::format, "[task] the answer in line {}; expected {} as in line {}", line,
                  boolean ? "true or false" : "a number", rows.front().line);
    boolean = is_boolean;
    rows.push_back(std::move(row));
  }
  if (rows.empty()) return fail(ErrorCode::format, "[task] an empty table; expected at least one row");
  std::stable_sort(rows.begin(), rows.end(), before);
  for (std::size_t i = 1; i < rows.size(); ++i)
    if (rows[i].tokens == rows[i - 1].tokens && rows[i].answer != rows[i - 1].answer)
      return fail(ErrorCode::format, "[task] lines {} and {} answer the same prompt differently",
                  rows[i - 1].line, rows[i].line);
  const auto repeated = [](const Row& a, const Row& b) { return a.tokens == b.tokens; };
  rows.erase(std::unique(rows.begin(), rows.end(), repeated), rows.end());
  return new_task<TableTask>(std::move(name), std::move(rows), boolean);
}

}  // namespace rung
