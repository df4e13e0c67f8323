// A bias for every ensemble member, added to the rows of a product in place. Libraries that make products of many
// members take a bias as the product's first value, which is a copy of it for every row, written and read again.
#pragma once

#include <cstdint>

#include "rung/learn/kernels/element.h"

namespace rung::kernels {

struct BiasRows {
  std::int64_t members = 1, rows = 0, width = 0;  // rows of each member; width at least 1
  Element element = Element::f32;                 // of values and bias
  void* values = nullptr;                         // [members, rows, width]
  const void* bias = nullptr;                     // [members, width]
};

// On a device, queued on `stream` (a cudaStream_t). Returns 0 or a cudaError_t. ENSURES values = values + bias, the sum
// in float32, rounded once.
int add_bias_cuda(const BiasRows& rows, void* stream);

}  // namespace rung::kernels
