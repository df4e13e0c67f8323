#include "rung/serve/content_policy.h"

#include "rung/report/page.h"

namespace rung::serve {

std::string content_policy(std::string_view page) {
  std::string scripts;
  constexpr std::string_view kOpen = "<script", kClose = "</script>";
  for (std::size_t at = page.find(kOpen); at != std::string_view::npos; at = page.find(kOpen, at)) {
    const std::size_t begin = page.find('>', at);
    if (begin == std::string_view::npos) break;
    const std::size_t end = page.find(kClose, begin);
    if (end == std::string_view::npos) break;
    const std::string_view tag = page.substr(at, begin - at);
    if (tag.find("application/json") == std::string_view::npos)
      scripts.append(1, ' ').append(report::script_hash(page.substr(begin + 1, end - begin - 1)));
    at = end;
  }
  // Styles stand in attributes of formulas and charts: they are allowed as they are.
  return "default-src 'none'; script-src" + (scripts.empty() ? " 'none'" : scripts) +
         "; style-src 'unsafe-inline'; img-src data: blob:; font-src data:; connect-src 'self'; base-uri "
         "'none'; form-action 'none'; frame-ancestors 'none'";
}

}  // namespace rung::serve
