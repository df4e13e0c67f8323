// Literal defaults of configuration classes.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace rung {

// By class name ("jamba", "fla-mamba2"); null where the class is not in the table.
const nlohmann::json* class_defaults(std::string_view name);
const nlohmann::json& all_class_defaults();

}  // namespace rung
