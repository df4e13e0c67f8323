// A model for people who have torch and not rung: one Python file, the same for every model, that reads the
// weights file and runs it (docs/export.md). It is written from docs/weights.md and shares no code with
// rung/exact.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rung/base/result.h"

namespace rung {

inline constexpr std::string_view kTorchFileName = "model.py";

// Writes folder/model.py and, where `model_path` lies in another folder, a copy of it. The folder is made if
// needed. A file that exists with other content is an error unless `replace`; one with the same content is
// left alone. Returns the paths, model.py first.
Result<std::vector<std::string>> export_to_torch(const std::string& model_path, const std::string& folder,
                                                 bool replace);

}  // namespace rung
