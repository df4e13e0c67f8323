#include "rung/base/toml_text.h"

#if __has_include(<toml++/toml.h>)
#define RUNG_HAVE_TOML 1
#include <toml++/toml.h>
#else
#define RUNG_HAVE_TOML 0
#endif

#include <nlohmann/json.hpp>
#include <sstream>

#include "rung/base/json_text.h"
#include "rung/base/nearest_word.h"

namespace rung {

Result<nlohmann::json> parse_toml(const std::string& text, const std::string& path) {
#if RUNG_HAVE_TOML
  try {
    std::ostringstream out;
    out << toml::json_formatter{toml::parse(text, path)};
    return parse_json(out.str(), "dimensions");
  } catch (const toml::parse_error& error) {
    return fail(ErrorCode::parse, "[dimensions] {} line {} column {} is not TOML", rung::quoted(path),
                error.source().begin.line, error.source().begin.column);
  }
#else
  static_cast<void>(text);
  return fail(ErrorCode::unsupported,
              "[dimensions] {}: this build reads no TOML (toml++ was absent); write the same fields as JSON",
              rung::quoted(path));
#endif
}

}  // namespace rung
