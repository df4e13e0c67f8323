#include "cli/pipe_request.h"

#include <nlohmann/json.hpp>

#include "rung/base/json_text.h"

namespace rung::cli {

Result<std::vector<std::string>> read_pipe_request(std::string_view line) {
  RUNG_TRY(const auto request, parse_json(line, "pipe"));
  if (!request.is_object() || request.size() != 1 || !request.contains("arguments"))
    return fail(ErrorCode::parse, "[pipe] expected {{\"arguments\": [...]}} and no other field");
  std::vector<std::string> arguments = {"rung"};
  if (!request["arguments"].is_array() || request["arguments"].empty())
    return fail(ErrorCode::parse, "[pipe] \"arguments\" is not a list of words");
  for (const auto& word : request["arguments"]) {
    if (!word.is_string() || word.get_ref<const std::string&>().find('\0') != std::string::npos)
      return fail(ErrorCode::parse, "[pipe] \"arguments\" holds {}; expected a word", word.dump());
    arguments.push_back(word.get<std::string>());
  }
  if (arguments[1] == "pipe") return fail(ErrorCode::parse, "[pipe] a request for another pipe");
  return arguments;
}

}  // namespace rung::cli
