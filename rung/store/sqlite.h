// The SQLite back end; a build without SQLite has a stub that says so.
#pragma once

#include <memory>
#include <string>

#include "rung/store/store.h"

namespace rung {

// Empty in a build without SQLite.
std::string sqlite_version();
Result<std::unique_ptr<Store>> open_sqlite(const std::string& path, Store::Access access);

}  // namespace rung
