// Two small models run as protocols, for the report's player: three full layers that compose two functions,
// and one full layer with a linear one behind it, which two prompts fool.
#pragma once

#include <functional>
#include <string>

#include "rung/base/result.h"

namespace rung {

// Writes FOLDER/protocols/built.json and broken.json (docs/protocol.md, rung.protocol-trace/1), and their
// models. The broken model's document is about the first of two prompts that end alike; `second` holds the
// same about the other, `differ` the positions where they differ. Errors: the file system. Determinism:
// always the same files.
Result<void> write_protocols(const std::string& folder, const std::function<bool()>& stop);

}  // namespace rung
