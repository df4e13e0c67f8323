#include "rung/base/program_path.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

namespace rung {
namespace fs = std::filesystem;
namespace {

bool is_program(const fs::path& path) {
  std::error_code code;
  return fs::is_regular_file(path, code) && access(path.c_str(), X_OK) == 0;
}

}  // namespace

std::string program_folder() {
  std::error_code code;
  const fs::path here = fs::read_symlink("/proc/self/exe", code).parent_path();
  return code ? std::string() : here.string();
}

std::string find_program(const std::string& name, bool installed_alone) {
  if (const fs::path here = program_folder(); !here.empty())
    for (const fs::path& place : {here / name, here / ".." / "libexec" / "rung" / name})
      if (is_program(place)) return place.lexically_normal().string();
  const char* path = installed_alone ? nullptr : std::getenv("PATH");
  std::stringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (!folder.empty() && is_program(fs::path(folder) / name)) return (fs::path(folder) / name).string();
  return {};
}

}  // namespace rung
