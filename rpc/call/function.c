#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "rpc/state.h"
#include "src/collective/collective.h"
#include "src/mpi/mpi.h"

/* The functions of the process, mostly registered before main(). Contexts copy what they need of
 * this table. A function's id is its position in the table, from 1. */
#define FUNCTIONS_MAX 65535u

static struct {
    pthread_mutex_t lock;
    tern_function **function;
    uint32_t count, room;
    tern_status broken; /* the first failure before main(), which context creation returns */
    char why[512];
} registry = {PTHREAD_MUTEX_INITIALIZER, NULL, 0, 0, TERN_OK, ""};

/* Compares two names without the parameters that remote.h appends to them. */
static bool same_function(const char *a, const char *b) {
    size_t length = strcspn(a, "(");
    return strcspn(b, "(") == length && memcmp(a, b, length) == 0;
}

static tern_status function_add(tern_function *function) {
    for (uint32_t i = 0; i < registry.count; i++) {
        const tern_function *there = registry.function[i];
        if (!same_function(there->name, function->name))
            continue;
        if (there->handler == function->handler && there->user != function->user &&
            strcmp(there->name, function->name) == 0)
            return tern_fail(TERN_ERR_EXISTS,
                             "function %s is registered with another user pointer; give this one "
                             "a name of its own",
                             function->name);
        if (there->handler != function->handler || strcmp(there->name, function->name) != 0)
            return tern_fail(TERN_ERR_EXISTS,
                             "function %s cannot be registered beside function %s, which has the "
                             "same name; rename one of them",
                             function->name, there->name);
        function->id = i + 1;
        return TERN_OK;
    }
    if (registry.count == FUNCTIONS_MAX)
        return tern_fail(TERN_ERR_FULL, "%u functions are registered; %s is one too many",
                         FUNCTIONS_MAX, function->name);
    if (registry.count == registry.room) {
        uint32_t room = registry.room == 0 ? 64 : registry.room * 2;
        tern_function **larger = realloc(registry.function, room * sizeof *larger);
        if (larger == NULL)
            return tern_fail(TERN_ERR_MEMORY, "no memory to register %s", function->name);
        registry.function = larger;
        registry.room = room;
    }
    registry.function[registry.count++] = function;
    function->id = registry.count;
    return TERN_OK;
}

tern_status tern_function_register(tern_function *function) {
    if (function == NULL || function->name == NULL || function->name[0] == 0 ||
        function->handler == NULL)
        return tern_fail(TERN_ERR_ARGUMENT,
                         "tern_function_register: a function needs a name and a handler");
    pthread_mutex_lock(&registry.lock);
    tern_status status = function_add(function);
    pthread_mutex_unlock(&registry.lock);
    return status;
}

void tern_internal_function_declare(tern_function *function) {
    tern_status status = tern_function_register(function);
    pthread_mutex_lock(&registry.lock);
    if (registry.broken == TERN_OK && status != TERN_OK) {
        registry.broken = status;
        snprintf(registry.why, sizeof registry.why, "%s", tern_error_detail());
    }
    pthread_mutex_unlock(&registry.lock);
}

static int by_name(const void *a, const void *b) {
    const tern_function *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

static tern_status copy_registry(tern_rpc *rpc) {
    tern_status status = TERN_OK;
    pthread_mutex_lock(&registry.lock);
    if (registry.broken != TERN_OK)
        status = tern_fail(registry.broken, "%s", registry.why);
    rpc->count = registry.count;
    rpc->ids = registry.count + 1;
    size_t room = rpc->count + 1; /* never zero */
    tern_function **sorted = malloc(room * sizeof *sorted);
    rpc->function = calloc(room, sizeof *rpc->function);
    rpc->name = calloc(room, sizeof *rpc->name);
    rpc->header = calloc(room, sizeof *rpc->header);
    rpc->refused = calloc(room, sizeof *rpc->refused);
    if (sorted == NULL || rpc->function == NULL || rpc->name == NULL || rpc->header == NULL ||
        rpc->refused == NULL) {
        status = tern_fail(TERN_ERR_MEMORY, "no memory for %u functions", rpc->count);
    } else {
        if (rpc->count > 0) {
            memcpy(sorted, registry.function, rpc->count * sizeof *sorted);
            qsort(sorted, rpc->count, sizeof *sorted, by_name);
        }
        for (uint32_t i = 0; i < rpc->count; i++) {
            rpc->function[i] = (tern_rpc_function){sorted[i]->handler, sorted[i]->user};
            rpc->name[i] = sorted[i]->name;
            /* header[0] stays 0: functions that were never registered have id 0. */
            rpc->header[sorted[i]->id] = tern_record_header(TERN_RECORD_CALL, i, 0);
        }
    }
    pthread_mutex_unlock(&registry.lock);
    free(sorted);
    return status;
}

static uint64_t function_fingerprint(const tern_rpc *rpc) {
    uint64_t hash = rpc->count;
    for (uint32_t i = 0; i < rpc->count; i++)
        hash = XXH3_64bits_withSeed(rpc->name[i], strlen(rpc->name[i]) + 1, hash);
    return hash;
}

/* Finds the first name that only one of two sorted lists has. theirs: names, each with its final
 * zero. */
static tern_status find_difference(const tern_context *context, const tern_rpc *rpc,
                                   const char *theirs, size_t bytes) {
    const char *their = theirs, *end = theirs + bytes;
    uint32_t i = 0;
    while (i < rpc->count || their < end) {
        int order = i == rpc->count ? 1 : their == end ? -1 : strcmp(rpc->name[i], their);
        if (order != 0 && i < rpc->count && their < end && same_function(rpc->name[i], their))
            return tern_fail(
                TERN_ERR_MISMATCH,
                "function %s of rank %u is %s on rank 0; register the same functions on every rank",
                rpc->name[i], context->rank, their);
        if (order != 0)
            return tern_fail(TERN_ERR_MISMATCH,
                             "function %s is registered on rank %u but not on rank %u; register "
                             "the same functions on every rank",
                             order < 0 ? rpc->name[i] : their, order < 0 ? context->rank : 0,
                             order < 0 ? 0 : context->rank);
        i++;
        their += strlen(their) + 1;
    }
    return TERN_OK;
}

/* Rank 0 sends its names to all; a rank with other names reports the first difference. */
static tern_status explain_difference(tern_context *context, const tern_rpc *rpc) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < rpc->count && context->rank == 0; i++)
        bytes += strlen(rpc->name[i]) + 1;
    tern_status status = tern_collective_sum(context, NULL, &bytes, 1);
    if (status != TERN_OK)
        return status;
    char *names = malloc(bytes + 1);
    status = names != NULL ? TERN_OK : tern_fail(TERN_ERR_MEMORY, "no memory to compare functions");
    status = tern_collective_agree(context, NULL, status, "comparing functions");
    if (status == TERN_OK) {
        char *at = names;
        for (uint32_t i = 0; i < rpc->count && context->rank == 0; i++)
            at = stpcpy(at, rpc->name[i]) + 1;
        status = tern_collective_broadcast(context, NULL, 0, names, bytes);
        if (status == TERN_OK)
            status = find_difference(context, rpc, names, bytes);
        status = tern_collective_agree(context, NULL, status, "comparing functions");
    }
    free(names);
    return status;
}

tern_status tern_functions_number(tern_context *context, tern_rpc *rpc) {
    tern_status status = copy_registry(rpc);
    status = tern_collective_agree(context, NULL, status, "numbering functions");
    if (status != TERN_OK)
        return status;
    uint64_t mine = function_fingerprint(rpc);
    if (tern_collective_same(context, NULL, &mine, sizeof mine, "functions") == TERN_OK)
        return TERN_OK;
    return explain_difference(context, rpc);
}
