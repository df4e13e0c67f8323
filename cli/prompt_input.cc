#include "cli/prompt_input.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "rung/base/json_text.h"
#include "rung/base/nearest_word.h"

namespace rung::cli {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

// A word of the task's text: a number, or a sign that the vocabulary has (its first and last values are
// tried).
Result<std::int64_t> read_symbol(std::string_view word, const Task& task, const FieldSpec& field) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error == std::errc() && end == word.data() + word.size()) return number;
  constexpr std::int64_t kTried = 64;
  for (std::int64_t i = 0; i < std::min(kTried, field.size); ++i)
    for (const std::int64_t value : {field.low + i, field.low + field.size - 1 - i})
      if (task.symbol(0, value) == word) return value;
  return fail(ErrorCode::parse,
              "[input] {} is not a token of {}; expected numbers, and signs as rung task writes them",
              rung::quoted(word), task.name());
}

Result<void> append_value(const nlohmann::json& value, std::string_view field,
                          std::vector<std::int64_t>& out) {
  if (value.is_array()) {
    for (const auto& one : value) RUNG_CHECK(append_value(one, field, out));
    return {};
  }
  if (!value.is_number_integer() ||
      (value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(kMaxAlphabet)))
    return fail(ErrorCode::format, "[input] {} in \"{}\"; expected whole numbers",
                rung::quoted(value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace)), field);
  out.push_back(value.get<std::int64_t>());
  return {};
}

Result<Prompt> from_json(std::string_view text, const Task& task) {
  RUNG_TRY(const auto document, parse_json(text, "input"));
  const auto fields = task.fields();
  Prompt prompt = task.empty_prompt();
  const bool one_number = fields.size() == 1 && fields[0].length == 1;
  if (document.is_array() || (document.is_object() && document.contains("tokens"))) {
    if (!one_number)
      return fail(ErrorCode::format,
                  "[input] tokens alone; {} has several numbers per position, expected \"fields\"",
                  task.name());
    RUNG_CHECK(append_value(document.is_array() ? document : document["tokens"], "tokens", prompt.fields[0]));
    return prompt;
  }
  if (!document.is_object() || !document.contains("fields") || !document["fields"].is_object())
    return fail(
        ErrorCode::format,
        "[input] neither \"tokens\" nor \"fields\"; expected a row as rung task --format jsonl writes it");
  for (std::size_t f = 0; f < fields.size(); ++f) {
    if (!document["fields"].contains(fields[f].name))
      return fail(ErrorCode::missing, "[input] no field \"{}\"; {} has it", fields[f].name, task.name());
    RUNG_CHECK(append_value(document["fields"][fields[f].name], fields[f].name, prompt.fields[f]));
  }
  return prompt;
}

Result<Prompt> from_text(std::string_view text, const Task& task) {
  text = trimmed(text);
  if (text.empty())
    return fail(ErrorCode::missing, "[input] an empty prompt; expected the tokens of {}", task.name());
  if (text.front() == '{' || text.front() == '[') return from_json(text, task);
  const auto fields = task.fields();
  if (fields.size() != 1 || fields[0].length != 1)
    return fail(ErrorCode::format,
                "[input] {} has several numbers per position; expected a JSON row with \"fields\"",
                task.name());
  Prompt prompt = task.empty_prompt();
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(" \t\r\n,"), text.size());
    const std::string_view word = text.substr(0, end);
    if (word == "->") break;  // a row of rung task with its answer
    if (!word.empty() && word != "|") {
      RUNG_TRY(const std::int64_t value, read_symbol(word, task, fields[0]));
      prompt.fields[0].push_back(value);
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return prompt;
}

// Row `index` of a file of rows, or the whole text of a file of one.
Result<std::string_view> row_of(std::string_view text, const std::string& path,
                                std::optional<std::int64_t> wanted) {
  std::string_view rest = trimmed(text);
  std::int64_t row = 0;
  const std::int64_t index = wanted.value_or(0);
  for (; !rest.empty(); ++row) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = trimmed(rest.substr(0, end));
    if (row == 0 && (line == "{" || line == "[")) {  // one document over several lines
      if (wanted)
        return fail(ErrorCode::parse, "[input] --index is not used by {}, which is one prompt", path);
      return trimmed(text);
    }
    if (row == index) return line;
    rest = trimmed(rest.substr(end));
  }
  return fail(ErrorCode::range, "[input] row {} of {}, which has {}", index, path, row);
}

}  // namespace

Result<Prompt> read_prompt(const std::string& input, const Task& task, std::optional<std::int64_t> index) {
  std::string path = input.starts_with('@') ? input.substr(1) : "";
  std::error_code ignored;
  if (path.empty() && input.size() < 4096 && input.find_first_of("{[\n") == std::string::npos &&
      std::filesystem::is_regular_file(input, ignored))
    path = input;
  std::string file;
  std::string_view text = input;
  if (!path.empty()) {
    RUNG_TRY(file, read_text_file(path, "input"));
    RUNG_TRY(text, row_of(file, path, index));
  } else if (index) {
    return fail(ErrorCode::parse, "[input] --index is not used by a prompt; it belongs to a file of rows");
  }
  RUNG_TRY(Prompt prompt, from_text(text, task));
  prompt.positions = task.prompt_length();
  const auto fields = task.fields();
  for (std::size_t f = 0; f < fields.size(); ++f)
    if (static_cast<std::int64_t>(prompt.fields[f].size()) != task.prompt_length() * fields[f].length)
      return fail(ErrorCode::range, "[input] {} numbers in \"{}\"; {} at this size has {}",
                  prompt.fields[f].size(), fields[f].name, task.name(),
                  task.prompt_length() * fields[f].length);
  return prompt;
}

}  // namespace rung::cli
