// The words of the architecture language for a reader: `rung show --mixers` and `rung help mixers`.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace rung::cli {

std::string mixer_list_text();
nlohmann::ordered_json mixer_list_document();  // schema rung.mixers/1

}  // namespace rung::cli
