#include "map/modify.h"

/* Values that are numbers: modifiers of the library's own. */

/* The number that is the value. [out] number: 0 if the key is not there. wanted: numbers that the
 * argument has; it may come from another rank. */
static tern_status count_read(const tern_map_modify_info *info, size_t wanted, uint64_t *number) {
    *number = 0;
    if (info->argument_bytes != wanted * sizeof *number)
        return tern_fail(TERN_ERR_ARGUMENT, "an argument of %zu bytes; %zu numbers have %zu",
                         info->argument_bytes, wanted, wanted * sizeof *number);
    if (info->existed != 0 && info->value_bytes != sizeof *number)
        return tern_fail(TERN_ERR_RANGE, "the value has %zu bytes; a number has %zu",
                         info->value_bytes, sizeof *number);
    if (info->existed != 0)
        memcpy(number, info->value, sizeof *number);
    return TERN_OK;
}

static tern_status count_write(tern_map_modify_info *info, uint64_t before, uint64_t number) {
    tern_status status = tern_map_resize(info, sizeof number);
    if (status != TERN_OK)
        return status;
    memcpy(info->value, &number, sizeof number);
    memcpy(info->result, &before, sizeof before);
    info->result_bytes = sizeof before;
    return TERN_OK;
}

static tern_status tern_map_on_add(tern_map_modify_info *info) {
    uint64_t before;
    tern_status status = count_read(info, 1, &before);
    return status == TERN_OK ? count_write(info, before, before + *(const uint64_t *)info->argument)
                             : status;
}
TERN_MAP_MODIFIER_ANY_THREAD(tern_map_on_add)
const tern_map_modifier *const tern_map_adding = &tern_map_on_add_modifier;

static tern_status tern_map_on_compare_swap(tern_map_modify_info *info) {
    const uint64_t *numbers = info->argument;
    uint64_t before;
    tern_status status = count_read(info, 2, &before);
    return status == TERN_OK ? count_write(info, before, before == numbers[0] ? numbers[1] : before)
                             : status;
}
TERN_MAP_MODIFIER_ANY_THREAD(tern_map_on_compare_swap)

tern_status tern_map_add(tern_worker *worker, tern_map *map, const void *key, size_t key_bytes,
                         uint64_t delta, tern_flags flags, uint64_t *before) {
    uint64_t was = 0;
    tern_status status = tern_map_modify_as(
        "tern_map_add", worker, map, key, key_bytes, &tern_map_on_add_modifier, &delta,
        sizeof delta, TERN_ABSENT_INSERT, flags, &was, sizeof was, NULL, NULL);
    if (status == TERN_OK && before != NULL)
        *before = was;
    return status;
}

tern_status tern_map_compare_swap(tern_worker *worker, tern_map *map, const void *key,
                                  size_t key_bytes, uint64_t expected, uint64_t desired,
                                  tern_flags flags, uint64_t *before) {
    const uint64_t numbers[] = {expected, desired};
    uint64_t was = 0;
    tern_status status = tern_map_modify_as(
        "tern_map_compare_swap", worker, map, key, key_bytes, &tern_map_on_compare_swap_modifier,
        numbers, sizeof numbers, TERN_ABSENT_FAIL, flags, &was, sizeof was, NULL, NULL);
    if (status == TERN_OK && before != NULL)
        *before = was;
    return status;
}
