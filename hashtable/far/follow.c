#include "hashtable/far/flight.h"

#include <stddef.h>

#include "hashtable/growth/growth.h"

/*
 * A flight that goes on in the next array of a part whose keys are moved (growth/growth.h). It does
 * what tern_growth_follow does, in steps:
 *
 *     NEWS     get what the owner tells of its arrays, where no next one is known, and else now and
 *              then, so that later operations start in it
 *     LEFT     load the state of a bucket whose counter is marked as moved: the copy is there when
 *              it says so
 *     RESERVE  fetch-and-add of the room that an array has for new keys while keys are moved to it
 *     WISH     put the byte that asks the owner for another array
 *
 * A key that has its bucket in the next array needs no room there, so the flight looks for that
 * first. It asks for room only when it stands at a free bucket.
 *
 * A flight that waits for the owner holds no array between two looks at the news (outside). If
 * probes start further on by then, it begins again there. So tours pass workers whose flights wait.
 */

static uint32_t follow_owner(const tern_flight *f) {
    return tern_hash_owner(f->table, f->probe.hash);
}

/* Begins in another array. */
static void follow_into(tern_flight *f, const tern_table_part *part, bool permitted) {
    f->probe.part = part;
    f->probe.index = tern_part_bucket(part, f->probe.hash);
    f->probe.left = part->count;
    f->permitted = permitted;
    f->asked = false;
    f->refused = UINT64_MAX;
    tern_flight_set_out(f);
}

static void follow_ask(tern_flight *f, tern_flight_wants wants, bool outside) {
    const tern_ptr news = tern_anchor_place(f->table, follow_owner(f), offsetof(tern_anchor, news));
    f->wants = wants;
    f->generation = f->probe.part->generation;
    f->outside = outside;
    tern_flight_started(
        f, TERN_FLIGHT_NEWS,
        tern_transfer_get(f->worker, f->memory, news, sizeof(tern_news), &f->transfer));
}

/* One turn of a wait for the owner. False: it has died. */
static bool follow_turn(tern_flight *f) {
    const uint32_t owner = follow_owner(f);
    f->waits = true;
    f->word = tern_state_locked(0, owner);
    const tern_status status = tern_wait_step(f->worker->context, &f->wait, owner);
    if (status != TERN_OK)
        tern_flight_finish(f, status);
    return status == TERN_OK;
}

static void follow_wait(tern_flight *f) {
    if (follow_turn(f))
        follow_ask(f, f->wants, true);
}

static void follow_wish(tern_flight *f, unsigned char wish) {
    const tern_ptr place =
        tern_anchor_place(f->table, follow_owner(f), offsetof(tern_anchor, wish));
    f->wish = wish;
    tern_flight_started(f, TERN_FLIGHT_WISH,
                        tern_transfer_put(f->worker, place, &f->wish, 1, &f->transfer));
}

void tern_flight_report(tern_flight *flight) {
    tern_flight *f = flight;
    if (!tern_probe_is_crowded(&f->probe)) {
        tern_flight_finish(f, TERN_OK);
        return;
    }
    f->table->inside[f->worker->index].owes = true;
    follow_wish(f, TERN_WISH_SOON);
}

void tern_flight_leave(tern_flight *flight, tern_status met) {
    tern_flight *f = flight;
    if (!f->plan.follows) {
        tern_flight_finish(f, met);
        return;
    }
    /* R1: growth_apply */
    const tern_table_part *next = atomic_load_explicit(&f->probe.part->next, memory_order_acquire);
    f->met = met;
    if (next != NULL && !tern_growth_looks(f->table))
        follow_into(f, next, met == TERN_MOVED || !tern_flight_creates(f));
    else
        follow_ask(f, TERN_FLIGHT_WANTS_NEXT, false);
}

void tern_flight_ask_room(tern_flight *flight) {
    flight->wants = TERN_FLIGHT_WANTS_ROOM;
    if (flight->asked)
        follow_wait(flight);
    else
        follow_ask(flight, TERN_FLIGHT_WANTS_ROOM, false);
}

static void follow_load_state(tern_flight *f) {
    tern_flight_atomic(f, TERN_FLIGHT_LEFT, TERN_ATOMIC_LOAD, 0, 0, 0);
}

void tern_flight_leave_counter(tern_flight *flight) {
    flight->moving = tern_table_moves(flight->table);
    if (flight->plan.follows)
        follow_load_state(flight);
    else
        tern_flight_finish(flight, TERN_MOVED);
}

static void step_left(tern_flight *f) {
    if ((f->word & TERN_KIND) == TERN_LEFT)
        tern_flight_leave(f, TERN_MOVED);
    else if (!f->moving)
        tern_flight_finish(f, tern_bucket_left(&f->probe));
    else
        follow_ask(f, TERN_FLIGHT_WANTS_COPY, false);
}

/* A move has left every bucket before the news say that it is over. */
static void hear_of_copy(tern_flight *f, const tern_news *news, bool known) {
    f->moving =
        !known || (news->generation == f->probe.part->generation && news->next_buckets != 0);
    if (!f->moving || follow_turn(f))
        follow_load_state(f);
}

static void hear_of_room(tern_flight *f, const tern_news *news, bool known) {
    f->permitted = known && news->generation >= f->probe.part->generation;
    if (!known) {
        follow_wait(f);
    } else if (f->permitted) {
        tern_flight_create(f);
    } else if (!f->asked) {
        const tern_ptr room =
            tern_anchor_place(f->table, follow_owner(f), offsetof(tern_anchor, room));
        f->asked = true;
        tern_flight_started(f, TERN_FLIGHT_RESERVE,
                            tern_transfer_atomic(f->worker, room, TERN_ATOMIC_ADD, UINT64_MAX, 0,
                                                 &f->word, &f->transfer));
    } else {
        f->run = 0;
        tern_flight_look(f);
    }
}

static void step_reserve(tern_flight *f) {
    f->permitted = (int64_t)f->word > 0;
    if (f->permitted)
        tern_flight_create(f);
    else
        follow_wait(f);
}

/* Of a part that is full. True: its owner will not make room. */
static bool follow_is_refused(tern_flight *f, const tern_news *news) {
    f->refused = f->refused == UINT64_MAX ? news->refused : f->refused;
    return news->refused > f->refused || tern_growth_is_between(f->worker, f->table, news);
}

static void hear_of_next(tern_flight *f, const tern_news *news, bool known) {
    const tern_table_part *part = f->probe.part;
    /* R1: growth_apply */
    const tern_table_part *next = atomic_load_explicit(&part->next, memory_order_acquire);
    if (next != NULL) {
        follow_into(f, next,
                    f->met == TERN_MOVED || !tern_flight_creates(f) ||
                        (known && news->generation >= next->generation));
    } else if (known && (f->met == TERN_ERR_NOT_FOUND ||
                         (f->met == TERN_ERR_FULL && follow_is_refused(f, news)))) {
        tern_flight_finish(f, f->met);
    } else if (known && f->met == TERN_ERR_FULL) {
        follow_wish(f, TERN_WISH_NOW);
    } else if (known && news->generation == part->generation && news->next_buckets == 0) {
        tern_flight_finish(f, tern_bucket_left(&f->probe)); /* news are told before */
    } else {
        follow_wait(f);
    }
}

/* The next operation makes progress, as behind tern_growth_follow. */
static void step_news(tern_flight *f) {
    const uint32_t owner = follow_owner(f);
    f->table->inside[f->worker->index].owes = true;
    tern_news news;
    bool known;
    memcpy(&news, f->memory, sizeof news);
    const tern_status status = tern_growth_hear(f->worker, f->table, owner, &news, &known);
    const tern_table_part *start = tern_table_part_of(f->table, owner);
    const bool anew = f->outside && start->generation > f->generation;
    f->outside = false;
    if (status != TERN_OK)
        tern_flight_finish(f, status);
    else if (anew)
        follow_into(f, start, true);
    else if (f->wants == TERN_FLIGHT_WANTS_ROOM)
        hear_of_room(f, &news, known);
    else if (f->wants == TERN_FLIGHT_WANTS_COPY)
        hear_of_copy(f, &news, known);
    else
        hear_of_next(f, &news, known);
}

void tern_flight_step_follow(tern_flight *flight) {
    if (flight->stage == TERN_FLIGHT_NEWS)
        step_news(flight);
    else if (flight->stage == TERN_FLIGHT_LEFT)
        step_left(flight);
    else if (flight->stage == TERN_FLIGHT_RESERVE)
        step_reserve(flight);
    else if (flight->wish == TERN_WISH_SOON)
        tern_flight_finish(flight, TERN_OK);
    else
        follow_wait(flight);
}
