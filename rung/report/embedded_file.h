// Files that the program carries, by name (cmake/RungPage.cmake writes them).
#pragma once

#include <span>
#include <string_view>

namespace rung::report {

struct EmbeddedFile {
  std::string_view name, text;
};

// config.json files of released models (tests/cases/configs/SOURCES.md says where each is from).
extern const std::span<const EmbeddedFile> kReleasedConfigs;

}  // namespace rung::report
