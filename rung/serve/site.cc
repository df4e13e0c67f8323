#include "rung/serve/site.h"

#include <nlohmann/json.hpp>

#include "rung/serve/content_policy.h"

namespace rung::serve {
namespace {

Answer json_answer(ResponseCache::Text text) { return {.body = std::move(text)}; }
Answer json_answer(std::string text) {
  return json_answer(std::make_shared<const std::string>(std::move(text)));
}
// While somebody types, most lines are wrong: a page asks for status 200, because browsers report every other
// one as a failure.
bool take_lenient(Parameters& parameters) { return parameters.erase("lenient") > 0; }

// A ladder.
constexpr std::string_view kIcon =
    "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 24 24\"><rect width=\"24\" height=\"24\" "
    "rx=\"5\" fill=\"#0a5f96\"/><path d=\"M8 4v16M16 4v16M8 8h8M8 12h8M8 16h8\" fill=\"none\" "
    "stroke=\"#fff\" stroke-width=\"2\" stroke-linecap=\"round\"/></svg>\n";

Answer json_answer(Result<std::string> text) {
  return text ? json_answer(std::move(*text)) : refusal(text.error());
}

}  // namespace

Answer refusal(int status, std::string_view message) {
  const nlohmann::ordered_json document = {
      {"schema", "rung.error/1"}, {"status", status}, {"message", message}};
  using Handler = nlohmann::ordered_json::error_handler_t;
  Answer answer = json_answer(document.dump(-1, ' ', false, Handler::replace) + "\n");
  answer.status = status;
  return answer;
}

Answer refusal(const Error& error) { return refusal(error.code == ErrorCode::io ? 500 : 400, error.message); }

std::optional<Answer> Site::at_hand(const Request& request) {
  auto target = parse_target(request.target);
  if (!target) return refusal(target.error());
  if (target->path == "/api/bound") {
    take_lenient(target->parameters);
    if (auto known = explorer_.recall(target->parameters, request.body)) return json_answer(std::move(known));
    return std::nullopt;
  }
  const bool known = target->path == "/" || target->path == "/api/report.json" ||
                     target->path == "/api/runs" || target->path == "/api/health" ||
                     target->path == "/favicon.ico";
  if (!known)
    return refusal(
        404, "[serve] nothing here; expected /, /api/bound, /api/report.json, /api/runs or /api/health");
  if (request.posted) {
    Answer answer = refusal(405, "[serve] POST is accepted at /api/bound only");
    answer.headers.push_back({"Allow", "GET, HEAD"});
    return answer;
  }
  if (target->path == "/api/health")
    return json_answer(std::string("{\"schema\": \"rung.health/1\", \"alive\": true}\n"));
  if (target->path == "/favicon.ico")
    return Answer{.type = "image/svg+xml", .body = std::make_shared<const std::string>(kIcon)};
  return std::nullopt;
}

Answer Site::work_out(const Request& request) {
  auto target = parse_target(request.target);
  if (!target) return refusal(target.error());
  if (target->path == "/api/bound") {
    const bool lenient = take_lenient(target->parameters);
    auto text = explorer_.find_out(target->parameters, request.body);
    if (text) return json_answer(std::move(*text));
    Answer answer = refusal(text.error());
    if (lenient && answer.status == 400) answer.status = 200;
    return answer;
  }
  if (target->path == "/api/report.json") return json_answer(pages_.document());
  if (target->path == "/api/runs") return json_answer(pages_.runs(target->parameters["seen"]));
  auto page = pages_.page();
  if (!page) return refusal(page.error());
  Answer answer{.type = "text/html; charset=utf-8"};
  answer.headers.push_back({"Content-Security-Policy", content_policy(*page)});
  answer.body = std::make_shared<const std::string>(std::move(*page));
  return answer;
}

}  // namespace rung::serve
