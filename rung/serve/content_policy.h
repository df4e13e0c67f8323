// What a browser may do with the page: run the scripts that stand in it, by their digests, and talk to this
// server.
#pragma once

#include <string>
#include <string_view>

namespace rung::serve {

// The Content-Security-Policy of a page. Scripts with a type that no browser runs (application/json) need no
// digest.
std::string content_policy(std::string_view page);
// For answers that are no page.
inline constexpr std::string_view kNoContentPolicy = "default-src 'none'; frame-ancestors 'none'";

}  // namespace rung::serve
