/* Runs an untrusted program that can see only the files of one directory.
 * Run: sandbox PROGRAM DIRECTORY [WORD]... */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tern/sandbox.h>

enum { BAD_USAGE = 2, NOT_RUN = 125, TIMED_OUT = 124, SIGNALLED = 128, NOT_HERE = 77 };

static const char help[] =
    "usage: sandbox PROGRAM DIRECTORY [WORD]...\n"
    "\n"
    "Runs PROGRAM, which gets the words, in a sandbox. It can read and write the files\n"
    "beneath DIRECTORY, and print.\n"
    "\n"
    "Exit status: that of the program; 124 its 5 s were over, 125 it could not be run,\n"
    "128 and more a signal killed it, 2 bad usage, 77 this system has no sandboxes.\n";

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
    if (argc > 1 && strcmp(argv[1], "--help") == 0) {
        fputs(help, stdout);
        return 0;
    }
    if (argc < 3 || argv[1][0] == '-') {
        fprintf(stderr, "sandbox: %s%s; --help says more\n",
                argc < 2 || argv[1][0] != '-' ? "a program and a directory are needed"
                                              : "there is no option ",
                argc < 2 || argv[1][0] != '-' ? "" : argv[1]);
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
