// Log-linear attention (log_linear_attention.h has what it computes, and its gradients) on the host, by weights over
// pairs of positions: of two different blocks of sixteen positions all pairs have one level.
#pragma once

#include "rung/learn/kernels/log_linear_attention.h"

namespace rung::kernels {

// True for float32, any sizes, with a level for every pair and no more positions than kMostCausalPositions.
bool log_linear_fits_host(const LogLinearShape& shape);
// REQUIRES log_linear_fits_host(shape). One thread; a sequence's bits are the same on every call and do not depend on
// the other sequences. No output overlaps an input.
void log_linear_forward(const LogLinearShape& shape, const LogLinearInputs& inputs, const MutableSlice& y);
void log_linear_backward(const LogLinearShape& shape, const LogLinearInputs& inputs, const Slice& dy,
                         const LogLinearGradients& gradients);

}  // namespace rung::kernels
