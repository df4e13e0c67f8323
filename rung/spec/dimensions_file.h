// The document form of Dimensions, apart from the file system.
#pragma once

#include <string>

#include "rung/spec/architecture.h"

namespace rung {

// `path` is for messages. ENSURES: as read_architecture_file.
Result<ArchitectureFile> read_architecture_text(const std::string& text, const std::string& path,
                                                bool is_toml);

// The inverse, one line of JSON; what has its default for want of a value is left out.
std::string dimensions_text(const Dimensions& dimensions);

}  // namespace rung
