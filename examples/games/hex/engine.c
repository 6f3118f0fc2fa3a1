#include "examples/games/hex/engine.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "examples/games/hex/game.h"
#include "tern/call.h"
#include "tern/progress.h"

typedef enum order_kind {
    ORDER_SIZE,
    ORDER_BOARD,
    ORDER_MOVE,
    ORDER_RUN,
    ORDER_COUNT,
    ORDER_STOP
} order_kind;

/* An order, which all workers carry out together. */
typedef struct order {
    order_kind kind;
    uint32_t size, swap; /* ORDER_SIZE: make a search for boards of this size */
    uint32_t move;       /* ORDER_MOVE: the move that was made */
    hex_board board;     /* ORDER_BOARD: the board to begin with */
    tern_search_limits limits;
} order;

/* Most orders that have come to a worker and are not carried out yet. Rank 0 gives an order only
 * after it has carried out the one before, and because runs are collective, no worker is more than
 * one order behind. */
enum { ORDERS = 4 };

typedef struct hand {
    hex_engine *engine;
    tern_worker *worker;
    pthread_t thread;
    uint32_t come;            /* number of orders that have come */
    _Atomic uint32_t reached; /* number of the order that is being carried out */
    order order[ORDERS];
} hand;

struct hex_engine {
    tern_context *context;
    tern_search_options options;
    hex_geometry geometry;
    hex_board board; /* the board of the search */
    bool holds;      /* the search has a board */
    uint32_t seen;   /* number of moves that led to it */
    uint32_t move[HEX_MOVES_MOST];
    tern_search *search;
    tern_search_result result;
    tern_search_statistics statistics;
    uint32_t workers;
    hand *hand;          /* one for each worker */
    uint32_t threads;    /* number of threads that were started */
    _Atomic bool ending; /* no more orders will come */
};

/* A process has one engine, which handlers find here. */
static hex_engine *the_engine;

static tern_status hex_take_order(tern_call_info *call, const void *arguments, size_t bytes) {
    hand *h = &the_engine->hand[tern_worker_self(call->worker).index];
    if (bytes != sizeof(order))
        return TERN_ERR_ARGUMENT;
    if (h->come - h->reached >= ORDERS)
        return TERN_ERR_AGAIN;
    memcpy(&h->order[h->come % ORDERS], arguments, bytes);
    h->come++;
    return TERN_OK;
}
TERN_FUNCTION(hex_take_order)

static void nap(void) {
    const struct timespec millisecond = {0, 1000000};
    (void)nanosleep(&millisecond, NULL);
}

/* Waits for the next order for h and returns it, or NULL if none will come. After some time without
 * work the worker sleeps between two looks, because people think for a long time. */
static const order *wait_for_order(hand *h) {
    for (uint32_t idle = 0; h->come == h->reached; idle++)
        if (tern_progress(h->worker) > 0)
            idle = 0;
        else if (h->engine->ending)
            return NULL;
        else if (idle > 10000)
            nap();
    return &h->order[h->reached % ORDERS];
}

/* Waits until all workers of this process have reached the same order, and so have completed the
 * one before, or until the engine is ending. */
static void meet(hand *h) {
    hex_engine *e = h->engine;
    uint32_t here = atomic_fetch_add(&h->reached, 1) + 1;
    for (uint32_t i = 0; i < e->workers; i++)
        while ((int32_t)(atomic_load(&e->hand[i].reached) - here) < 0 && !e->ending)
            if (tern_progress(h->worker) == 0)
                (void)sched_yield();
}

static tern_status make_search(hex_engine *e, tern_worker *worker, const order *o) {
    tern_status status = tern_search_destroy(worker, e->search);
    e->search = NULL;
    e->holds = false;
    if (status != TERN_OK)
        return status;
    e->geometry = hex_geometry_of(o->size, o->swap != 0);
    tern_game game = hex_game(&e->geometry);
    return tern_search_create(worker, &game, &e->options, &e->search);
}

static tern_status set_board(hex_engine *e, tern_worker *worker, const order *o) {
    tern_status status = tern_search_reset(worker, e->search, &o->board);
    e->board = o->board;
    e->holds = status == TERN_OK;
    return status;
}

static tern_status make_move(hex_engine *e, tern_worker *worker, const order *o) {
    tern_status status = tern_search_advance(worker, e->search, o->move);
    if (status == TERN_OK)
        hex_play(&e->geometry, &e->board, o->move);
    return status;
}

static tern_status carry_out(hand *h, const order *o) {
    hex_engine *e = h->engine;
    tern_search_result result;
    bool needs_search = o->kind != ORDER_SIZE && o->kind != ORDER_STOP;
    if (e->search == NULL && needs_search && (h == e->hand || o->kind == ORDER_RUN))
        return TERN_ERR_STATE;
    if (o->kind == ORDER_RUN) {
        tern_status status = tern_search_run(h->worker, e->search, &o->limits, &result);
        if (h == e->hand)
            e->result = result;
        return status;
    }
    if (h != e->hand)
        return TERN_OK;
    switch (o->kind) {
    case ORDER_SIZE:
        return make_search(e, h->worker, o);
    case ORDER_BOARD:
        return set_board(e, h->worker, o);
    case ORDER_MOVE:
        return make_move(e, h->worker, o);
    case ORDER_COUNT:
        return tern_search_get_statistics(h->worker, e->search, &e->statistics);
    default:
        return TERN_OK;
    }
}

/* [out] kind: kind of the order that was carried out. */
static tern_status serve_one(hand *h, order_kind *kind) {
    const order *o = wait_for_order(h);
    *kind = o != NULL ? o->kind : ORDER_STOP;
    if (o == NULL)
        return TERN_OK;
    meet(h);
    return carry_out(h, o);
}

/* Carries out orders. An error does not end a worker, because workers that still carry out the
 * order would wait for it. But the death of a rank ends all workers. Returns the first error. */
static tern_status serve(hand *h) {
    order_kind kind;
    tern_status status, first = TERN_OK;
    do {
        status = serve_one(h, &kind);
        first = first == TERN_OK ? status : first;
    } while (status != TERN_ERR_PEER && kind != ORDER_STOP);
    return first;
}

static void *serve_in_thread(void *argument) {
    hand *h = argument;
    (void)serve(h);
    tern_ignore(tern_worker_release(h->worker));
    return NULL;
}

bool hex_engine_serve(hex_engine *engine) { return serve(engine->hand) == TERN_OK; }

static bool give(hex_engine *e, const order *o) {
    order_kind kind;
    return tern_call_all(e->hand->worker, &hex_take_order_function, o, sizeof *o, NULL) ==
               TERN_OK &&
           serve_one(e->hand, &kind) == TERN_OK;
}

/* Brings the search to the position of the game: by the moves that it has not seen, if it has
 * followed the game so far, otherwise by a new board. */
static bool follow(hex_engine *e, const hex_record *r) {
    const hex_geometry *g = &r->geometry;
    if (e->search == NULL || e->geometry.size != g->size || e->geometry.swap != g->swap) {
        order resize = {.kind = ORDER_SIZE, .size = g->size, .swap = g->swap};
        if (!give(e, &resize))
            return false;
    }
    bool followed =
        e->holds && e->seen <= r->count && memcmp(e->move, r->move, e->seen * sizeof *e->move) == 0;
    for (uint32_t i = e->seen; followed && i < r->count; i++) {
        order move = {.kind = ORDER_MOVE, .move = r->move[i]};
        followed = e->board.player == r->player[i];
        if (followed && !give(e, &move))
            return false;
    }
    if (!followed || memcmp(&e->board, &r->board, sizeof e->board) != 0) {
        order begin = {.kind = ORDER_BOARD, .board = r->board};
        if (!give(e, &begin))
            return false;
    }
    e->seen = r->count;
    memcpy(e->move, r->move, e->seen * sizeof *e->move);
    return true;
}

bool hex_engine_think(hex_engine *engine, const hex_record *record,
                      const tern_search_limits *limits, tern_search_result *result) {
    order run = {.kind = ORDER_RUN, .limits = *limits};
    if (!follow(engine, record) || !give(engine, &run))
        return false;
    *result = engine->result;
    return true;
}

bool hex_engine_statistics(hex_engine *engine, tern_search_statistics *statistics) {
    order count = {.kind = ORDER_COUNT};
    memset(statistics, 0, sizeof *statistics);
    if (engine->search != NULL && !give(engine, &count))
        return false;
    *statistics = engine->statistics;
    return true;
}

void hex_engine_stop(hex_engine *engine) {
    order stop = {.kind = ORDER_STOP};
    (void)give(engine, &stop);
}

static bool complain(const char *what) {
    fprintf(stderr, "tern-hex: %s: %s\n", what, tern_error_detail());
    return false;
}

static bool start_threads(hex_engine *e) {
    for (uint32_t i = 0; i < e->workers; i++) {
        hand *h = &e->hand[i];
        h->engine = e;
        if (tern_worker_adopt(e->context, i, &h->worker) != TERN_OK)
            return complain("a worker");
    }
    for (; e->threads + 1 < e->workers; e->threads++) {
        hand *h = &e->hand[e->threads + 1];
        if (pthread_create(&h->thread, NULL, serve_in_thread, h) != 0) {
            fprintf(stderr, "tern-hex: no thread for worker %u\n", e->threads + 1);
            return false;
        }
    }
    return true;
}

hex_engine *hex_engine_start(const tern_config *config, const tern_search_options *options) {
    hex_engine *e = calloc(1, sizeof *e);
    if (e == NULL)
        return NULL;
    e->options = *options;
    e->workers = (uint32_t)config->workers;
    e->hand = calloc(e->workers, sizeof *e->hand);
    the_engine = e;
    if (e->hand != NULL && tern_context_create(MPI_COMM_WORLD, config, &e->context) == TERN_OK &&
        start_threads(e))
        return e;
    if (e->context == NULL)
        (void)complain("cannot start");
    hex_engine_free(e);
    return NULL;
}

void hex_engine_free(hex_engine *engine) {
    if (engine == NULL)
        return;
    engine->ending = true;
    for (uint32_t i = 1; i <= engine->threads; i++)
        (void)pthread_join(engine->hand[i].thread, NULL);
    if (engine->context != NULL) {
        tern_ignore(tern_search_destroy(engine->hand->worker, engine->search));
        tern_ignore(tern_context_destroy(engine->context));
    }
    the_engine = NULL;
    free(engine->hand);
    free(engine);
}
