/* A context over a native network, in which every rank is a node of its own, and memory on each. */

#ifndef TERN_TESTS_HARNESS_NATIVE_H
#define TERN_TESTS_HARNESS_NATIVE_H

#include "fixture.h"

/* Options for bytes of memory on each rank, over ofi, or over verbs if the environment says so. */
static inline void native_config(tern_config *config, size_t bytes) {
    EXPECT_OK(tern_config_init(config));
    if (config->transport != TERN_TRANSPORT_VERBS)
        config->transport = TERN_TRANSPORT_OFI;
    config->ranks_per_node = 1;
    config->segment_size = bytes + ((size_t)4 << 20);
}

/* Collective. [out] memory: on each rank. */
static inline bool native_open(fixture *f, const tern_config *config, size_t bytes,
                               tern_ptr *memory) {
    if (!fixture_open(f, config))
        return false;
    fixture_alloc_all(f, bytes, TERN_DOMAIN_OWNER, memory);
    return true;
}

/* Collective: frees the memory and the context. */
static inline void native_close(fixture *f, const tern_ptr *memory) {
    fixture_free_all(f, memory);
    fixture_close(f);
}

#endif
