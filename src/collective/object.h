#ifndef TERN_SRC_COLLECTIVE_OBJECT_H
#define TERN_SRC_COLLECTIVE_OBJECT_H

/*
 * Objects: things that the ranks of a context have created together and must destroy before the
 * context. Each embeds a tern_object, and the context lists them in the order of their creation.
 */

#include "src/context.h"

struct tern_object {
    struct tern_object *next;
    const char *kind; /* "hash table" */
    void (*discard)(struct tern_object *object);
};

/* Only the collective functions that create and destroy objects call these, and a process is in one
 * of them at a time. Adding is the last step of a creation that succeeds. */
void tern_object_add(tern_context *context, tern_object *object, const char *kind);
/* An object that was never added is fine. */
void tern_object_remove(tern_context *context, tern_object *object);

/* Keeps an object whose creation ended with a death: on other ranks the creation may have
 * succeeded, and they may call this rank. discard frees it together with the context. */
void tern_object_leave(tern_context *context, tern_object *object,
                       void (*discard)(tern_object *object));
void tern_objects_discard(tern_context *context);

/* TERN_ERR_STATE, with their kinds, if the context has objects. */
tern_status tern_objects_check(const tern_context *context, const char *function);

/* Writes the kinds of the objects, such as "hash table, queue", cut to fit room; returns the number
 * of objects. */
size_t tern_objects_name(const tern_context *context, char *text, size_t room);

#endif
