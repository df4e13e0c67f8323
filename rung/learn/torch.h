// libtorch, as little of it as rung/learn needs, in one header: it is heavy (seconds a translation unit), so
// it is precompiled and nothing outside rung/learn includes it. One source for libtorch 1.13 and 2.x.
#pragma once

#include <ATen/core/ivalue.h>  // first: clang in C++20 wants it before the rest

#include <torch/csrc/autograd/custom_function.h>
#include <torch/types.h>
#include <torch/version.h>
