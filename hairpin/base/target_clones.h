// For files of vectorised kernels (*_kernels.cc): one build for every x86-64, and at load time the
// widest vectors the machine has. Contraction is off in those files, so all clones give equal bits.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define HAIRPIN_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define HAIRPIN_CLONES
#endif
