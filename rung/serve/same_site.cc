#include "rung/serve/same_site.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace rung::serve {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

std::string bracketed(std::string_view address) {
  return address.find(':') == std::string_view::npos ? std::string(address) : fmt::format("[{}]", address);
}

}  // namespace

bool SameSite::is_host(std::string_view host) const {
  const std::string asked = lower(host);
  for (const std::string& name : {std::string("localhost"), std::string("127.0.0.1"), std::string("[::1]"),
                                  lower(bracketed(bound)), lower(bracketed(local))}) {
    if (name.empty()) continue;
    if (asked == fmt::format("{}:{}", name, port) || (port == 80 && asked == name)) return true;
  }
  return false;
}

bool SameSite::is_origin(std::string_view origin) const {
  constexpr std::string_view kScheme = "http://";
  return origin.starts_with(kScheme) && is_host(origin.substr(kScheme.size()));
}

std::string SameSite::expected() const {
  return fmt::format("localhost:{0}, {1}:{0}", port, bracketed(local.empty() ? bound : local));
}

}  // namespace rung::serve
