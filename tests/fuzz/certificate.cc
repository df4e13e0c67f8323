// rung-check on a certificate and a model, both of them bytes of the input, with a NUL between. The hash and
// the seal are made to fit first: they would keep everything else from being looked at.
#include "check/certificate.h"

#include <nlohmann/json.hpp>

#include "check/document.h"
#include "tests/fuzz/targets.h"

namespace rung::fuzz {

void certificate(std::string_view bytes) {
  constexpr std::uint64_t kWork = 3'000'000;
  const std::size_t end = std::min(bytes.find('\0'), bytes.size());
  std::string text(bytes.substr(0, end));
  const std::string model(bytes.substr(std::min(end + 1, bytes.size())));
  auto document = nlohmann::json::parse(text, nullptr, false);
  if (document.is_object()) {
    if (document.contains("model") && document["model"].is_object())
      document["model"]["sha256"] = rung_check::sha256(model);
    document.erase("seal");
    auto sealed = document;
    sealed.erase("notes");
    document["seal"] =
        rung_check::sha256(sealed.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    text = document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
  try {
    rung_check::Budget budget(kWork);
    const bool speaks_of_one = document.is_object() && document.contains("model");
    const auto report = rung_check::verify(text, speaks_of_one ? &model : nullptr, budget);
    promise(!report.kind.empty(), "what is verified has a kind");
  } catch (const rung_check::Rejected&) {
  } catch (const rung_check::Malformed&) {
  } catch (const rung_check::OutOfResources&) {
  }
}

}  // namespace rung::fuzz
