#include "hashtable/batch/batch.h"

#include <stdio.h>

#include "hashtable/call.h"
#include "hashtable/operations.h"
#include "rpc/call/await.h"

/*
 * Many adds by calls: keys are gathered into one piece per owner; a full piece goes as one call,
 * and up to IN_FLIGHT of them are under way before the oldest reply is waited for. A piece is kept
 * until its reply says how far the owner got, since an owner that meets a bucket that another
 * origin is just writing must not wait: it stops there, and the rest is sent again. Keys of the
 * caller's own part, and of its node's if so wanted, are gathered too and counted in place.
 */
enum { PIECE_KEYS = 512, IN_FLIGHT = 32 };

typedef struct batch_head {
    tern_table_head head;
    uint64_t delta;
} batch_head;

typedef struct batch_reply {
    uint32_t done;  /* keys gone through */
    uint32_t added; /* of these, counted; the others found no room */
} batch_reply;

static tern_status tern_hashtable_on_add_many(tern_call_info *call, const void *message,
                                              size_t bytes) {
    const batch_head *head = message;
    tern_hashtable *table = tern_table_of_call(call->worker, message, bytes, sizeof *head);
    if (table == NULL)
        return tern_fail(TERN_ERR_STATE, "no such hash table here; was it destroyed?");
    size_t step = 8 * (size_t)table->shape.key_words, done, added;
    if (!tern_shape_counts(table->shape) || (bytes - sizeof *head) % step != 0)
        return tern_fail(TERN_ERR_ARGUMENT, "a batch of %zu bytes is not of whole keys", bytes);
    bool far_put;
    tern_status status =
        tern_operation_add_many(call->worker, table, head + 1, step, (bytes - sizeof *head) / step,
                                head->delta, true, &done, &added, &far_put);
    /* A failure with keys behind it is told as progress: the caller sends the rest again, and a
     * lasting one then comes first. */
    if (status != TERN_OK && done == 0)
        return status;
    batch_reply result = {(uint32_t)done, (uint32_t)added};
    memcpy(call->result, &result, sizeof result);
    call->result_bytes = sizeof result;
    return TERN_OK;
}
TERN_FUNCTION(tern_hashtable_on_add_many)

typedef struct piece {
    struct piece *next; /* in the list of those under way or not in use */
    tern_answer answer;
    uint32_t owner;
    size_t count;
    batch_head head; /* from here on it is the message */
    uint64_t keys[];
} piece;

typedef struct batch {
    tern_worker *worker;
    const tern_hashtable *table;
    uint64_t delta;
    bool local_in_place; /* nothing is called on this node */
    size_t piece_keys;
    size_t key_words;
    size_t added;
    bool far_put;
    piece *unused;
    piece *first, *last; /* under way, the oldest first */
    size_t under_way;
    piece *open[]; /* by owner; NULL: none begun */
} batch;

static tern_status adds_start(batch *b, piece *piece);

/* Waits for the oldest piece. On an error the piece is given up. */
static tern_status adds_finish_oldest(batch *b) {
    piece *piece = b->first;
    b->first = piece->next;
    if (b->first == NULL)
        b->last = NULL;
    b->under_way--;
    batch_reply result = {0, 0};
    size_t got;
    tern_status status = tern_answer_wait(b->worker, &piece->answer, &result, sizeof result, &got);
    if (status == TERN_OK && (got != sizeof result || result.done > piece->count ||
                              result.done == 0 || result.added > result.done))
        status =
            tern_fail(TERN_ERR_SYSTEM, "rank %u's reply to a batch makes no sense", piece->owner);
    if (status == TERN_OK) {
        b->added += result.added;
        piece->count -= result.done;
        if (piece->count > 0) {
            memmove(piece->keys, piece->keys + result.done * b->key_words,
                    8 * piece->count * b->key_words);
            return adds_start(b, piece);
        }
    }
    piece->next = b->unused;
    b->unused = piece;
    return status;
}

/* Sends a piece, which is then under way or, on an error, not in use. */
static tern_status adds_start(batch *b, piece *piece) {
    tern_status status;
    for (;;) {
        status =
            tern_answer_ask(b->worker, tern_table_worker(b->table, piece->owner),
                            &tern_hashtable_on_add_many_function, &piece->head,
                            sizeof piece->head + 8 * piece->count * b->key_words, &piece->answer);
        /* The program has the other requests: ours are the ones to wait for. */
        if (status != TERN_ERR_AGAIN || b->first == NULL)
            break;
        status = adds_finish_oldest(b);
        if (status != TERN_OK)
            break;
    }
    if (status != TERN_OK) {
        piece->next = b->unused;
        b->unused = piece;
        return status;
    }
    piece->next = NULL;
    if (b->last != NULL)
        b->last->next = piece;
    else
        b->first = piece;
    b->last = piece;
    b->under_way++;
    return TERN_OK;
}

/* Counts keys in place, waiting where a handler would not. */
static tern_status count_here(batch *b, piece *piece) {
    const bool own = piece->owner == b->table->rank;
    size_t done, added;
    tern_status status =
        tern_operation_add_many(b->worker, b->table, piece->keys, 8 * b->key_words, piece->count,
                                b->delta, own, &done, &added, &b->far_put);
    b->added += added;
    piece->next = b->unused;
    b->unused = piece;
    return status;
}

static tern_status adds_dispatch(batch *b, uint32_t owner) {
    piece *piece = b->open[owner];
    b->open[owner] = NULL;
    const bool here =
        owner == b->table->rank || (b->local_in_place && tern_same_node(b->table->context, owner));
    tern_status status = here ? count_here(b, piece) : adds_start(b, piece);
    while (status == TERN_OK && b->under_way > IN_FLIGHT)
        status = adds_finish_oldest(b);
    if (status == TERN_OK) /* progress may overwrite the text of a failure */
        (void)tern_progress_round(b->worker);
    return status;
}

static tern_status adds_open_piece(batch *b, uint32_t owner) {
    piece *piece = b->unused;
    if (piece != NULL)
        b->unused = piece->next;
    else
        piece = malloc(sizeof *piece + 8 * b->piece_keys * b->key_words);
    if (piece == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for a batch of %zu keys", b->piece_keys);
    piece->owner = owner;
    piece->count = 0;
    piece->head = (batch_head){tern_table_head_to(b->table), b->delta};
    b->open[owner] = piece;
    return TERN_OK;
}

/* A key of the caller's may lie at any address; a hash of the caller's gets aligned ones. */
static uint32_t owner_of(const tern_hashtable *table, const char *key) {
    if (__builtin_expect(table->key_hash == NULL, 1))
        return tern_hash_owner(table, table->key_bytes == 8 ? XXH3_64bits(key, 8)
                                                            : XXH3_64bits(key, table->key_bytes));
    tern_table_key aligned;
    tern_key_load(table, key, &aligned);
    return tern_hash_owner(table, aligned.hash);
}

/* Distributes the keys over pieces; kept small and apart since it sees every key. */
static tern_status adds_gather(batch *b, const char *keys, size_t count) {
    const tern_hashtable *table = b->table;
    for (size_t i = 0; i < count; i++) {
        const char *key = keys + i * table->key_bytes;
        uint32_t owner = owner_of(table, key);
        if (__builtin_expect(b->open[owner] == NULL, 0)) {
            tern_status status = adds_open_piece(b, owner);
            if (status != TERN_OK)
                return status;
        }
        piece *piece = b->open[owner];
        if (table->key_bytes == 8)
            memcpy(piece->keys + piece->count, key, 8);
        else
            tern_words_fill(piece->keys + piece->count * b->key_words, table->shape.key_words, key,
                            table->key_bytes);
        if (++piece->count == b->piece_keys) {
            tern_status status = adds_dispatch(b, owner);
            if (status != TERN_OK)
                return status;
        }
    }
    return TERN_OK;
}

static void adds_release(batch *b) {
    for (piece *next, *piece = b->unused; piece != NULL; piece = next) {
        next = piece->next;
        free(piece);
    }
    for (uint32_t owner = 0; owner < b->table->ranks; owner++)
        free(b->open[owner]);
    free(b);
}

tern_status tern_call_add_many(tern_worker *worker, const tern_hashtable *table, const char *keys,
                               size_t count, uint64_t delta, bool local_in_place, size_t *added,
                               bool *far_put) {
    batch *b = calloc(1, sizeof *b + table->ranks * sizeof b->open[0]);
    if (b == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for a batch to %u ranks", table->ranks);
    b->worker = worker;
    b->table = table;
    b->delta = delta;
    b->local_in_place = local_in_place;
    b->key_words = table->shape.key_words;
    size_t room = (tern_call_room(table->context) - sizeof(batch_head)) / (8 * b->key_words);
    b->piece_keys = room < PIECE_KEYS ? room : PIECE_KEYS;
    b->piece_keys = count < b->piece_keys ? count : b->piece_keys;
    tern_status status = adds_gather(b, keys, count);
    for (uint32_t owner = 0; status == TERN_OK && owner < table->ranks; owner++)
        if (b->open[owner] != NULL)
            status = adds_dispatch(b, owner);
    while (status == TERN_OK && b->first != NULL)
        status = adds_finish_oldest(b);
    /* Whatever happened, the answers to this frame's pieces have to be awaited. They may
     * overwrite the text of the failure. */
    if (status != TERN_OK) {
        char text[TERN_DETAIL_BYTES];
        snprintf(text, sizeof text, "%s", tern_error_detail());
        while (b->first != NULL)
            (void)adds_finish_oldest(b);
        status = tern_fail(status, "%s", text);
    }
    *added = b->added;
    *far_put = b->far_put;
    adds_release(b);
    return status;
}
