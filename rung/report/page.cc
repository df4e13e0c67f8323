#include "rung/report/page.h"

#include <openssl/evp.h>

#include <array>

namespace rung::report {
namespace {

// The marks of web/page.html, each there once.
constexpr std::string_view kPolicyMark = "RUNG_POLICY";
constexpr std::string_view kDataMark = "RUNG_DATA";
constexpr std::string_view kScriptMark = "RUNG_SCRIPT";

std::string policy(bool live) {
  // KaTeX and Chart.js set style attributes; fonts and the pictures of canvases are data.
  return "default-src 'none'; script-src " + script_hash(kPageShell.script) +
         "; style-src 'unsafe-inline'; img-src data: blob:; font-src data:; base-uri 'none'; form-action "
         "'none'" +
         (live ? "; connect-src 'self'" : "");
}

}  // namespace

std::string script_hash(std::string_view script) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int length = 0;
  RUNG_REQUIRE(EVP_Digest(script.data(), script.size(), digest.data(), &length, EVP_sha256(), nullptr) == 1,
               "SHA-256 of {} bytes", script.size());
  std::array<unsigned char, 2 * EVP_MAX_MD_SIZE> text{};
  const int characters = EVP_EncodeBlock(text.data(), digest.data(), static_cast<int>(length));
  return "'sha256-" + std::string(text.begin(), text.begin() + characters) + "'";
}

std::string as_script_data(std::string_view json) {
  std::string out;
  out.reserve(json.size() + json.size() / 64);
  for (const char c : json) {
    if (c == '<')
      out += "\\u003c";
    else
      out += c;
  }
  return out;
}

Result<std::string> page_with(std::string_view document, const PageOptions& options) {
  if (!kPageShell.missing.empty())
    return fail(ErrorCode::unsupported,
                "[report] this rung was built without its page; missing Debian packages: {} (install them "
                "and build again)",
                kPageShell.missing);
  const std::string_view html = kPageShell.html;
  const std::size_t at_policy = html.find(kPolicyMark), at_data = html.find(kDataMark),
                    at_script = html.find(kScriptMark);
  RUNG_REQUIRE(at_policy < at_data && at_data < at_script && at_script < html.size(),
               "the marks of the page at {}, {}, {}", at_policy, at_data, at_script);
  const std::string data = as_script_data(document);
  std::string out;
  out.reserve(html.size() + data.size() + kPageShell.script.size() + 512);
  out += html.substr(0, at_policy);
  out += policy(options.live);
  out += html.substr(at_policy + kPolicyMark.size(), at_data - at_policy - kPolicyMark.size());
  out += data;
  out += html.substr(at_data + kDataMark.size(), at_script - at_data - kDataMark.size());
  out += kPageShell.script;
  out += html.substr(at_script + kScriptMark.size());
  return out;
}

}  // namespace rung::report
