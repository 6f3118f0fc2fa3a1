#ifndef TERN_SRC_COLLECTIVE_OBJECT_H
#define TERN_SRC_COLLECTIVE_OBJECT_H

/*
 * Objects: what the ranks of a context have created together and have to destroy before it. Each
 * embeds a tern_object, and the context lists them in the order of their creation.
 */

#include "src/context.h"

struct tern_object {
    struct tern_object *next;
    const char *kind; /* "hash table" */
    void (*discard)(struct tern_object *object);
};

/* Called by the collective functions that create and destroy objects, of which a process makes one
 * at a time. An object whose creation succeeded is added last of all. */
void tern_object_add(tern_context *context, tern_object *object, const char *kind);
/* One that was never added is fine. */
void tern_object_remove(tern_context *context, tern_object *object);

/* Keeps an object whose creation a death has ended: other ranks may have returned from it, and call
 * this one. discard frees it with the context. */
void tern_object_leave(tern_context *context, tern_object *object,
                       void (*discard)(tern_object *object));
void tern_objects_discard(tern_context *context);

/* TERN_ERR_STATE, naming them, if there are any. */
tern_status tern_objects_check(const tern_context *context, const char *function);

/* Writes their kinds, "hash table, queue", as far as there is room; returns how many they are. */
size_t tern_objects_name(const tern_context *context, char *text, size_t room);

#endif
