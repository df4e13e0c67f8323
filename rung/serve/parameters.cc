#include "rung/serve/parameters.h"

#include "rung/base/nearest_word.h"

namespace rung::serve {
namespace {

int hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t length = lead < 0x80                   ? 1
                               : lead >= 0xC2 && lead < 0xE0 ? 2
                               : lead >= 0xE0 && lead < 0xF0 ? 3
                               : lead >= 0xF0 && lead < 0xF5 ? 4
                                                             : 0;
    if (length == 0 || i + length > text.size()) return false;
    char32_t point = length == 1 ? lead : lead & (0x7F >> length);
    for (std::size_t k = 1; k < length; ++k) {
      const auto byte = static_cast<unsigned char>(text[i + k]);
      if ((byte & 0xC0) != 0x80) return false;
      point = point << 6 | (byte & 0x3F);
    }
    if ((length == 3 && point < 0x800) || (length == 4 && (point < 0x10000 || point > 0x10FFFF)) ||
        (point >= 0xD800 && point < 0xE000))
      return false;
    i += length;
  }
  return true;
}

Result<std::string> decode(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i] == '+' ? ' ' : text[i];
    if (c == '%') {
      const int high = i + 2 < text.size() ? hex(text[i + 1]) : -1, low = high < 0 ? -1 : hex(text[i + 2]);
      if (low < 0) return fail(ErrorCode::parse, "[serve] a percent sign without two digits in the query");
      c = static_cast<char>(high * 16 + low);
      i += 2;
    }
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)
      return fail(ErrorCode::parse, "[serve] a control character in the query");
    out += c;
  }
  if (!is_utf8(out)) return fail(ErrorCode::parse, "[serve] the query is not UTF-8");
  return out;
}

}  // namespace

Result<Target> parse_target(std::string_view target) {
  Target parsed;
  const std::size_t mark = target.find('?');
  parsed.path = std::string(target.substr(0, mark));
  std::string_view rest = mark == std::string_view::npos ? std::string_view() : target.substr(mark + 1);
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('&'), rest.size());
    const std::string_view pair = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (pair.empty()) continue;
    const std::size_t equals = std::min(pair.find('='), pair.size());
    RUNG_TRY(std::string name, decode(pair.substr(0, equals)));
    RUNG_TRY(std::string value, decode(equals < pair.size() ? pair.substr(equals + 1) : std::string_view()));
    if (parsed.parameters.size() == kMostParameters)
      return fail(ErrorCode::resource, "[serve] more than {} parameters", kMostParameters);
    if (!parsed.parameters.emplace(std::move(name), std::move(value)).second)
      return fail(ErrorCode::parse, "[serve] parameter {} is given twice",
                  rung::quoted(pair.substr(0, equals)));
  }
  return parsed;
}

}  // namespace rung::serve
