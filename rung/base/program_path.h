// Where this program is, and the others that belong to it.
#pragma once

#include <string>

namespace rung {

// The folder of the program that runs; empty where the system does not say.
std::string program_folder();

// A program of this name beside this one, in ../libexec/rung from there, or, where `installed_alone` is false, in PATH;
// empty where there is none.
std::string find_program(const std::string& name, bool installed_alone = false);

}  // namespace rung
