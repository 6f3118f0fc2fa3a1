#include "tern/part.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/error.h"
#include "src/collective/callee.h"
#include "src/collective/collective.h"
#include "src/collective/object.h"

struct tern_part {
    tern_context *context;
    tern_object object;
    tern_callee callee;
    const char *kind;
    void *data;
};

/* Allocates a part and draws a random number. The sum of these numbers over all ranks becomes the
 * id. */
static tern_status part_open(tern_part **part, uint64_t *random) {
    *part = calloc(1, sizeof **part);
    if (*part == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for a part");
    if (getrandom(random, sizeof *random, 0) != (ssize_t)sizeof *random)
        return tern_fail_system("getrandom");
    return TERN_OK;
}

tern_status tern_part_create(tern_worker *worker, const char *kind, void *data, tern_part **part) {
    static const char name[] = "tern_part_create";
    TERN_COLLECTIVE(worker, name);
    tern_status status = tern_worker_may_wait(worker, name);
    if (status != TERN_OK)
        return status;
    tern_context *context = worker->context;
    tern_part *fresh = NULL;
    uint64_t id = 0;
    status = kind == NULL || part == NULL
                 ? tern_fail(TERN_ERR_ARGUMENT, "%s: kind or part is NULL", name)
                 : part_open(&fresh, &id);
    status = tern_collective_agree(context, worker, status, name);
    if (status == TERN_OK)
        status = tern_collective_sum(context, worker, &id, 1);
    if (status != TERN_OK) {
        free(fresh);
        return status;
    }
    fresh->context = context;
    fresh->kind = kind;
    fresh->data = data;
    tern_callee_add(context, &fresh->callee, TERN_CALLEE_PART, id == 0 ? 1 : id, fresh);
    tern_object_add(context, &fresh->object, kind);
    *part = fresh;
    return TERN_OK;
}

uint64_t tern_part_id(const tern_part *part) { return part->callee.nonce; }

void *tern_part_find(const tern_worker *worker, const char *kind, uint64_t id) {
    const tern_part *part = tern_callee_find(worker->context, TERN_CALLEE_PART, id);
    /* Compares the pointers first: most callers pass the very string that the part was made with.
     */
    bool found = part != NULL && (part->kind == kind || strcmp(part->kind, kind) == 0);
    return found ? part->data : NULL;
}

void tern_part_destroy(tern_part *part) {
    if (part == NULL)
        return;
    tern_object_remove(part->context, &part->object);
    tern_callee_remove(part->context, &part->callee);
    free(part);
}
