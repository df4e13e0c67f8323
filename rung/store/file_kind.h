// What a file holds, by its first bytes.
#pragma once

#include <string>

#include "rung/base/result.h"

namespace rung {

enum class FileKind { absent, empty, sqlite, json_lines, other };

// Errors: what is there cannot be read (a folder, a device).
Result<FileKind> file_kind(const std::string& path);

}  // namespace rung
