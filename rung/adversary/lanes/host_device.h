// Functions that are compiled twice: for the host, and by nvcc for a device, which is also told what it may assume.
#pragma once

#if defined(__CUDACC__)
#define RUNG_INLINE __host__ __device__ __forceinline__
#define RUNG_INLINE_LAMBDA
#define RUNG_INLINE_ON_DEVICE RUNG_INLINE
#define RUNG_UNROLL _Pragma("unroll")
#else
#define RUNG_INLINE [[gnu::always_inline]] inline
#define RUNG_INLINE_LAMBDA __attribute__((always_inline))
#define RUNG_INLINE_ON_DEVICE [[gnu::noinline]]  // where the host has better things to compile
#define RUNG_UNROLL
#endif

#if defined(__CUDA_ARCH__)
#define RUNG_ASSUME(condition) __builtin_assume(condition)
#else
#define RUNG_ASSUME(condition)
#endif
