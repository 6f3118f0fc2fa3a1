/*
 * A program that links libtern and libtern_mailbox: the detail of a failure in one of them is
 * returned by tern_error_detail of either, because both use one state of the thread.
 */

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "tern/mailbox_host.h"
#include "tern/queue.h"

typedef const char *detail_function(void);

/* tern_error_detail as this program links it, and those of the shared libraries that it loads. */
static detail_function *details[3] = {tern_error_detail};
static int detail_count = 1;

static void add_library(const char *file) {
    void *library = dlopen(file, RTLD_NOW | RTLD_NOLOAD);
    void *symbol = library != NULL ? dlsym(library, "tern_error_detail") : NULL;
    if (symbol != NULL)
        memcpy(&details[detail_count++], &symbol, sizeof symbol);
    if (library != NULL)
        (void)dlclose(library); /* the program still has it */
}

/* Whether every library says that the last failure was this one. */
static int all_say(const char *text) {
    int wrong = 0;
    for (int i = 0; i < detail_count; i++)
        if (strstr(details[i](), text) == NULL) {
            printf("'%s' instead of '%s' (%d of %d)\n", details[i](), text, i + 1, detail_count);
            wrong = 1;
        }
    return !wrong;
}

static int fail_in_libtern(void) {
    tern_queue *queue;
    return tern_queue_create(NULL, NULL, &queue) == TERN_ERR_ARGUMENT && all_say("queue");
}

static int fail_in_mailbox(void) {
    tern_mailbox_options options = {0, 1, 0};
    tern_mailbox_share *share;
    return tern_mailbox_create(&options, &share) == TERN_ERR_ARGUMENT && all_say("mailbox");
}

/* A thread of its own has failed in nothing. */
static void *in_a_thread(void *good) {
    int *result = good;
    *result = strcmp(tern_error_detail(), "") == 0 && fail_in_mailbox() && fail_in_libtern();
    return NULL;
}

int main(int argc, char **argv) {
    int good = 0;
    for (int i = 1; i < argc; i++)
        add_library(argv[i]);
    if (detail_count != argc) {
        printf("%d of %d libraries are loaded\n", detail_count - 1, argc - 1);
        return 1;
    }
    if (!fail_in_libtern() || !fail_in_mailbox() || !fail_in_libtern())
        return 1;
    pthread_t thread;
    if (pthread_create(&thread, NULL, in_a_thread, &good) != 0 || pthread_join(thread, NULL) != 0)
        return 1;
    return !good || !all_say("queue");
}
