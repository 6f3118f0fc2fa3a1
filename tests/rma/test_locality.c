// tern-test: unit
/* Which cards are near (rma/network/locality.h): masks of processors, as sysfs writes them, against
 * the processors that a thread is bound to. */

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness.h"
#include "rma/network/locality.h"

enum { PROCESSORS = 128, TIMES = 100 };

static char path[] = "/tmp/tern-locality-XXXXXX";

/* 128 processors, in the groups of 32 that the kernel writes. */
static void write_mask(const uint32_t *group) {
    FILE *file = fopen(path, "w");
    CU_ASSERT_FATAL(file != NULL);
    fprintf(file, "%08x,%08x,%08x,%08x\n", group[3], group[2], group[1], group[0]);
    CU_ASSERT_EQUAL_FATAL(fclose(file), 0);
}

static void near_and_far(void) {
    cpu_set_t before, one;
    uint64_t state = tern_test_seed();
    CU_ASSERT_EQUAL_FATAL(sched_getaffinity(0, sizeof before, &before), 0);
    int file = mkstemp(path);
    CU_ASSERT_FATAL(file >= 0);
    close(file);
    for (int i = 0; i < TIMES; i++) {
        size_t cpu = 0;
        do
            cpu = tern_test_random(&state) % PROCESSORS;
        while (!CPU_ISSET(cpu, &before));
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        CU_ASSERT_EQUAL_FATAL(sched_setaffinity(0, sizeof one, &one), 0);
        uint32_t group[PROCESSORS / 32];
        for (size_t g = 0; g < PROCESSORS / 32; g++)
            group[g] = (uint32_t)tern_test_random(&state) | (g != cpu / 32); /* never empty */
        uint32_t *own = &group[cpu / 32], bit = UINT32_C(1) << cpu % 32;
        *own |= bit;
        write_mask(group);
        CU_ASSERT_TRUE(tern_locality_is_near(path));
        *own &= ~bit;
        write_mask(group);
        CU_ASSERT_FALSE(tern_locality_is_near(path));
    }
    CU_ASSERT_EQUAL(sched_setaffinity(0, sizeof before, &before), 0);
    unlink(path);
    CU_ASSERT_TRUE(tern_locality_is_near(path)); /* nothing is known of it */
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"near and far", near_and_far}};
    return tern_test_main(argc, argv, "locality", tests, 1);
}
