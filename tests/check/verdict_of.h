// The checker called in this process.
#pragma once

#include "check/certificate.h"

namespace rung {

enum class CheckVerdict { verified, rejected, malformed, out_of_resources };

// An empty model: none on the command line.
inline CheckVerdict verdict_of(const std::string& certificate, const std::string& model,
                               std::string* reason = nullptr, std::uint64_t limit = 20'000'000) {
  rung_check::Budget budget(limit);
  std::string unused;
  std::string& said = reason ? *reason : unused;
  try {
    rung_check::verify(certificate, model.empty() ? nullptr : &model, budget);
    return CheckVerdict::verified;
  } catch (const rung_check::Rejected& error) {
    said = error.what();
    return CheckVerdict::rejected;
  } catch (const rung_check::Malformed& error) {
    said = error.what();
    return CheckVerdict::malformed;
  } catch (const rung_check::OutOfResources& error) {
    said = error.what();
    return CheckVerdict::out_of_resources;
  }
}

}  // namespace rung
