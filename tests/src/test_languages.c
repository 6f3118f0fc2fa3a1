/* Contexts from communicators that are numbers (tern/context.h).
 *
 * tern-test: ranks least=2 */

#include "fixture.h"

static MPI_Fint world(void) { return tern_comm_world_f(); }

static void options_are_set(void) {
    tern_context *context = NULL;
    CU_ASSERT(MPI_Comm_f2c(world()) == MPI_COMM_WORLD);
    if (!EXPECT_OK(
            tern_context_create_f(world(), "TERN_WORKERS=2  TERN_SEGMENT_SIZE=8M", &context)))
        return;
    CU_ASSERT_EQUAL(tern_context_workers(context), 2);
    CU_ASSERT_EQUAL(tern_context_config(context)->segment_size, 8 << 20);
    CU_ASSERT_EQUAL(tern_context_size(context), (uint32_t)tern_test_size());
    EXPECT_OK(tern_context_destroy(context));
    for (int i = 0; i < 2; i++) {
        EXPECT_OK(tern_context_create_f(world(), i == 0 ? NULL : "", &context));
        EXPECT_OK(tern_context_destroy(context));
    }
}

/* One rank's bad options are an error on every rank. */
static void bad_options_are_refused(void) {
    static const struct {
        const char *options, *detail;
    } bad[] = {{"TERN_WORKERS", "NAME=VALUE"},
               {"TERN_WORKERS=2 TERN_WORKRES=2", "TERN_WORKRES"},
               {"TERN_WORKERS=none", "TERN_WORKERS"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tern_context *context = NULL;
        const bool mine = tern_test_rank() == 1;
        tern_status status = tern_context_create_f(world(), mine ? bad[i].options : NULL, &context);
        if (mine) {
            EXPECT(TERN_ERR_CONFIG, status);
            EXPECT_DETAIL(bad[i].detail);
        } else {
            CU_ASSERT_NOT_EQUAL(status, TERN_OK);
            EXPECT_DETAIL("rank 1");
        }
        CU_ASSERT_PTR_NULL(context);
    }
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"options_are_set", options_are_set},
        {"bad_options_are_refused", bad_options_are_refused},
    };
    return tern_test_main(argc, argv, "languages", tests, sizeof tests / sizeof *tests);
}
