# rung_library(NAME [COLD] [INTERNAL] [TORCH] [DEPENDS other...]): the static library rung::NAME made of rung/NAME/*.cc, without the
# folders below it that have a CMakeLists.txt of their own.
# COLD: no time is spent there; it had better compile quickly.
# TORCH: cold, and built with libtorch's flags, with which the shared precompiled headers do not go.
# INTERNAL: not installed, because it would ask libtorch of everybody who links rung.
# A folder may include only what it DEPENDS on; tests/layers checks the includes.
# Many files are compiled as one, which costs a third of the time: names that are local to a file are unique
# within its folder. RUNG_UNITY=OFF compiles each file alone and without precompiled headers (clang-tidy, missing includes).
option(RUNG_UNITY "Compile many files of a folder as one, on precompiled headers" ON)
set(RUNG_UNITY_BATCH 32 CACHE STRING "Files that are compiled as one: more cost less in all, and more for each change")
# rung_unity(TARGET [BATCH]): 0 is all files at once.
function(rung_unity target)
  set(batch ${RUNG_UNITY_BATCH} ${ARGN})
  list(GET batch -1 batch)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${RUNG_UNITY} UNITY_BUILD_BATCH_SIZE ${batch})
endfunction()

# The headers that nearly every file reads, compiled once for each set of flags:
#   rung_precompiled(NAME OPTIONS... HEADERS more...)   declares one
#   rung_precompile(TARGET NAME)                        uses it; the target then has these options
function(rung_precompiled name)
  cmake_parse_arguments(ARG "" "" "HEADERS" ${ARGN})
  file(WRITE ${PROJECT_BINARY_DIR}/precompiled/${name}.cc.new "// Carries a precompiled header.\n")
  configure_file(${PROJECT_BINARY_DIR}/precompiled/${name}.cc.new ${PROJECT_BINARY_DIR}/precompiled/${name}.cc COPYONLY)
  add_library(rung_precompiled_${name} OBJECT EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/precompiled/${name}.cc)
  set_property(GLOBAL PROPERTY RUNG_PRECOMPILED_${name} "${ARG_UNPARSED_ARGUMENTS}")
  target_compile_options(rung_precompiled_${name} PRIVATE ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(rung_precompiled_${name} PRIVATE ${RUNG_FMT} nlohmann_json::nlohmann_json Boost::headers Threads::Threads)
  target_precompile_headers(rung_precompiled_${name} PRIVATE
    <algorithm> <array> <bit> <charconv> <chrono> <cmath> <cstdint> <cstdio> <cstdlib> <cstring> <filesystem> <fstream>
    <functional> <limits> <map> <memory> <mutex> <numeric> <optional> <set> <span> <sstream> <string> <string_view>
    <thread> <unordered_map> <utility> <variant> <vector> <boost/multiprecision/cpp_int.hpp> <fmt/format.h> <fmt/ranges.h>
    <nlohmann/json.hpp> ${ARG_HEADERS})
endfunction()

function(rung_precompile target name)
  get_property(options GLOBAL PROPERTY RUNG_PRECOMPILED_${name})
  target_compile_options(${target} PRIVATE ${options})
  target_compile_definitions(${target} PRIVATE $<TARGET_PROPERTY:${RUNG_FMT},INTERFACE_COMPILE_DEFINITIONS>)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL EXECUTABLE)
    # As a library, behind -fPIE, or the header's flags would be others.
    target_compile_options(${target} PRIVATE -fPIC)
  endif()
  if(RUNG_UNITY)
    target_precompile_headers(${target} REUSE_FROM rung_precompiled_${name})
  endif()
endfunction()

function(rung_library name)
  cmake_parse_arguments(ARG "INTERNAL;COLD;TORCH" "" "DEPENDS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/rung/${name}/*.cc)
  file(GLOB_RECURSE apart ${PROJECT_SOURCE_DIR}/rung/${name}/CMakeLists.txt)
  foreach(lists ${apart})
    get_filename_component(folder ${lists} DIRECTORY)
    list(FILTER sources EXCLUDE REGEX "^${folder}/")
  endforeach()
  add_library(rung_${name} STATIC ${sources})
  add_library(rung::${name} ALIAS rung_${name})
  rung_unity(rung_${name})
  if(ARG_TORCH)
    target_compile_options(rung_${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  elseif(ARG_COLD)
    rung_precompile(rung_${name} cold)
  else()
    rung_precompile(rung_${name} hot)
  endif()
  set_target_properties(rung_${name} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(rung_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                                                 $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(rung_${name} PUBLIC cxx_std_20)
  target_compile_options(rung_${name} PRIVATE -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/= -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion
                         -Wno-missing-field-initializers)
  target_link_libraries(rung_${name} PUBLIC ${RUNG_FMT} nlohmann_json::nlohmann_json Threads::Threads)
  foreach(dependency ${ARG_DEPENDS})
    target_link_libraries(rung_${name} PUBLIC rung_${dependency})
  endforeach()
  if(NOT ARG_INTERNAL)
    set_property(GLOBAL APPEND PROPERTY RUNG_LIBRARIES rung_${name})
  endif()
endfunction()

# rung_device_sources(TARGET OPTIONS...): with RUNG_CUDA the folder's .cu files too, compiled with these options.
function(rung_device_sources target)
  if(RUNG_CUDA)
    file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cu)
    target_sources(${target} PRIVATE ${sources})
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:${ARGN}>")
    target_compile_definitions(${target} PUBLIC RUNG_HAS_CUDA)
    target_link_libraries(${target} PUBLIC CUDA::cudart_static)
  endif()
endfunction()
