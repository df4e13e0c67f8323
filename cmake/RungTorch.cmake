# rung/learn stands on libtorch: Debian's libtorch-dev on a CPU machine, the libtorch inside the PyTorch wheel on a GPU
# machine (found by asking python3). Without libtorch everything else is built, and says so. Sets Torch_FOUND and
# RUNG_TORCH_HAS_CUDA.
set(RUNG_TORCH_HAS_CUDA OFF)
if(NOT RUNG_LEARN)
  set(Torch_FOUND OFF)
  return()
endif()
if(NOT DEFINED TORCH_CUDA_ARCH_LIST AND NOT DEFINED ENV{TORCH_CUDA_ARCH_LIST})
  set(TORCH_CUDA_ARCH_LIST "8.0;9.0")
endif()
find_package(Torch QUIET)
if(NOT Torch_FOUND)
  find_program(RUNG_TORCH_PYTHON python3)
  if(RUNG_TORCH_PYTHON)
    execute_process(COMMAND ${RUNG_TORCH_PYTHON} -c "import torch; print(torch.utils.cmake_prefix_path)" OUTPUT_VARIABLE torch_prefix
                    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(torch_prefix)
      find_package(Torch QUIET PATHS ${torch_prefix})
    endif()
  endif()
endif()
if(NOT Torch_FOUND)
  message(STATUS "Left out: rung train (libtorch is missing; Debian package libtorch-dev)")
  return()
endif()
include(CheckLanguage)
check_language(CUDA)
if(TARGET torch_cuda AND CMAKE_CUDA_COMPILER)
  set(RUNG_TORCH_HAS_CUDA ON)
endif()

# On a CPU: the OpenMP build of OpenBLAS, whose threads are libtorch's own; Debian's default would fight with them.
# RPATH, not RUNPATH: it must reach the libraries of libtorch.
set(RUNG_OPENBLAS /usr/lib/x86_64-linux-gnu/openblas-openmp)
find_library(RUNG_TCMALLOC NAMES tcmalloc_minimal libtcmalloc_minimal.so.4)

# rung_use_torch(TARGET): compiled with libtorch. Those who only link rung_learn get its code and not its flags.
function(rung_use_torch target)
  target_include_directories(${target} SYSTEM PRIVATE ${TORCH_INCLUDE_DIRS})
  target_link_libraries(${target} PRIVATE ${TORCH_LIBRARIES})
  # PyTorch's wheel brings headers of its own fmt, which come before the system's and have no library to go with them.
  foreach(folder ${TORCH_INCLUDE_DIRS})
    if(NOT folder STREQUAL /usr/include AND EXISTS ${folder}/fmt/format-inl.h)
      target_compile_definitions(${target} PRIVATE FMT_HEADER_ONLY)
    endif()
  endforeach()
endfunction()

# A program that trains: the allocator and the BLAS that were measured to be fastest, where they are installed.
function(rung_fast_torch program)
  if(EXISTS ${RUNG_OPENBLAS} AND NOT RUNG_TORCH_HAS_CUDA)
    target_link_options(${program} PRIVATE -Wl,--disable-new-dtags -Wl,-rpath,${RUNG_OPENBLAS})
  endif()
  if(RUNG_TCMALLOC AND NOT RUNG_SANITIZE)
    target_link_libraries(${program} PRIVATE -Wl,--no-as-needed ${RUNG_TCMALLOC} -Wl,--as-needed)
  endif()
endfunction()
