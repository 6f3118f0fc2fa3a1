/* What runs many of history_kind do with requests (tern/hashtable_request.h). */

#ifndef TERN_TESTS_REQUEST_KINDS_H
#define TERN_TESTS_REQUEST_KINDS_H

#include "histories/record.h"

size_t history_insert_requests(tern_worker *worker, const history_target *target,
                               history_operation *o, size_t count);
size_t history_insert_new_requests(tern_worker *worker, const history_target *target,
                                   history_operation *o, size_t count);
size_t history_find_requests(tern_worker *worker, const history_target *target,
                             history_operation *o, size_t count);
/* The same of counters. */
size_t history_count_requests(tern_worker *worker, const history_target *target,
                              history_operation *o, size_t count);
size_t history_add_requests(tern_worker *worker, const history_target *target, history_operation *o,
                            size_t count);

#endif
