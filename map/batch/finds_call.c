#include "map/batch/finds.h"

#include "map/op/message.h"

typedef struct finds_answer {
    size_t words;
    uint64_t word[TERN_MAP_FOUND_WORDS];
} finds_answer;

/* Finds one key. TERN_ERR_RANGE: the answer has too little room left. */
static tern_status finds_one(tern_map_op *m, finds_answer *a) {
    const size_t left = 8 * (TERN_MAP_FOUND_WORDS - a->words - 1), room = m->room;
    m->value = a->word + a->words + 1;
    m->room = room < left ? room : left;
    m->value_bytes = 0;
    m->at_hand = true;
    tern_status status = tern_map_op_run(m);
    const size_t bytes = m->value_bytes;
    tern_map_found found = TERN_MAP_HERE;
    if (status == TERN_ERR_NOT_FOUND)
        found = TERN_MAP_ABSENT;
    else if (status == TERN_ERR_RANGE && bytes > room)
        found = TERN_MAP_LARGE;
    else if (m->is_far || (status == TERN_ERR_RANGE && bytes > TERN_PIECE_BYTES - 8))
        found = TERN_MAP_LATER;
    else if (status != TERN_OK)
        return status;
    char *value = (char *)(a->word + a->words + 1);
    a->word[a->words++] = tern_map_found_word(found, bytes);
    if (found == TERN_MAP_HERE) {
        memset(value + bytes, 0, 8 * tern_map_words(bytes) - bytes);
        a->words += tern_map_words(bytes);
    }
    return TERN_OK;
}

/* Leaves as many items as fit where an answer needs no memory of the segment. */
static void finds_cut(finds_answer *a) {
    const size_t items = a->word[0];
    size_t done = 0, end = 1;
    for (; done < items; done++) {
        const bool here = (uint32_t)a->word[end] == TERN_MAP_HERE;
        const size_t next = end + 1 + (here ? tern_map_words(a->word[end] >> 32) : 0);
        if (8 * next > TERN_RESULT_MAX)
            break;
        end = next;
    }
    if (done == 0) {
        a->word[end++] = tern_map_found_word(TERN_MAP_LATER, 0);
        done = 1;
    }
    a->word[0] = done;
    a->words = end;
}

tern_status tern_map_on_finds(tern_call_info *call, const void *message, size_t bytes) {
    tern_map *map;
    tern_map_items items;
    finds_answer a;
    tern_status status = tern_map_items_of(call, message, bytes, TERN_PIECE_BYTES, &map, &items);
    if (status != TERN_OK)
        return status;
    a.words = 1;
    a.word[0] = 0;
    while (items.words > 0 && status == TERN_OK && a.words < TERN_MAP_FOUND_WORDS) {
        tern_map_op m;
        status = tern_map_items_next(&items, call->worker, &m);
        if (status == TERN_OK && (m.op.kind != TERN_OP_FIND || m.key.bytes == NULL))
            status = tern_fail(TERN_ERR_ARGUMENT, "an item of a batch that finds nothing");
        if (status == TERN_OK)
            status = finds_one(&m, &a);
        a.word[0] += status == TERN_OK;
    }
    /* What was found counts; a failure that lasts then comes first. */
    if (a.word[0] == 0)
        return status;
    if (tern_call_result(call, 8 * a.words) != TERN_OK) {
        finds_cut(&a);
        call->result_bytes = 8 * a.words;
    }
    tern_error_clear();
    memcpy(call->result, a.word, 8 * a.words);
    return TERN_OK;
}
