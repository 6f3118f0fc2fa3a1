#include "src/collective/object.h"

#include <stdio.h>

#include "base/error.h"

void tern_object_add(tern_context *context, tern_object *object, const char *kind) {
    tern_object **at = &context->objects;
    while (*at != NULL)
        at = &(*at)->next;
    *object = (tern_object){.kind = kind};
    *at = object;
}

void tern_object_remove(tern_context *context, tern_object *object) {
    for (tern_object **at = &context->objects; *at != NULL; at = &(*at)->next)
        if (*at == object) {
            *at = object->next;
            return;
        }
}

void tern_object_leave(tern_context *context, tern_object *object,
                       void (*discard)(tern_object *object)) {
    *object = (tern_object){.next = context->left, .discard = discard};
    context->left = object;
}

void tern_objects_discard(tern_context *context) {
    for (tern_object *object; (object = context->left) != NULL;) {
        context->left = object->next;
        object->discard(object);
    }
}

size_t tern_objects_name(const tern_context *context, char *text, size_t room) {
    size_t count = 0, used = 0;
    text[0] = 0;
    for (const tern_object *o = context->objects; o != NULL; o = o->next, count++)
        if (used < room)
            used +=
                (size_t)snprintf(text + used, room - used, "%s%s", count > 0 ? ", " : "", o->kind);
    return count;
}

tern_status tern_objects_check(const tern_context *context, const char *function) {
    char kinds[160];
    const size_t count = tern_objects_name(context, kinds, sizeof kinds);
    if (count == 0)
        return TERN_OK;
    return tern_fail(TERN_ERR_STATE, "%s: %zu object%s still alive: %s; destroy %s first", function,
                     count, count == 1 ? " is" : "s are", kinds, count == 1 ? "it" : "them");
}
