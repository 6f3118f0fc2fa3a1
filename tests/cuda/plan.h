#ifndef TERN_TESTS_CUDA_PLAN_H
#define TERN_TESTS_CUDA_PLAN_H

#include "model.h"

/* What a kernel is told, and tells: all of it lies in memory that both sides have mapped. */
typedef struct kernel_plan {
    void *memory; /* of the mailbox */
    uint32_t slots;
    uint32_t rounds; /* of a client's warp */
    uint32_t own;    /* not 0: a warp has the slot of its number for good, no lock is taken */
    uint64_t seed;
    uint64_t patience;       /* ns after which a call ends, or a server to which nothing comes */
    model_session *sessions; /* of a serving kernel */
    uint32_t *stop;          /* set by the host: the serving kernel is to end */
    uint64_t *calls;         /* by thread: calls that came to an answer, */
    uint64_t *wrong;         /* and to a wrong one, or to none */
} kernel_plan;

#endif
