/*
 * Calls that each rank sends to the next for some seconds: they arrive in order, each once. Rank 0
 * runs the command that LAB_CUT names, if there is one, once the stream flows.
 */

#include "fixture.h"
#include "src/progress/wait.h"

#include <stdlib.h>

static fixture f;
static uint64_t arrived, wrong;

static tern_status receive(tern_call_info *call, const void *arguments, size_t bytes) {
    uint64_t number = 0;
    (void)call;
    memcpy(&number, arguments, bytes < sizeof number ? bytes : sizeof number);
    wrong += bytes != sizeof number || number != arrived;
    arrived++;
    return TERN_OK;
}
TERN_FUNCTION(receive)

static void a_stream(void) {
    const char *cut = getenv("LAB_CUT");
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    if (!fixture_open(&f, &config))
        return;
    const uint64_t second = 1000000000u, begin = tern_now();
    const uint64_t end = begin + (cut != NULL ? 15 : 1) * second;
    uint64_t sent = 0, *all = calloc(f.size, sizeof *all);
    bool asked = cut == NULL || f.rank != 0;
    tern_status status = TERN_OK;
    for (; status == TERN_OK && tern_now() < end; sent += status == TERN_OK) {
        status = tern_call(f.worker, (tern_worker_id){(f.rank + 1) % f.size, 0}, &receive_function,
                           &sent, sizeof sent);
        tern_progress(f.worker);
        if (asked || tern_now() < begin + 3 * second)
            continue;
        asked = true;
        CU_ASSERT_EQUAL(system(cut), 0);
    }
    EXPECT_OK(status);
    EXPECT_OK(tern_quiesce(f.worker));
    fixture_share(&f, &sent, sizeof sent, all);
    CU_ASSERT(sent > 0);
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_EQUAL(arrived, all[(f.rank + f.size - 1) % f.size]);
    if (f.rank == 0)
        printf("%llu calls ... ", (unsigned long long)sent);
    free(all);
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"a_stream", a_stream}};
    return tern_test_main(argc, argv, "stream", tests, sizeof tests / sizeof *tests);
}
