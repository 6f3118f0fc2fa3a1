/* Runs an untrusted program that can see only the files of one directory.
 * Run: sandbox PROGRAM DIRECTORY [WORD]... */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tern/sandbox.h>

enum { BAD_USAGE = 2, NOT_RUN = 125, TIMED_OUT = 124, SIGNALLED = 128, NOT_HERE = 77 };

static char words[TERN_SANDBOX_ARGUMENT_MAX];

/* Joins the strings, each with its final 0. */
static uint32_t join(int count, char **list) {
    size_t bytes = 0;
    for (int i = 0; i < count; i++) {
        size_t more = strlen(list[i]) + 1;
        if (more > sizeof words - bytes) {
            fprintf(stderr, "sandbox: more than %zu bytes of words\n", sizeof words);
            exit(BAD_USAGE);
        }
        memcpy(words + bytes, list[i], more);
        bytes += more;
    }
    return (uint32_t)bytes;
}

static int tell(const tern_sandbox_result *result) {
    int status = SIGNALLED + result->code;
    switch (result->end) {
    case TERN_SANDBOX_EXITED:
        printf("ended with status %d", status = result->code);
        break;
    case TERN_SANDBOX_REFUSED:
        printf("was killed: it tried a system call");
        break;
    case TERN_SANDBOX_TIMEOUT:
        printf("was killed: its time was over");
        status = TIMED_OUT;
        break;
    default:
        printf("was killed by signal %d", result->code);
    }
    printf("; %llu calls, %llu refused at once; %llu bytes written\n",
           (unsigned long long)result->calls, (unsigned long long)result->refused,
           (unsigned long long)result->written_bytes);
    return status;
}

int main(int argc, char **argv) {
    if (argc < 3) {
        fprintf(stderr, "usage: sandbox PROGRAM DIRECTORY [WORD]...\n");
        return BAD_USAGE;
    }
    tern_sandbox_options options = tern_sandbox_defaults(argv[1]);
    tern_sandbox_result result;
    options.directory = argv[2];
    options.argument = words;
    options.argument_bytes = join(argc - 3, argv + 3);
    options.allow = TERN_SANDBOX_ALLOW_FILES | TERN_SANDBOX_ALLOW(TERN_SANDBOX_PRINT);
    options.timeout_ns = 5000000000u;
    tern_status status = tern_sandbox_run(&options, &result);
    if (status != TERN_OK) {
        fprintf(stderr, "sandbox: %s\n", tern_error_detail());
        return status == TERN_ERR_UNSUPPORTED ? NOT_HERE : NOT_RUN;
    }
    return tell(&result);
}
