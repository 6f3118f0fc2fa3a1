/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

#include "simulation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../ceilings/ceilings.h"
#include "events.h"

/* What is on its way. An answer goes back from to to from. */
enum {
    STEP, /* the origin goes on with a chain */
    CALL,
    CREDIT,
    REPLY,
    PUT,
    PUT_ANSWER,
    GET,
    GET_ANSWER,
    ATOMIC,
    ATOMIC_ANSWER
};

/* Of a call: how it travels. Of an operation on a table: its step, and what the last one found. */
enum { WOKEN = 1, MESSAGE = 2 };
enum { LOOK, CLAIM, LOCK, WRITE, UNLOCK, STEPS = 7, FOUND = 8 };

enum {
    PAIRS_MOST = 1 << 22,            /* pairs that are remembered one by one */
    OCTAVES = 64,                    /* of latencies, */
    PER_OCTAVE = 128,                /* each in so many parts */
    LATENCIES = OCTAVES * PER_OCTAVE /* the first octave begins at 1 ns */
};

typedef struct pair {
    uint32_t sent, credited, reported; /* bytes of its ring */
    uint32_t waiting;                  /* chains without room */
    float last;                        /* time of the last record in us; below 0: never */
} pair;

typedef struct rank {
    scale_process process;
    double worked; /* of its processor */
    uint64_t random;
    uint32_t issued;
} rank;

typedef struct simulation {
    const scale_job *job;
    scale_outcome *out;
    scale_events events;
    rank *ranks;
    pair *pairs; /* by origin and target, or NULL: each is as at first */
    uint8_t *known, *locked;
    uint64_t *latency;
    bool failed;
} simulation;

static bool has_bit(const uint8_t *bits, uint32_t at) { return bits[at / 8] >> at % 8 & 1; }
static void set_bit(uint8_t *bits, uint32_t at, bool value) {
    bits[at / 8] = (uint8_t)((bits[at / 8] & ~(1 << at % 8)) | value << at % 8);
}

static double rank_work(simulation *s, uint32_t r, double at, double ns) {
    s->ranks[r].worked += ns;
    return scale_work(&s->ranks[r].process, at, ns);
}

static void rank_put_event(simulation *s, scale_event event) {
    s->failed |= !scale_events_put(&s->events, &event);
}

static void rank_go_on(simulation *s, double at, uint32_t r) {
    rank_put_event(s, (scale_event){.at = at, .kind = STEP, .from = r});
}

static bool is_message(const scale_job *job, const scale_event *event) {
    switch (event->kind) {
    case CALL:
        return job->messages || event->flags & MESSAGE;
    case CREDIT:
        return true;
    case ATOMIC:
    case ATOMIC_ANSWER:
        return job->messages || job->by_owner;
    default:
        return job->messages;
    }
}

/* An owner that applies the atomic of an insert puts the entry, which comes with it. */
static bool owner_puts(const scale_job *job) {
    return job->program == SCALE_INSERT_RMA && (job->messages || job->by_owner);
}

static const scale_loggp *costs_of(const scale_job *job, const scale_event *event) {
    return is_message(job, event) ? &job->message : &job->costs;
}

/* Sends from by, whose processor is free to do it at a time or later; event says what arrives.
 * Returns when that processor has done it. */
static double rank_send(simulation *s, uint32_t by, double at, scale_event event) {
    const scale_loggp *costs = costs_of(s->job, &event);
    const double end = rank_work(s, by, at, costs->o);
    s->out->sent++;
    s->out->bytes_sent += event.bytes;
    event.at = scale_send(costs, &s->ranks[by].process, end, event.bytes);
    rank_put_event(s, event);
    return end;
}

/* The port takes an event, and if it is a message the processor does. */
static double rank_receive(simulation *s, uint32_t by, const scale_event *event) {
    const scale_loggp *costs = costs_of(s->job, event);
    s->out->received++;
    s->out->bytes_received += event->bytes;
    const double at = scale_receive(costs, &s->ranks[by].process, event->at, event->bytes);
    return is_message(s->job, event) ? rank_work(s, by, at, costs->o) : at;
}

/* A message that changes nothing but counts and times, from by to another rank: both work for o. It
 * takes no part of the target's port, which knows arrivals in the order of time only. */
static void rank_tell(simulation *s, uint32_t by, uint32_t to, double at) {
    const scale_loggp *costs = &s->job->message;
    s->out->sent++;
    s->out->received++;
    s->out->bytes_sent += SCALE_MESSAGE;
    s->out->bytes_received += SCALE_MESSAGE;
    (void)scale_send(costs, &s->ranks[by].process, rank_work(s, by, at, costs->o), SCALE_MESSAGE);
    s->ranks[to].process.processor += costs->o;
    s->ranks[to].worked += costs->o;
}

static void operation_end(simulation *s, double begun, double at) {
    const double ns = at - begun;
    const double part = ns > 1 ? log2(ns) * PER_OCTAVE : 0;
    s->latency[part < LATENCIES - 1 ? (size_t)part : LATENCIES - 1]++;
    s->out->executed++;
    s->out->ns = fmax(s->out->ns, at);
}

static uint32_t key_owner(const simulation *s, uint32_t key) {
    return (uint32_t)(ceiling_mix(key) % s->job->ranks);
}

/* [out] key. Zipf's law: the inverse of the distribution of a continuous variable, rounded. */
static uint32_t operation_target(simulation *s, uint32_t r, uint32_t *key) {
    const scale_job *job = s->job;
    rank *mine = &s->ranks[r];
    const uint32_t i = mine->issued;
    *key = (uint32_t)ceiling_random(&mine->random, job->keys);
    switch (job->towards) {
    case SCALE_FIRST:
        return 0;
    case SCALE_OTHERS:
        *key = (uint32_t)(((uint64_t)r * job->operations + i) % job->keys); /* each once */
        return (r + 1 + i % (job->ranks - 1)) % job->ranks;
    case SCALE_ZIPF: {
        const double u = (double)ceiling_random(&mine->random, 1u << 31) / (double)(1u << 31);
        const double drawn = exp(u * log((double)job->keys + 1)) - 1;
        *key = drawn < job->keys - 1 ? (uint32_t)drawn : job->keys - 1;
        return key_owner(s, *key);
    }
    default:
        return key_owner(s, *key);
    }
}

static uint32_t pair_index(const simulation *s, uint32_t from, uint32_t to) {
    return (to + s->job->ranks - from - 1) % s->job->ranks;
}

static pair *pair_of(simulation *s, uint32_t from, uint32_t to) {
    return s->pairs == NULL
               ? NULL
               : &s->pairs[(size_t)from * (s->job->ranks - 1) + pair_index(s, from, to)];
}

/* Whether the pair has no ring, because its target has no ring memory left. All targets have given
 * their memory to the same number of origins. */
static bool pair_has_no_ring(const simulation *s, uint32_t from, uint32_t to) {
    return pair_index(s, from, to) >= s->job->rings;
}

static bool pair_is_asleep(const simulation *s, const pair *p, double now) {
    const scale_job *job = s->job;
    if (job->ranks - 1 <= job->active_rings || job->fresh)
        return false;
    return p == NULL || p->last < 0 || now - p->last * 1e3 > job->idle_polls * job->polls;
}

static uint32_t call_record(const scale_job *job) {
    const uint32_t payload = job->bytes + (job->program == SCALE_CALL ? 0 : SCALE_ADDRESS);
    return SCALE_HEADER + (payload + 7) / 8 * 8;
}

/* False: no room; the chain goes on when there is. */
static bool call_send(simulation *s, uint32_t from, uint32_t to, double begun, uint32_t key) {
    const scale_job *job = s->job;
    const uint32_t record = call_record(job);
    const bool by_message = pair_has_no_ring(s, from, to);
    const uint32_t bytes = record + (by_message ? SCALE_MESSAGE : job->frame_header);
    const uint32_t in_ring =
        record + (by_message || job->frame_header != SCALE_FRAME_HEADER ? 0 : SCALE_FRAME_HEADER);
    pair *p = pair_of(s, from, to);
    if (p != NULL && p->sent + in_ring - p->credited > job->ring_bytes) {
        p->waiting++;
        return false;
    }
    double at = rank_work(s, from, begun, job->issue);
    uint8_t flags = by_message ? MESSAGE : 0;
    if (p != NULL && p->last < 0 && job->fresh) {
        s->out->openings++;
        rank_tell(s, from, to, at);
        rank_tell(s, to, from, at);
    } else if (!by_message && pair_is_asleep(s, p, at)) {
        flags |= WOKEN;
        s->out->wakes++;
        rank_tell(s, to, from, at);
        rank_tell(s, from, to, at);
    }
    s->out->frames++;
    s->out->record_bytes += in_ring;
    s->out->by_message += by_message;
    if (p != NULL) {
        p->sent += in_ring;
        p->last = (float)(at / 1e3);
    }
    scale_event call = {.kind = CALL,
                        .from = from,
                        .to = to,
                        .begun = begun,
                        .key = key,
                        .bytes = bytes,
                        .flags = flags};
    at = rank_send(s, from, at, call);
    if (flags & WOKEN) /* the message behind the frame */
        rank_tell(s, from, to, at);
    return true;
}

/* The target has consumed a call. */
static void call_credit(simulation *s, const scale_event *call, double at) {
    const scale_job *job = s->job;
    pair *p = pair_of(s, call->from, call->to);
    if (p == NULL)
        return;
    const uint32_t in_ring =
        call_record(job) +
        (call->flags & MESSAGE || job->frame_header != SCALE_FRAME_HEADER ? 0 : SCALE_FRAME_HEADER);
    const uint32_t due = job->credit_bytes > 0 ? job->credit_bytes : job->ring_bytes / 2;
    p->reported += in_ring;
    if (p->reported < due)
        return;
    s->out->credits++;
    (void)rank_send(s, call->to, at,
                    (scale_event){.kind = CREDIT,
                                  .from = call->from,
                                  .to = call->to,
                                  .key = p->reported,
                                  .bytes = SCALE_MESSAGE});
    p->reported = 0;
}

static void call_arrive(simulation *s, const scale_event *call) {
    const scale_job *job = s->job;
    double at = rank_receive(s, call->to, call) + job->delay;
    if (call->flags & WOKEN) /* not before the message that wakes the ring */
        at += job->message.g + job->message.o;
    at = rank_work(s, call->to, at,
                   job->serve + (job->program == SCALE_INSERT_CALL ? job->local : 0));
    call_credit(s, call, at);
    if (job->program == SCALE_CALL) {
        operation_end(s, call->begun, at);
        return;
    }
    s->out->replies++;
    (void)rank_send(s, call->to, at,
                    (scale_event){.kind = REPLY,
                                  .from = call->from,
                                  .to = call->to,
                                  .begun = call->begun,
                                  .bytes = SCALE_CELL + job->results});
}

/* RMA. A step of an operation on a table is in the flags of its events. */
static double rma_ask(simulation *s, uint8_t kind, double at, const scale_event *of, uint8_t step) {
    const scale_job *job = s->job;
    scale_event asked = {.kind = kind,
                         .from = of->from,
                         .to = of->to,
                         .begun = of->begun,
                         .key = of->key,
                         .flags = step};
    asked.bytes = kind == PUT ? job->bytes : is_message(job, &asked) ? SCALE_MESSAGE : SCALE_WORD;
    asked.bytes += kind == ATOMIC && owner_puts(job) ? job->bytes : 0;
    s->out->gets += kind == GET;
    s->out->atomics += kind == ATOMIC;
    s->out->puts += kind == PUT;
    at = rank_send(s, of->from, at, asked);
    if (kind == PUT && job->messages && job->program != SCALE_PUSH_RMA)
        rank_tell(s, of->from, of->to, at); /* the question whether it has come */
    return at;
}

/* At the target's port, or its processor. */
static void rma_arrive(simulation *s, const scale_event *asked) {
    const scale_job *job = s->job;
    double at = rank_receive(s, asked->to, asked);
    scale_event answer = *asked;
    answer.kind = (uint8_t)(asked->kind + 1);
    const uint8_t step = asked->flags & STEPS;
    const bool table = job->program == SCALE_INSERT_RMA;
    if (table && step == LOOK && has_bit(s->known, asked->key))
        answer.flags |= FOUND;
    if (owner_puts(job)) { /* at once */
        if (step == CLAIM && has_bit(s->known, asked->key))
            answer.flags |= FOUND;
        set_bit(s->known, asked->key, true);
    } else if (table && (step == CLAIM || step == LOCK)) {
        const bool free = !has_bit(s->locked, asked->key);
        if (free && (step == LOCK || !has_bit(s->known, asked->key)))
            set_bit(s->locked, asked->key, true);
        else
            answer.flags |= FOUND;
        set_bit(s->known, asked->key, true);
    }
    if (table && (step == UNLOCK || (step == WRITE && !(asked->flags & FOUND))))
        set_bit(s->locked, asked->key, false);
    if (asked->kind == PUT && job->program == SCALE_PUSH_RMA) {
        s->out->ns = fmax(s->out->ns, at);
        return; /* nobody waits for it */
    }
    if (asked->kind == PUT && !job->messages) { /* its completion takes no part of a port */
        answer.at = at + job->costs.L;
        rank_put_event(s, answer);
        return;
    }
    answer.bytes = asked->kind == GET ? job->bytes : SCALE_ANSWER;
    if (owner_puts(job) && answer.flags & FOUND) /* and the bucket */
        answer.bytes += job->bytes;
    if (is_message(job, &answer)) {
        (void)rank_send(s, asked->to, at, answer);
        return;
    }
    s->out->sent++; /* by the port alone */
    s->out->bytes_sent += answer.bytes;
    answer.at = scale_send(&job->costs, &s->ranks[asked->to].process, at, answer.bytes);
    rank_put_event(s, answer);
}

/* Where the owner puts: CLAIM and, if it was found, LOCK. Elsewhere, after LOOK, if it was found:
 * LOCK, WRITE, UNLOCK. Otherwise CLAIM, WRITE. */
static void insert_go_on(simulation *s, const scale_event *answer, double at) {
    const bool found = (answer->flags & FOUND) != 0;
    if (owner_puts(s->job) && found) {
        (void)rma_ask(s, ATOMIC, at, answer, LOCK);
        return;
    }
    switch (owner_puts(s->job) ? UNLOCK : answer->flags & STEPS) {
    case LOOK:
        (void)rma_ask(s, ATOMIC, at, answer, found ? LOCK : CLAIM);
        return;
    case CLAIM:
        s->out->retries += found;
        (void)rma_ask(s, found ? GET : PUT, at, answer, found ? LOOK : WRITE);
        return;
    case LOCK:
        s->out->retries += found;
        (void)rma_ask(s, found ? ATOMIC : PUT, at, answer, found ? LOCK : (WRITE | FOUND));
        return;
    case WRITE:
        s->out->flushes++;
        if (found) {
            (void)rma_ask(s, ATOMIC, at, answer, UNLOCK);
            return;
        }
        break;
    default:
        break;
    }
    operation_end(s, answer->begun, at);
    rank_go_on(s, at, answer->from);
}

static void answer_arrive(simulation *s, const scale_event *answer) {
    const scale_job *job = s->job;
    const double at = answer->kind == PUT_ANSWER && !job->messages
                          ? answer->at
                          : rank_receive(s, answer->from, answer);
    if (answer->kind == CREDIT) {
        pair *p = pair_of(s, answer->from, answer->to);
        p->credited += answer->key;
        for (; p->waiting > 0; p->waiting--)
            rank_go_on(s, at, answer->from);
        return;
    }
    if (job->program == SCALE_INSERT_RMA) {
        insert_go_on(s, answer, at);
        return;
    }
    double end = at;
    if (job->program == SCALE_PUSH_RMA) {
        end = rma_ask(s, PUT, at, answer, WRITE);
    }
    s->out->flushes += job->program == SCALE_PUT;
    operation_end(s, answer->begun, end);
    rank_go_on(s, end, answer->from);
}

static void chain_step(simulation *s, const scale_event *step) {
    const scale_job *job = s->job;
    rank *mine = &s->ranks[step->from];
    if (mine->issued == job->operations)
        return;
    const uint64_t random = mine->random;
    scale_event one = {.from = step->from, .begun = step->at};
    one.to = operation_target(s, step->from, &one.key);
    if (one.to == step->from) {
        mine->issued++;
        const double at = rank_work(s, step->from, step->at, job->local);
        if (job->program == SCALE_INSERT_RMA)
            set_bit(s->known, one.key, true);
        operation_end(s, step->at, at);
        rank_go_on(s, at, step->from);
        return;
    }
    switch (job->program) {
    case SCALE_CALL:
    case SCALE_CALL_RETURN:
    case SCALE_INSERT_CALL:
        if (!call_send(s, one.from, one.to, one.begun, one.key)) {
            mine->random = random; /* the same again */
            return;
        }
        if (job->program == SCALE_CALL)
            rank_go_on(s, mine->process.processor, one.from);
        break;
    case SCALE_PUT:
        (void)rma_ask(s, PUT, step->at, &one, WRITE);
        break;
    case SCALE_INSERT_RMA:
        if (job->towards == SCALE_ZIPF && !owner_puts(job))
            (void)rma_ask(s, GET, step->at, &one, LOOK);
        else
            (void)rma_ask(s, ATOMIC, step->at, &one, CLAIM);
        break;
    default:
        (void)rma_ask(s, ATOMIC, step->at, &one, CLAIM);
    }
    mine->issued++;
}

static void simulation_run(simulation *s) {
    scale_event event;
    while (!s->failed && scale_events_take(&s->events, &event)) {
        s->out->events++;
        switch (event.kind) {
        case STEP:
            chain_step(s, &event);
            break;
        case CALL:
            call_arrive(s, &event);
            break;
        case PUT:
        case GET:
        case ATOMIC:
            rma_arrive(s, &event);
            break;
        default:
            answer_arrive(s, &event);
        }
    }
}

static double latency_at(const simulation *s, double share) {
    const double wanted = share * (double)s->out->executed;
    double sum = 0;
    for (size_t i = 0; i < LATENCIES; i++)
        if ((sum += (double)s->latency[i]) >= wanted)
            return exp2(((double)i + 0.5) / PER_OCTAVE);
    return 0;
}

/* Chains begin at random moments of a round trip, or all at once if the ranks are few. */
static void simulation_begin(simulation *s) {
    const scale_job *job = s->job;
    const double while_ns = job->ranks > 2 ? 2 * job->costs.L + 4 * job->costs.o : 0;
    for (uint32_t r = 0; r < job->ranks; r++) {
        rank *mine = &s->ranks[r];
        mine->random = ceiling_mix(job->seed * job->ranks + r);
        const uint32_t chains = job->program == SCALE_CALL ? 1 : job->under_way;
        if (job->towards == SCALE_FIRST && r == 0)
            continue; /* it only serves */
        for (uint32_t c = 0; c < chains; c++)
            rank_go_on(s, while_ns * (double)ceiling_random(&mine->random, 1 << 20) / (1 << 20), r);
    }
}

static bool simulation_allocate(simulation *s) {
    const scale_job *job = s->job;
    const uint64_t pairs = (uint64_t)job->ranks * (job->ranks - 1);
    s->ranks = calloc(job->ranks, sizeof *s->ranks);
    s->latency = calloc(LATENCIES, sizeof *s->latency);
    s->known = calloc(job->keys / 8 + 1, 1);
    s->locked = calloc(job->keys / 8 + 1, 1);
    if (pairs > 0 && pairs <= PAIRS_MOST) {
        s->pairs = calloc(pairs, sizeof *s->pairs);
        for (uint64_t i = 0; s->pairs != NULL && i < pairs; i++)
            s->pairs[i].last = -1;
        s->failed = s->pairs == NULL;
    }
    return !s->failed && s->ranks != NULL && s->latency != NULL && s->known != NULL &&
           s->locked != NULL;
}

bool scale_simulate(const scale_job *job, scale_outcome *outcome) {
    simulation s = {.job = job, .out = outcome};
    *outcome = (scale_outcome){.ns = 0};
    bool done = simulation_allocate(&s);
    if (done) {
        simulation_begin(&s);
        simulation_run(&s);
        done = !s.failed;
        outcome->p50 = latency_at(&s, 0.5);
        outcome->p99 = latency_at(&s, 0.99);
        for (uint32_t r = 0; r < job->ranks && outcome->ns > 0; r++)
            outcome->busiest = fmax(outcome->busiest, s.ranks[r].worked / outcome->ns);
    }
    scale_events_free(&s.events);
    free(s.ranks);
    free(s.pairs);
    free(s.latency);
    free(s.known);
    free(s.locked);
    return done;
}
