# rung_library(NAME [INTERNAL] [DEPENDS other...]): the static library rung::NAME made of rung/NAME/*.cc, without the folders below it
# that have a CMakeLists.txt of their own.
# INTERNAL: not installed, because it would ask libtorch of everybody who links rung.
# A folder may include only what it DEPENDS on; tests/layers checks the includes.
# Several files are compiled as one, which costs a third of the time: names that are local to a file are unique
# within its folder. RUNG_UNITY=OFF compiles each file alone (clang-tidy).
option(RUNG_UNITY "Compile several files of a folder as one" ON)
set(RUNG_UNITY_BATCH 8)
function(rung_unity target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${RUNG_UNITY} UNITY_BUILD_BATCH_SIZE ${RUNG_UNITY_BATCH})
endfunction()

# rung_cold(NAME...): folders in which no time is spent; they had better compile quickly.
function(rung_cold)
  foreach(name ${ARGN})
    if(TARGET rung_${name})
      target_compile_options(rung_${name} PRIVATE $<$<CONFIG:Release>:-O1>)
    endif()
  endforeach()
endfunction()

function(rung_library name)
  cmake_parse_arguments(ARG "INTERNAL" "" "DEPENDS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/rung/${name}/*.cc)
  file(GLOB_RECURSE apart ${PROJECT_SOURCE_DIR}/rung/${name}/CMakeLists.txt)
  foreach(lists ${apart})
    get_filename_component(folder ${lists} DIRECTORY)
    list(FILTER sources EXCLUDE REGEX "^${folder}/")
  endforeach()
  add_library(rung_${name} STATIC ${sources})
  add_library(rung::${name} ALIAS rung_${name})
  rung_unity(rung_${name})
  set_target_properties(rung_${name} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(rung_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                                                 $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(rung_${name} PUBLIC cxx_std_20)
  target_compile_options(rung_${name} PRIVATE -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/= -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion
                         -Wno-missing-field-initializers)
  target_link_libraries(rung_${name} PUBLIC fmt::fmt nlohmann_json::nlohmann_json Threads::Threads)
  foreach(dependency ${ARG_DEPENDS})
    target_link_libraries(rung_${name} PUBLIC rung_${dependency})
  endforeach()
  if(NOT ARG_INTERNAL)
    set_property(GLOBAL APPEND PROPERTY RUNG_LIBRARIES rung_${name})
  endif()
endfunction()
