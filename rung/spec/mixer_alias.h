// Other names of the mixers: those that papers, engines and configurations use. A line may use them in any
// case; the canonical form that is printed back has the language's own words.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "rung/spec/architecture.h"

namespace rung {

struct MixerAlias {
  std::string_view name;  // lower case
  MixerKind kind = MixerKind::full;
  std::string_view needs = {};  // an option without which the name means something else: swa has a window
};
std::span<const MixerAlias> mixer_aliases();

// The language's own words too, in any case. Nothing where no mixer has that name.
std::optional<MixerAlias> find_mixer(std::string_view name);

}  // namespace rung
