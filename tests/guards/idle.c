/* A program that can only skip: because of how it is run, or because the machine lacks something.
 */

#include "harness.h"

#include <stdlib.h>

static void skips(void) {
    if (getenv("IDLE_LACKS") != NULL)
        tern_test_lack("something is missing");
    else
        tern_test_skip("to see nothing run");
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"skips", skips}};
    return tern_test_main(argc, argv, "idle", tests, 1);
}
