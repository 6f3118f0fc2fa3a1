/* Linked into the small examples, whose sources stand on pages and read no options: --help prints
 * what the program does, and arguments that it does not take are refused. glibc gives the arguments
 * of main to constructors, which run before it. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One rank of a job speaks. MPI_Init has not run, so the launcher's variables tell which. */
static int is_first(void) {
    static const char *const names[] = {"PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *rank = getenv(names[i]);
        if (rank != NULL)
            return strcmp(rank, "0") == 0;
    }
    return 1;
}

/* EXAMPLE_FILES: how many files the program takes. */
__attribute__((constructor)) static void read_arguments(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0) {
            if (is_first())
                printf("usage: %s%s\n%s\nmpirun starts its ranks. %s\n", EXAMPLE_NAME,
                       EXAMPLE_FILES > 0 ? " [FILE]" : "", EXAMPLE_PURPOSE,
                       "Exit status: 0 done, 1 failed, 2 bad usage.");
            exit(0);
        }
        if (argv[i][0] == '-' || i > EXAMPLE_FILES) {
            if (is_first())
                fprintf(stderr, "%s: takes no argument %s; --help says more\n", EXAMPLE_NAME,
                        argv[i]);
            exit(2);
        }
    }
}
