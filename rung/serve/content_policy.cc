#include "rung/serve/content_policy.h"

#include <openssl/evp.h>

#include "rung/spec/require.h"

namespace rung::serve {
namespace {

std::string sha256_base64(std::string_view text) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int length = 0;
  RUNG_REQUIRE(EVP_Digest(text.data(), text.size(), digest, &length, EVP_sha256(), nullptr) == 1, "sha256 of {} bytes", text.size());
  unsigned char encoded[4 * ((EVP_MAX_MD_SIZE + 2) / 3) + 1];
  const int written = EVP_EncodeBlock(encoded, digest, static_cast<int>(length));
  return {reinterpret_cast<const char*>(encoded), static_cast<std::size_t>(written)};
}

}  // namespace

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
      scripts += " 'sha256-" + sha256_base64(page.substr(begin + 1, end - begin - 1)) + "'";
    at = end;
  }
  // Styles stand in attributes of formulas and charts: they are allowed as they are.
  return "default-src 'none'; script-src" + (scripts.empty() ? " 'none'" : scripts) +
         "; style-src 'unsafe-inline'; img-src data: blob:; font-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
         "frame-ancestors 'none'";
}

}  // namespace rung::serve
