// Functions that are compiled twice: for the host, and by nvcc for a device.
#pragma once

#if defined(__CUDACC__)
#define RUNG_INLINE __host__ __device__ __forceinline__
#define RUNG_INLINE_LAMBDA
#define RUNG_UNROLL _Pragma("unroll")
#else
#define RUNG_INLINE [[gnu::always_inline]] inline
#define RUNG_INLINE_LAMBDA __attribute__((always_inline))
#define RUNG_UNROLL
#endif
