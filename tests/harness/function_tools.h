/*
 * Functions that a file of tern keeps to itself, for tests that call them with what nobody sends.
 */

#ifndef TERN_TESTS_HARNESS_FUNCTION_TOOLS_H
#define TERN_TESTS_HARNESS_FUNCTION_TOOLS_H

#include "fixture.h"
#include "rma/ring/ring.h"
#include "rpc/state.h"

/* As the context knows it. */
static inline tern_function function_of(const tern_context *context, const char *name) {
    const tern_rpc *rpc = tern_rpc_of(context);
    tern_function function = {name, NULL, NULL, 0};
    for (uint32_t i = 0; i < rpc->count; i++)
        for (uint32_t id = 1; strcmp(rpc->name[i], name) == 0 && id < rpc->ids; id++)
            if (rpc->header[id] == tern_record_header(TERN_RECORD_CALL, i, 0)) {
                function.handler = rpc->function[i].handler;
                function.id = id;
            }
    CU_ASSERT_PTR_NOT_NULL_FATAL(function.handler);
    return function;
}

#endif
