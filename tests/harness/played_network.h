/*
 * A network that a test plays in shared memory, for ranks of one machine. Each process has a card:
 * a thread that moves the bytes of other ranks' posts into and out of this process's registered
 * memory. A game says what the network does wrong.
 *
 * Each rank has some slots, in memory that all ranks share:
 *
 *     FREE --origin posts--> POSTED --card or progress of the target--> MOVED --origin--> FREE
 */

#ifndef TERN_TESTS_HARNESS_PLAYED_NETWORK_H
#define TERN_TESTS_HARNESS_PLAYED_NETWORK_H

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/process.h"
#include "fixture.h"
#include "rma/network/network.h"

#define PLAYED_MAX ((size_t)1 << 20) /* bytes of a post */
enum { PLAYED_SLOTS = 16, PLAYED_MEMORIES = 256 };

/* Sizes of 0 stand for none. */
typedef struct played_game {
    uint64_t help_from;  /* transfers from this size on need progress of their target, */
    bool help_gets;      /* of these only gets */
    uint64_t lies_from;  /* from this size on completions come before the bytes, */
    uint64_t lies_every; /* of every so many transfers of lies_act */
    tern_network_act lies_act;
    bool lies_full;           /* only after a post was refused, since the queue was full */
    uint64_t loses_from;      /* transfers from this size on are lost, and said to be */
    bool silent;              /* nothing is said to be complete */
    uint64_t slow_from, slow; /* how long transfers from this size on take at least, ns */
    uint64_t stall_at, stall; /* the post of this number takes so long, ns */
    size_t post_max;
    bool local_memory;
    bool retires; /* a retired post moves nothing; otherwise it goes on */
} played_game;

enum { PLAYED_FREE, PLAYED_POSTED, PLAYED_MOVED };

typedef struct played_slot {
    _Atomic int state;
    _Atomic bool held; /* the card does not move it yet */
    uint32_t target;
    tern_network_act act;
    uint64_t at, bytes, due;
    bool helped; /* needs progress of the target */
    /* The origin's own. */
    void *context, *here;
    bool said; /* the origin has its completion */
    bool lost;
    char data[PLAYED_MAX];
} played_slot;

static struct {
    played_game game;
    MPI_Win win;
    played_slot *slots; /* PLAYED_SLOTS of each rank */
    uint32_t rank, size;
    uint64_t posts, lies; /* of this rank since the network was opened */
    bool was_full;        /* a post was refused since then */
    uint64_t more;        /* posts that others follow, since the last call of start or complete */
    uint64_t starts, looks;
    pthread_t card;
    _Atomic bool ends;
    pthread_mutex_t lock; /* protects memory */
    struct {
        char *base;
        size_t bytes;
    } memory[PLAYED_MEMORIES];
} played;

/* Moves the bytes of a slot, unless its memory is not registered any more. */
static void played_move(played_slot *slot) {
    pthread_mutex_lock(&played.lock);
    for (size_t i = 0; i < PLAYED_MEMORIES; i++) {
        char *base = played.memory[i].base, *at = (char *)(uintptr_t)slot->at;
        if (base == NULL || at < base || at + slot->bytes > base + played.memory[i].bytes)
            continue;
        if (slot->act == TERN_NETWORK_WRITE)
            memcpy(at, slot->data, slot->bytes);
        else
            memcpy(slot->data, at, slot->bytes);
        break;
    }
    pthread_mutex_unlock(&played.lock);
    atomic_store(&slot->state, PLAYED_MOVED);
}

static void played_move_all(bool progress) {
    for (uint32_t i = 0; i < played.size * PLAYED_SLOTS; i++) {
        played_slot *slot = &played.slots[i];
        if (atomic_load(&slot->state) == PLAYED_POSTED && slot->target == played.rank &&
            slot->helped == progress && !atomic_load(&slot->held) && tern_now() >= slot->due)
            played_move(slot);
    }
}

static void *played_card(void *unused) {
    const struct timespec pause = {0, 20000};
    (void)unused;
    while (!atomic_load(&played.ends)) {
        played_move_all(false);
        nanosleep(&pause, NULL);
    }
    return NULL;
}

static void played_progress(tern_network *network) {
    (void)network;
    played_move_all(true);
}

static tern_network_ops played_ops;

static tern_status played_open(const tern_network_options *options, tern_network **network) {
    tern_network *fresh = calloc(1, sizeof *fresh);
    (void)options;
    if (fresh == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for a played network");
    pthread_mutex_init(&fresh->lock, NULL);
    fresh->ops = &played_ops;
    fresh->name = "played";
    fresh->card = "card0";
    fresh->one_sided = true;
    fresh->local_memory = played.game.local_memory;
    fresh->post_max = played.game.post_max;
    played.was_full = false;
    played.posts = played.lies = played.more = played.starts = played.looks = 0;
    atomic_store(&played.ends, false);
    if (pthread_create(&played.card, NULL, played_card, NULL) != 0) {
        free(fresh);
        return tern_fail(TERN_ERR_SYSTEM, "no thread for a played network");
    }
    *network = fresh;
    return TERN_OK;
}

static void played_close(tern_network *network) {
    atomic_store(&played.ends, true);
    pthread_join(played.card, NULL);
    pthread_mutex_destroy(&network->lock);
    free(network);
}

static tern_status played_welcome(tern_network *network, uint64_t from,
                                  const tern_network_name *offer, tern_network_name *name) {
    (void)network, (void)from, (void)offer;
    name->bytes = sizeof played.rank;
    memcpy(name->text, &played.rank, sizeof played.rank);
    return TERN_OK;
}

static tern_status played_add_memory(tern_network *network, void *base, size_t bytes,
                                     tern_network_memory **memory, tern_network_rkey *rkey) {
    size_t i = 0;
    (void)network;
    pthread_mutex_lock(&played.lock);
    while (i < PLAYED_MEMORIES && played.memory[i].base != NULL)
        i++;
    if (i < PLAYED_MEMORIES) {
        played.memory[i].base = base;
        played.memory[i].bytes = bytes;
    }
    pthread_mutex_unlock(&played.lock);
    if (i == PLAYED_MEMORIES)
        return tern_fail(TERN_ERR_MEMORY, "a played network has no room for memory");
    *memory = (tern_network_memory *)(void *)&played.memory[i];
    *rkey = (tern_network_rkey){i, (uintptr_t)base};
    return TERN_OK;
}

static void played_remove_memory(tern_network *network, tern_network_memory *memory) {
    (void)network;
    pthread_mutex_lock(&played.lock);
    for (size_t i = 0; i < PLAYED_MEMORIES; i++)
        if ((void *)memory == (void *)&played.memory[i])
            played.memory[i].base = NULL;
    pthread_mutex_unlock(&played.lock);
}

static tern_status played_open_end(tern_network *network, tern_network_end **end) {
    *end = (tern_network_end *)(void *)network;
    return TERN_OK;
}

static played_slot *played_own(size_t i) { return &played.slots[played.rank * PLAYED_SLOTS + i]; }

/* What is still under way moves or not; its completions are not wanted. */
static void played_close_end(tern_network_end *end) {
    (void)end;
    for (size_t i = 0; i < PLAYED_SLOTS; i++) {
        played_own(i)->said = true;
        atomic_store(&played_own(i)->held, false);
    }
}

static tern_status played_add_local(tern_network_end *end, void *base, size_t bytes,
                                    tern_network_memory **memory) {
    tern_network_rkey none;
    return played_add_memory((tern_network *)(void *)end, base, bytes, memory, &none);
}

static tern_status played_offer(tern_network_end *end, uint64_t *peer, tern_network_name *offer) {
    (void)end;
    *peer = 0;
    *offer = (tern_network_name){.bytes = 1};
    return TERN_OK;
}

static tern_status played_reach(tern_network_end *end, const tern_network_name *name,
                                uint64_t *peer) {
    uint32_t rank;
    (void)end;
    memcpy(&rank, name->text, sizeof rank);
    *peer = rank;
    return TERN_OK;
}

static bool played_is_from(uint64_t from, uint64_t bytes) { return from > 0 && bytes >= from; }

static bool played_lies(const tern_network_post *post) {
    const played_game *game = &played.game;
    return post->act == game->lies_act && played_is_from(game->lies_from, post->bytes) &&
           (played.was_full || !game->lies_full) && played.lies++ % game->lies_every == 0;
}

static tern_status played_post(tern_network_end *end, const tern_network_post *post) {
    played_slot *slot = NULL;
    (void)end;
    for (size_t i = 0; i < PLAYED_SLOTS; i++) {
        played_slot *s = played_own(i);
        atomic_store(&s->held, false); /* a lie becomes true after the next post at the latest */
        if (atomic_load(&s->state) == PLAYED_MOVED && s->said)
            atomic_store(&s->state, PLAYED_FREE);
        if (atomic_load(&s->state) == PLAYED_FREE)
            slot = s;
    }
    if (slot == NULL) {
        played.was_full = true;
        return TERN_ERR_AGAIN;
    }
    CU_ASSERT(post->bytes <= played.game.post_max);
    played.posts++;
    played.more += post->more;
    slot->target = (uint32_t)post->peer;
    slot->act = post->act;
    slot->at = post->there.base + post->offset;
    slot->bytes = post->bytes;
    slot->due = tern_now();
    if (played_is_from(played.game.slow_from, post->bytes))
        slot->due += played.game.slow;
    if (played.posts == played.game.stall_at)
        slot->due += played.game.stall;
    slot->helped = played_is_from(played.game.help_from, post->bytes) &&
                   (!played.game.help_gets || post->act == TERN_NETWORK_READ);
    slot->context = post->context;
    slot->here = post->here;
    slot->said = false;
    if (post->act == TERN_NETWORK_WRITE)
        memcpy(slot->data, post->here, post->bytes);
    slot->lost = played_is_from(played.game.loses_from, post->bytes);
    atomic_store(&slot->held, played_lies(post));
    atomic_store(&slot->state, slot->lost ? PLAYED_MOVED : PLAYED_POSTED);
    return TERN_OK;
}

static void played_start(tern_network_end *end) {
    (void)end;
    played.starts++;
    played.more = 0;
}

static void played_look(tern_network *network) {
    (void)network;
    played.looks++;
}

/* Ends the posts to a peer that the card has not moved yet. */
static void played_retire(tern_network_end *end, uint64_t peer) {
    (void)end;
    for (size_t i = 0; i < PLAYED_SLOTS && played.game.retires; i++) {
        played_slot *slot = played_own(i);
        if (atomic_load(&slot->state) == PLAYED_FREE || slot->said || slot->target != peer)
            continue;
        slot->lost = true;
        atomic_store(&slot->state, PLAYED_MOVED);
    }
}

static size_t played_complete(tern_network_end *end, tern_network_done *done, size_t most) {
    size_t count = 0;
    (void)end;
    played.more = 0;
    for (size_t i = 0; i < PLAYED_SLOTS && count < most && !played.game.silent; i++) {
        played_slot *slot = played_own(i);
        const int state = atomic_load(&slot->state);
        const bool lies = atomic_load(&slot->held);
        if (state == PLAYED_FREE || slot->said || (state != PLAYED_MOVED && !lies))
            continue;
        if (slot->act == TERN_NETWORK_READ && !lies && !slot->lost)
            memcpy(slot->here, slot->data, slot->bytes);
        slot->said = true;
        done[count++] = (tern_network_done){slot->context, slot->lost ? TERN_ERR_NETWORK : TERN_OK};
    }
    return count;
}

static const tern_network_ops *played_hook(const tern_network_ops *ops) {
    (void)ops;
    return &played_ops;
}

/* Collective; takes the place of every network from the next context on. False: not all ranks
 * share memory. */
static inline bool played_begin(void) {
    int rank, size, near;
    MPI_Comm comm;
    void *base;
    MPI_Aint bytes;
    int unit;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &comm);
    MPI_Comm_size(comm, &near);
    int all = near == size;
    MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    if (all) {
        const MPI_Aint own = rank == 0 ? size * (MPI_Aint)(PLAYED_SLOTS * sizeof(played_slot)) : 0;
        MPI_Win_allocate_shared(own, 1, MPI_INFO_NULL, comm, &base, &played.win);
        MPI_Win_shared_query(played.win, 0, &bytes, &unit, &base);
        played.slots = base;
        played.rank = (uint32_t)rank;
        played.size = (uint32_t)size;
        pthread_mutex_init(&played.lock, NULL);
        played_ops = (tern_network_ops){.open = played_open,
                                        .close = played_close,
                                        .welcome = played_welcome,
                                        .add_memory = played_add_memory,
                                        .remove_memory = played_remove_memory,
                                        .progress = played_progress,
                                        .open_end = played_open_end,
                                        .close_end = played_close_end,
                                        .add_local = played_add_local,
                                        .offer = played_offer,
                                        .reach = played_reach,
                                        .start = played_start,
                                        .post = played_post,
                                        .retire = played_retire,
                                        .complete = played_complete,
                                        .look = played_look};
        tern_network_hook = played_hook;
    }
    MPI_Comm_free(&comm);
    return all;
}

/* Plays another game; collective, and no context is open. */
static inline void played_set(const played_game *game) {
    MPI_Barrier(MPI_COMM_WORLD);
    for (size_t i = 0; i < PLAYED_SLOTS; i++) {
        atomic_store(&played_own(i)->state, PLAYED_FREE);
        atomic_store(&played_own(i)->held, false);
    }
    played.game = *game;
    MPI_Barrier(MPI_COMM_WORLD);
}

static inline void played_end(void) {
    tern_network_hook = NULL;
    pthread_mutex_destroy(&played.lock);
    MPI_Win_free(&played.win);
}

#endif
