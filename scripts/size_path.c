/*
 * For scripts/size --path: rank 0 inserts a key that another rank owns, in a library of which every
 * function is compiled with -finstrument-functions and none is inlined. Prints "enter ADDRESS" and
 * "leave" for the functions of the insert, in their order, each address relative to where the
 * library lies.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tern/tern.h>

enum { EVENTS = 1 << 16 };

static _Thread_local bool records;
static void *event[EVENTS]; /* NULL: a function returns */
static size_t events;

void __cyg_profile_func_enter(void *function, void *site);
void __cyg_profile_func_exit(void *function, void *site);

void __cyg_profile_func_enter(void *function, void *site) {
    (void)site;
    if (records && events < EVENTS)
        event[events++] = function;
}

void __cyg_profile_func_exit(void *function, void *site) {
    (void)function;
    (void)site;
    if (records && events < EVENTS)
        event[events++] = NULL;
}

static void check(tern_status status) {
    if (status == TERN_OK)
        return;
    fprintf(stderr, "size_path: %s\n", tern_error_detail());
    abort();
}

static void print_events(void) {
    for (size_t i = 0; i < events; i++) {
        Dl_info info;
        if (event[i] == NULL)
            puts("leave");
        else if (dladdr(event[i], &info) != 0)
            printf("enter %#zx\n", (size_t)((char *)event[i] - (char *)info.dli_fbase));
    }
}

/* Inserts two keys of the other rank and watches the second: the first use of a table does more. */
static void insert(tern_worker *worker, tern_hashtable *table, tern_flags flags) {
    uint64_t key = 0, value = 1;
    for (int i = 0; i < 2; key++) {
        int existed;
        if (tern_hashtable_owner(table, &key) == 0)
            continue;
        records = ++i == 2;
        const tern_status status =
            tern_hashtable_insert(worker, table, &key, &value, flags, &existed);
        records = false;
        check(status);
    }
}

int main(int argc, char **argv) {
    tern_context *context;
    tern_worker *worker;
    tern_hashtable *table;
    const tern_hashtable_options options = {.key_bytes = 8, .value_bytes = 8, .capacity = 1000};
    MPI_Init(&argc, &argv);
    check(tern_context_create(MPI_COMM_WORLD, NULL, &context));
    check(tern_worker_adopt(context, 0, &worker));
    check(tern_hashtable_create(worker, &options, &table));
    const bool origin = tern_context_rank(context) == 0;
    if (origin)
        insert(worker, table,
               argc > 1 && strcmp(argv[1], "call") == 0 ? TERN_BY_CALL : TERN_BY_RMA);
    check(tern_barrier(worker));
    check(tern_hashtable_destroy(worker, table));
    check(tern_context_destroy(context));
    if (origin)
        print_events();
    return MPI_Finalize();
}
