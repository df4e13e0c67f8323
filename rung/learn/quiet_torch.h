// libtorch as a guest: its warnings are for its own developers, not for the user of rung.
#pragma once

#include <map>
#include <string>

namespace rung::learn {

// Drops libtorch's warnings from now on, and keeps its matrix library from instructions that virtual machines trap on.
// To be called before any tensor is made.
void quiet_torch();
// {"libtorch": "1.13.1"}, and CUDA where it is there.
std::map<std::string, std::string> torch_libraries();

}  // namespace rung::learn
