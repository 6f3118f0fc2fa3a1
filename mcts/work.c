#include "mcts/work.h"

#include <stdlib.h>
#include <string.h>

/* Records, simulations, and the list of a worker's next steps. */

enum { CHUNK = 64 };

typedef struct tern_mcts_chunk {
    struct tern_mcts_chunk *next;
    _Alignas(64) char records[];
} tern_mcts_chunk;

static size_t work_record_bytes(const tern_mcts_worker *w) {
    return (sizeof(tern_mcts_record) + w->search->game.state_bytes + 63) / 64 * 64;
}

/* Allocates more records. A worker needs as many as it has tokens and kept messages at once. */
static bool more_records(tern_mcts_worker *w) {
    size_t bytes = work_record_bytes(w);
    tern_mcts_chunk *chunk = aligned_alloc(64, sizeof *chunk + CHUNK * bytes);
    if (chunk == NULL)
        return false;
    chunk->next = w->chunks;
    w->chunks = chunk;
    for (size_t i = 0; i < CHUNK; i++) {
        tern_mcts_record *record = (tern_mcts_record *)(void *)(chunk->records + i * bytes);
        record->home = w;
        record->next = w->records;
        w->records = record;
    }
    return true;
}

tern_mcts_record *tern_mcts_record_take(tern_mcts_worker *w) {
    if (w->records == NULL)
        /* R8: work_push */
        w->records = atomic_exchange_explicit(&w->returned, NULL, memory_order_acquire);
    if (w->records == NULL && !more_records(w)) {
        tern_mcts_fail(w->search, tern_fail(TERN_ERR_MEMORY,
                                            "no memory for %d more records of a search's "
                                            "work; start fewer rollouts at a time",
                                            (int)CHUNK));
        return NULL;
    }
    tern_mcts_record *record = w->records;
    w->records = record->next;
    return record;
}

/* Pushes a record on a stack from which the owner takes all records at once. No single record is
 * ever popped, so the compare-and-swap has no ABA problem. */
static void work_push(_Atomic(tern_mcts_record *) *stack, tern_mcts_record *record) {
    /* R8: tern_mcts_record_take, empty_inbox */
    record->next = atomic_load_explicit(stack, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(stack, &record->next, record,
                                                  memory_order_release, memory_order_relaxed))
        ;
}

void tern_mcts_record_give(tern_mcts_worker *w, tern_mcts_record *record) {
    if (record->home != w) {
        work_push(&record->home->returned, record);
        return;
    }
    record->next = w->records;
    w->records = record;
}

void tern_mcts_records_free(tern_mcts_worker *w) {
    while (w->chunks != NULL) {
        tern_mcts_chunk *next = w->chunks->next;
        free(w->chunks);
        w->chunks = next;
    }
}

/* Chooses the thread that plays: a random worker of the process if that one is idle, otherwise this
 * worker, which has the leaf in its caches. */
static tern_mcts_worker *who_plays(tern_mcts_worker *w) {
    tern_search *s = w->search;
    if (s->workers == 1)
        return w;
    tern_mcts_worker *other = &s->worker[tern_random_below(&w->random, s->workers)];
    /* R4 */
    return atomic_load_explicit(&other->idle, memory_order_relaxed) ? other : w;
}

void tern_mcts_simulate(tern_mcts_worker *w, const char *state, uint64_t name, uint32_t slot,
                        uint32_t depth) {
    const tern_search *s = w->search;
    tern_search_statistics *statistics = &w->statistics;
    statistics->completions++;
    statistics->depth_sum += depth;
    if (depth > statistics->depth_most)
        statistics->depth_most = depth;
    tern_mcts_record *record = tern_mcts_record_take(w);
    if (record == NULL)
        return;
    record->kind = TERN_MCTS_SIMULATE;
    record->message.name = name;
    record->message.slot = slot;
    memcpy(record->state, state, s->game.state_bytes);
    tern_mcts_worker *player = who_plays(w);
    if (player == w)
        tern_mcts_append(&w->work, record);
    else
        work_push(&player->inbox, record);
}

/* Plays one game with the functions that every game has. */
static uint32_t play_out(tern_mcts_worker *w, const char *state) {
    const tern_game *game = &w->search->game;
    tern_game_result result;
    memcpy(w->played, state, game->state_bytes);
    while ((result = game->result(w->played, game->argument)) == TERN_GAME_OPEN) {
        uint32_t count = game->moves(w->played, w->moves, game->argument);
        if (count == 0)
            return TERN_GAME_DRAWN; /* the game is invalid, which tree.c reports */
        game->play(w->played, w->moves[tern_random_below(&w->random, count)], game->argument);
    }
    return result;
}

static uint32_t play_all(tern_mcts_worker *w, const char *state) {
    const tern_game *game = &w->search->game;
    uint32_t times = w->search->options.simulations, won = 0;
    if (game->rollouts != NULL)
        return game->rollouts(state, times, &w->random, game->argument);
    for (uint32_t i = 0; i < times; i++)
        won += play_out(w, state);
    return won;
}

/* Plays; before a long simulation it sends the calls gathered for remote ranks. A simulation is
 * expected to take as long as the last one. */
static uint32_t play_in_turn(tern_mcts_worker *w, const char *state) {
    if (!w->search->remote)
        return play_all(w, state);
    if (w->slow)
        tern_call_uncork(w->worker);
    uint64_t began = tern_now();
    uint32_t won = play_all(w, state);
    w->slow = tern_now() - began > TERN_MCTS_SHORT_NS;
    return won;
}

static void work_simulate(tern_mcts_worker *w, const tern_mcts_record *record) {
    const tern_game *game = &w->search->game;
    uint32_t times = w->search->options.simulations;
    tern_game_result result = game->result(record->state, game->argument);
    uint32_t won = result != TERN_GAME_OPEN ? times * result : play_in_turn(w, record->state);
    if (won > 2 * times)
        tern_mcts_fail(w->search, tern_fail(TERN_ERR_ARGUMENT,
                                            "the game '%s' gives %u half points for %u rollouts",
                                            game->name, won, times));
    tern_mcts_back(w, record->message.name, record->message.slot, won);
}

/* Takes over the records that other threads of the process left, oldest first. */
static void empty_inbox(tern_mcts_worker *w) {
    /* R8: work_push */
    tern_mcts_record *stack = atomic_exchange_explicit(&w->inbox, NULL, memory_order_acquire);
    tern_mcts_record *queue = NULL;
    while (stack != NULL) {
        tern_mcts_record *next = stack->next;
        stack->next = queue;
        queue = stack;
        stack = next;
    }
    while (queue != NULL) {
        tern_mcts_record *next = queue->next;
        tern_mcts_append(&w->work, queue);
        queue = next;
    }
}

bool tern_mcts_work(tern_mcts_worker *w) {
    /* R4 */
    if (atomic_load_explicit(&w->inbox, memory_order_relaxed) != NULL)
        empty_inbox(w);
    if (w->work.first == NULL)
        return false;
    tern_mcts_record *record = tern_mcts_take_first(&w->work);
    const tern_mcts_message *m = &record->message;
    if (record->kind == TERN_MCTS_SIMULATE)
        work_simulate(w, record);
    else if (record->kind == TERN_MCTS_RETRY)
        tern_mcts_retry(w, m->name, m->slot, m->count);
    else
        for (uint32_t i = 0; i < m->count; i++)
            tern_mcts_go(w, m->name, m->from, m->slot, m->depth);
    tern_mcts_record_give(w, record);
    return true;
}
