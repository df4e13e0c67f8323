// The matrix recurrence on a device in chunks of sixteen positions, on the tensor cores: what
// matrix_recurrence_*_cuda does where it fits. recurrence_chunk.cuh has the mathematics.
#pragma once

#include "rung/learn/kernels/matrix_recurrence.h"

namespace rung::kernels {

// True for bfloat16 with dk = dv = 16, 32 or 64.
inline bool recurrence_fits_chunks(const RecurrenceShape& shape) {
  return shape.element == Element::bf16 && shape.key_size == shape.value_size &&
         (shape.key_size == 16 || shape.key_size == 32 || shape.key_size == 64) &&
         shape.positions < (1 << 30);
}

// As matrix_recurrence_*_cuda. REQUIRES recurrence_fits_chunks(shape), what those functions require, at least
// one sequence and position, and everything but scalars at multiples of sixteen bytes, strides too.
int chunked_recurrence_forward(const RecurrenceShape& shape, const RecurrenceInputs& inputs,
                               const MutableSlice& y, float* error, void* stream);
std::int64_t chunked_recurrence_scratch(const RecurrenceShape& shape);
int chunked_recurrence_backward(const RecurrenceShape& shape, const RecurrenceInputs& inputs,
                                const float* error, const Slice& dy, const RecurrenceGradients& gradients,
                                float* scratch, void* stream);

}  // namespace rung::kernels
