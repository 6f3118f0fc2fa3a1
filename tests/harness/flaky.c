#include "flaky.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "harness.h"
#include "rma/network/network.h"

enum { HELD = 32, REFUSE = 8, FLYING = 1024 };

static const tern_network_ops *real;
static uint64_t seed_of_ends;
static _Atomic uint64_t lose_one_in, refused, reordered, lost, dismissed, connections_most, astray;
static bool connects;
static uint64_t connections_said;
static _Atomic uint64_t refused_from = UINT64_MAX;

/* A connection of an end. */
typedef struct flaky_connection {
    struct flaky_connection *next;
    uint64_t real;
    bool held, broken;
    uint32_t under_way;
} flaky_connection;

/* An operation that was posted and whose completion tern has not got. */
typedef struct flaky_flying {
    void *context;
    flaky_connection *connection;
} flaky_flying;

/* A port's end. Completions are held back. */
typedef struct flaky_end {
    tern_network_end *end;
    flaky_connection *connections;
    uint64_t held_connections;
    flaky_flying flying[FLYING];
    size_t flying_count;
    uint64_t random;
    tern_network_done held[HELD];
    size_t count;
    void *doomed[HELD]; /* contexts of what lands and is said to be lost */
    size_t doomed_count;
} flaky_end;

static _Atomic bool refuses_memory, swallows, loses_updates, silent;
static bool wide_only, coherent;
static _Atomic bool loses_to_processor;

static flaky_end *flaky_of(tern_network_end *end) { return (flaky_end *)(void *)end; }

static uint64_t draw(flaky_end *f, uint64_t limit) { return tern_test_random(&f->random) % limit; }

static tern_status flaky_open_end(tern_network *network, tern_network_end **end) {
    flaky_end *f = calloc(1, sizeof *f);
    if (f == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for a flaky end");
    f->random = seed_of_ends++;
    tern_status status = real->open_end(network, &f->end);
    if (status == TERN_OK)
        *end = (tern_network_end *)(void *)f;
    else
        free(f);
    return status;
}

static void flaky_close_end(tern_network_end *end) {
    flaky_end *f = flaky_of(end);
    real->close_end(f->end);
    while (f->connections != NULL) {
        flaky_connection *connection = f->connections;
        f->connections = connection->next;
        free(connection);
    }
    free(end);
}

static tern_status refuse_memory(void) {
    return tern_fail(TERN_ERR_MEMORY, "a flaky network registers no memory");
}

static tern_status flaky_add_memory(tern_network *network, void *base, size_t bytes,
                                    tern_network_memory **memory, tern_network_rkey *rkey) {
    return atomic_load(&refuses_memory) ? refuse_memory()
                                        : real->add_memory(network, base, bytes, memory, rkey);
}

static tern_status flaky_add_local(tern_network_end *end, void *base, size_t bytes,
                                   tern_network_memory **memory) {
    return real->add_local(flaky_of(end)->end, base, bytes, memory);
}

static flaky_connection *connection_of(uint64_t peer) {
    return (flaky_connection *)(uintptr_t)peer;
}

static tern_status hold_connection(flaky_end *f, flaky_connection *connection) {
    if (f->held_connections >= atomic_load(&refused_from))
        return tern_fail(TERN_ERR_MEMORY, "a flaky network makes no further connection");
    connection->held = true;
    f->held_connections++;
    if (f->held_connections > atomic_load(&connections_most))
        atomic_store(&connections_most, f->held_connections);
    return TERN_OK;
}

static tern_status flaky_offer(tern_network_end *end, uint64_t *peer, tern_network_name *offer) {
    flaky_end *f = flaky_of(end);
    flaky_connection *connection = connection_of(*peer);
    if (connection == NULL) {
        connection = calloc(1, sizeof *connection);
        if (connection == NULL)
            return tern_fail(TERN_ERR_MEMORY, "no memory for a flaky connection");
        connection->next = f->connections;
        f->connections = connection;
        *peer = (uintptr_t)connection;
    }
    if (connection->under_way > 0)
        return TERN_ERR_AGAIN;
    tern_status status = connection->held ? TERN_OK : hold_connection(f, connection);
    connection->broken = false;
    return status == TERN_OK ? real->offer(f->end, &connection->real, offer) : status;
}

static void flaky_leave(tern_network_end *end, uint64_t peer, tern_network_name *offer) {
    flaky_end *f = flaky_of(end);
    flaky_connection *connection = connection_of(peer);
    atomic_fetch_add(&astray, connection->under_way + !connection->held);
    connection->held = false;
    f->held_connections--;
    if (real->leave != NULL)
        real->leave(f->end, connection->real, offer);
    else
        offer->bytes = 1;
}

static void flaky_dismiss(tern_network *network, uint64_t from, const tern_network_name *offer) {
    atomic_fetch_add(&dismissed, 1);
    if (real->dismiss != NULL)
        real->dismiss(network, from, offer);
}

static tern_status flaky_reach(tern_network_end *end, const tern_network_name *name,
                               uint64_t *peer) {
    return real->reach(flaky_of(end)->end, name, &connection_of(*peer)->real);
}

/* Whether the network may lose an update: any, or of a word to which the processor adds at the same
 * time, which is the one at an offset when tern tests it. */
static bool loses(const tern_network_post *post) {
    return post->act == TERN_NETWORK_ADD &&
           (atomic_load(&loses_updates) || (atomic_load(&loses_to_processor) && post->offset > 0));
}

/* Posts that the network takes, or that are held in its place. */
static tern_status post_now(flaky_end *f, const tern_network_post *post) {
    const uint64_t one_in = atomic_load(&lose_one_in);
    if (atomic_load(&refuses_memory) && post->local == NULL)
        return refuse_memory();
    if (wide_only && post->act >= TERN_NETWORK_ADD && post->bytes == 4)
        return tern_fail(TERN_ERR_NETWORK, "a flaky network has no atomics of 4 bytes");
    if (loses(post) && f->count < HELD && draw(f, 16) == 0) {
        f->held[f->count++] = (tern_network_done){post->context, TERN_OK};
        return TERN_OK;
    }
    const bool dooms = one_in > 0 && draw(f, one_in) == 0;
    if (draw(f, REFUSE) == 0) {
        atomic_fetch_add(&refused, 1);
        return TERN_ERR_AGAIN;
    }
    if (dooms && f->count < HELD && draw(f, 2) == 0) {
        atomic_fetch_add(&lost, 1);
        f->held[f->count++] = (tern_network_done){post->context, TERN_ERR_NETWORK};
        return TERN_OK;
    }
    tern_network_post inner = *post;
    inner.peer = connection_of(post->peer)->real;
    tern_status status = real->post(f->end, &inner);
    if (dooms && status == TERN_OK && f->doomed_count < HELD)
        f->doomed[f->doomed_count++] = post->context;
    return status;
}

/* Nothing goes over a connection that is broken. */
static tern_status post_in_vain(flaky_end *f, const tern_network_post *post) {
    if (f->count == HELD)
        return TERN_ERR_AGAIN;
    f->held[f->count++] = (tern_network_done){post->context, TERN_ERR_NETWORK};
    return TERN_OK;
}

static tern_status flaky_post(tern_network_end *end, const tern_network_post *post) {
    flaky_end *f = flaky_of(end);
    flaky_connection *connection = connection_of(post->peer);
    if (atomic_load(&swallows))
        return TERN_OK;
    if (f->flying_count == FLYING)
        return TERN_ERR_AGAIN;
    tern_status status = connection->broken ? post_in_vain(f, post) : post_now(f, post);
    if (status != TERN_OK)
        return status;
    atomic_fetch_add(&astray, !connection->held);
    connection->under_way++;
    f->flying[f->flying_count++] = (flaky_flying){post->context, connection};
    return TERN_OK;
}

/* tern gets the completion. */
static void end_flying(flaky_end *f, const tern_network_done *done) {
    size_t i = 0;
    while (f->flying[i].context != done->context)
        i++;
    f->flying[i].connection->under_way--;
    f->flying[i].connection->broken |= connects && done->status != TERN_OK;
    f->flying[i] = f->flying[--f->flying_count];
}

static void doom(flaky_end *f, tern_network_done *done) {
    for (size_t i = 0; i < f->doomed_count; i++) {
        if (f->doomed[i] != done->context)
            continue;
        atomic_fetch_add(&lost, 1);
        done->status = TERN_ERR_NETWORK;
        f->doomed[i] = f->doomed[--f->doomed_count];
        return;
    }
}

static size_t flaky_complete(tern_network_end *end, tern_network_done *done, size_t most) {
    flaky_end *f = flaky_of(end);
    if (atomic_load(&silent))
        return 0;
    if (f->count < HELD) {
        const size_t fresh = real->complete(f->end, f->held + f->count, HELD - f->count);
        for (size_t i = 0; i < fresh; i++)
            doom(f, &f->held[f->count + i]);
        f->count += fresh;
    }
    size_t given = 0;
    while (given < most && f->count > 0 && draw(f, 3) > 0) {
        const size_t i = draw(f, f->count);
        atomic_fetch_add(&reordered, i != 0);
        done[given] = f->held[i];
        end_flying(f, &done[given++]);
        memmove(&f->held[i], &f->held[i + 1], (--f->count - i) * sizeof *f->held);
    }
    return given;
}

static void flaky_count(tern_network_end *end, tern_stats *stats) {
    real->count(flaky_of(end)->end, stats);
}

static void flaky_hasten(tern_network_end *end, uint64_t peer) {
    real->hasten(flaky_of(end)->end, connection_of(peer)->real);
}

static void flaky_close(tern_network *network) {
    network->ops = real;
    real->close(network);
}

static tern_network_ops flaky;

static tern_status flaky_open(const tern_network_options *options, tern_network **network) {
    tern_status status = real->open(options, network);
    if (status != TERN_OK)
        return status;
    (*network)->ops = &flaky;
    if (seed_of_ends % 2 == 1)
        (*network)->local_memory = true;
    (*network)->connects |= connects;
    (*network)->has_narrow &= !wide_only;
    (*network)->coherent |= coherent;
    (*network)->connections_max = connections_said;
    return TERN_OK;
}

static const tern_network_ops *make_flaky(const tern_network_ops *ops) {
    if (seed_of_ends == 0)
        return ops;
    real = ops;
    flaky = *ops;
    flaky.open = flaky_open;
    flaky.close = flaky_close;
    flaky.open_end = flaky_open_end;
    flaky.close_end = flaky_close_end;
    flaky.add_memory = flaky_add_memory;
    flaky.add_local = flaky_add_local;
    flaky.offer = flaky_offer;
    flaky.leave = flaky_leave;
    flaky.dismiss = flaky_dismiss;
    flaky.reach = flaky_reach;
    flaky.post = flaky_post;
    flaky.complete = flaky_complete;
    if (ops->hasten != NULL)
        flaky.hasten = flaky_hasten;
    if (ops->count != NULL)
        flaky.count = flaky_count;
    return &flaky;
}

void flaky_network(uint64_t seed) {
    seed_of_ends = seed;
    tern_network_hook = make_flaky;
}

void flaky_network_wide_only(bool wide) { wide_only = wide; }

void flaky_network_coherent(bool claims) { coherent = claims; }

void flaky_network_lose_to_processor(bool lose) { atomic_store(&loses_to_processor, lose); }

void flaky_network_connect(uint64_t says) {
    connects = true;
    connections_said = says;
    atomic_store(&connections_most, 0);
}

void flaky_network_refuse_connections(uint64_t from) { atomic_store(&refused_from, from); }

void flaky_network_refuse_memory(bool refuse) { atomic_store(&refuses_memory, refuse); }

void flaky_network_swallow(bool swallow) { atomic_store(&swallows, swallow); }

void flaky_network_silence(bool be_silent) { atomic_store(&silent, be_silent); }

void flaky_network_lose_updates(bool lose) { atomic_store(&loses_updates, lose); }

void flaky_network_lose(uint64_t one_in) { atomic_store(&lose_one_in, one_in); }

flaky_counts flaky_network_counts(void) {
    return (flaky_counts){
        atomic_load(&refused),   atomic_load(&reordered),        atomic_load(&lost),
        atomic_load(&dismissed), atomic_load(&connections_most), atomic_load(&astray)};
}
