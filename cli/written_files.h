// Files that a command hands over, by the rules of rung/base/staged_file.h.
#pragma once

#include <string>
#include <string_view>

#include "rung/spec/weights.h"

namespace rung::cli {

Result<void> write_text(const std::string& path, std::string_view text, bool replace);
Result<void> write_model(const std::string& path, const Weights& weights, bool replace);

}  // namespace rung::cli
