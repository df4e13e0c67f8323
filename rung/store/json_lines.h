// The back end of JSON lines: one record a line, later lines supersede earlier ones with the same id, nothing
// is ever rewritten. Invariant between operations: the file is whole lines; a torn last one (a killed writer)
// counts as absent and is cut off by the next writer. Writers hold the file's lock exclusively, readers share
// it.
#pragma once

#include <memory>
#include <string>

#include "rung/store/store.h"

namespace rung {

Result<std::unique_ptr<Store>> open_json_lines(const std::string& path, Store::Access access);

}  // namespace rung
