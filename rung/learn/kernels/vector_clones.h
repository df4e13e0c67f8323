// Kernels for the machine at hand: a function marked RUNG_KERNEL_CLONES is compiled for newer instruction
// sets as well, and the loader picks. What it calls is marked RUNG_KERNEL_INLINE, or it would be compiled for
// the baseline alone. Sanitizers and other compilers dislike the resolver functions, and get the baseline.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define RUNG_KERNEL_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
// One of them alone, for what is written differently for each: __builtin_cpu_supports picks.
#define RUNG_KERNEL_TARGET(name) __attribute__((target(name)))
#else
#define RUNG_KERNEL_CLONES
#endif
#define RUNG_KERNEL_INLINE inline __attribute__((always_inline))
