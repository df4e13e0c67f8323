// The config.json files that the program carries, by name (cmake/RungEmbed.cmake writes them;
// rung/released/configs/SOURCES.md says where each is from).
#pragma once

#include <span>
#include <string_view>

namespace rung {

struct EmbeddedConfig {
  std::string_view name, text;
};

extern const std::span<const EmbeddedConfig> kReleasedConfigs;

}  // namespace rung
