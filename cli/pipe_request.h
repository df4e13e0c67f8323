// What another program asks of `rung pipe`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rung/base/result.h"

namespace rung::cli {

// {"arguments": ["bound", "linear", "--json"]}: the words of a command line, "rung" first. Errors: any other line.
Result<std::vector<std::string>> read_pipe_request(std::string_view line);

}  // namespace rung::cli
