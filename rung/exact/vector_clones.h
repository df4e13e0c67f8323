// Vector code for the machine at hand: a function marked so is compiled for newer instruction sets as well,
// and the loader picks. The baseline clone runs everywhere. Sanitizers and other compilers dislike the
// resolver functions, and get the baseline.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define RUNG_VECTOR_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define RUNG_VECTOR_CLONES
#endif
