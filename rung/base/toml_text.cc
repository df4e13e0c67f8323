#include "rung/base/toml_text.h"

#if __has_include(<toml++/toml.h>)
#define RUNG_HAVE_TOML 1
namespace rung {
namespace {
struct BrokenAssertion {};
}  // namespace
}  // namespace rung
// toml++ 3.3 takes some malformed keys ("[=") for impossible, and lets the compiler of a build without assertions assume
// so. Its assertions are errors here, in every build.
#pragma push_macro("NDEBUG")
#undef NDEBUG
#define TOML_ASSERT(expr) (static_cast<bool>(expr) ? static_cast<void>(0) : throw rung::BrokenAssertion{})
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")
#else
#define RUNG_HAVE_TOML 0
#endif

#include <nlohmann/json.hpp>
#include <sstream>

#include "rung/base/json_text.h"
#include "rung/base/nearest_word.h"

namespace rung {

Result<nlohmann::json> parse_toml(const std::string& text, const std::string& path, std::string_view area) {
#if RUNG_HAVE_TOML
  try {
    std::ostringstream out;
    out << toml::json_formatter{toml::parse(text, path)};
    return parse_json(out.str(), area);
  } catch (const toml::parse_error& error) {
    return fail(ErrorCode::parse, "[{}] {} line {} column {} is not TOML", area, rung::quoted(path),
                error.source().begin.line, error.source().begin.column);
  } catch (const BrokenAssertion&) {
    return fail(ErrorCode::parse, "[{}] {} is not TOML", area, rung::quoted(path));
  }
#else
  static_cast<void>(text);
  return fail(ErrorCode::unsupported,
              "[{}] {}: this build reads no TOML (toml++ was absent); write the same fields as JSON", area,
              rung::quoted(path));
#endif
}

}  // namespace rung
