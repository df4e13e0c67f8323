// A request as the listener reads it (Boost.Beast, its limits), and everything that rung does with it before
// it is worked out.
#include <boost/asio/buffer.hpp>
#include <boost/beast/http.hpp>

#include "cli/pipe_request.h"
#include "rung/serve/bound_explorer.h"
#include "rung/serve/listener.h"
#include "rung/serve/parameters.h"
#include "rung/serve/same_site.h"
#include "rung/serve/site.h"
#include "tests/fuzz/targets.h"

namespace rung::fuzz {

void http_request(std::string_view bytes) {
  one_line(cli::read_pipe_request(bytes));
  namespace http = boost::beast::http;
  const serve::Limits limits;
  http::request_parser<http::string_body> parser;
  parser.header_limit(limits.header_bytes);
  parser.body_limit(limits.body_bytes);
  parser.eager(true);
  boost::beast::error_code code;
  while (!bytes.empty() && !parser.is_done()) {
    const std::size_t read = parser.put(boost::asio::const_buffer(bytes.data(), bytes.size()), code);
    if (code || read == 0) return;
    bytes.remove_prefix(read);
  }
  if (!parser.is_done()) return;
  auto message = parser.release();
  const serve::SameSite same{.bound = "127.0.0.1", .local = "127.0.0.1", .port = 8017};
  for (const auto& field : message) {
    const std::string_view value(field.value().data(), field.value().size());
    same.is_host(value);
    same.is_origin(value);
  }
  const std::string target(message.target());
  if (const auto parsed = serve::parse_target(target)) {
    const auto query = serve::read_query(parsed->parameters);
    promise(query.ok() || !query.error().message.empty(), "a refusal says why");
  }
  const auto nothing = [] { return Result<std::string>(std::string()); };
  serve::Site site(
      {.page = nothing, .document = nothing, .runs = [&](const std::string&) { return nothing(); }});
  site.at_hand(
      {.posted = message.method() == http::verb::post, .target = target, .body = std::move(message.body())});
}

}  // namespace rung::fuzz
