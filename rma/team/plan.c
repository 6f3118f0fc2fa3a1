#include <stdlib.h>

#include "rma/team/team.h"

/* The algorithms of collectives: which member sends what to which member in each round. Members are
 * ranks in the team. A plan is asked for each round once, in their order, and o->rounds is the
 * round's number. */

static void round_sends(tern_team_round *r, uint32_t to, uint32_t tag, const void *out,
                        size_t bytes) {
    r->to = to;
    r->out_tag = tag;
    r->out = out;
    r->out_bytes = bytes;
}

static void round_receives(tern_team_round *r, uint32_t from, uint32_t tag, void *in,
                           size_t bytes) {
    r->from = from;
    r->in_tag = tag;
    r->in = in;
    r->in_bytes = bytes;
}

/* Dissemination: after round k each member knows, directly or through others, that the 2^(k+1)
 * members up to its own have come. */
static bool plan_barrier(tern_team_operation *o, tern_team_round *r) {
    const uint64_t size = o->team->size, rank = o->team->rank, reach = UINT64_C(1) << o->rounds;
    if (reach >= size)
        return false;
    round_sends(r, (uint32_t)((rank + reach) % size), o->rounds, NULL, 0);
    round_receives(r, (uint32_t)((rank + size - reach) % size), o->rounds, NULL, 0);
    return true;
}

/* The binomial tree below root. In numbers that count from the root, member v has the parent v less
 * its lowest bit, and the children v + bit for the bits below that one. Returns that lowest bit;
 * for the root a power of two of at least the number of members. */
static uint64_t tree_lowest_bit(const tern_team_operation *o, uint64_t *v) {
    const uint64_t size = o->team->size;
    uint64_t bit = 1;
    *v = (o->team->rank + size - o->root) % size;
    while (bit < size && (*v & bit) == 0)
        bit *= 2;
    return bit;
}

static uint32_t tree_member(const tern_team_operation *o, uint64_t v) {
    return (uint32_t)((v + o->root) % o->team->size);
}

/* The largest subtree is served first, while the data arrives from the parent. */
static bool plan_broadcast(tern_team_operation *o, tern_team_round *r) {
    uint64_t v, bit = tree_lowest_bit(o, &v) / 2;
    const uint64_t parent = v & (v - 1);
    while (bit > 0 && v + bit >= o->team->size)
        bit /= 2;
    const bool receives = o->rounds == 0 && v != 0;
    bit >>= o->rounds;
    if (bit == 0 && !receives)
        return false;
    if (receives)
        round_receives(r, tree_member(o, parent), 0, o->data, o->bytes);
    if (bit > 0)
        round_sends(r, tree_member(o, v + bit), 0, o->data, o->bytes);
    r->follows = receives;
    return true;
}

static bool plan_reduce(tern_team_operation *o, tern_team_round *r) {
    uint64_t v;
    const uint64_t lowest = tree_lowest_bit(o, &v), bit = UINT64_C(1) << o->rounds;
    if (bit < lowest && v + bit < o->team->size) {
        round_receives(r, tree_member(o, v + bit), 0, o->values, o->bytes);
        r->combines = true;
        return true;
    }
    /* The children are the first rounds, so the round after the last child sends to the parent. */
    const uint64_t last = bit / 2;
    const bool is_after = o->rounds == 0 || (last < lowest && v + last < o->team->size);
    if (v != 0 && is_after) {
        round_sends(r, tree_member(o, v & (v - 1)), 0, o->values, o->bytes);
        return true;
    }
    return false;
}

/* A range of the numbers of an all-reduce. */
typedef struct number_range {
    size_t first, count;
} number_range;

/* Returns the range on which a member works after the vector was halved once for each bit of
 * the member's rank, from the highest bit below most down to `bit`. A bit that is set takes the
 * upper half. */
static number_range part_of(size_t count, uint32_t most, uint32_t member, uint32_t bit) {
    number_range s = {0, count};
    for (uint32_t b = most / 2; b >= bit; b /= 2) {
        const size_t half = s.count / 2;
        s.first += (member & b) != 0 ? half : 0;
        s.count = (member & b) != 0 ? s.count - half : half;
    }
    return s;
}

static void round_exchanges(const tern_team_operation *o, tern_team_round *r, uint32_t partner,
                            number_range out, number_range in) {
    round_sends(r, partner, o->rounds, o->values + out.first * o->width, out.count * o->width);
    round_receives(r, partner, o->rounds, o->values + in.first * o->width, in.count * o->width);
}

static bool allreduce_end(const tern_team_operation *o) {
    if (o->values != o->data && o->bytes > 0)
        memcpy(o->data, o->values, o->bytes);
    return false;
}

/* The first 2^k members, as many as there can be, reduce. Each member beyond them first sends its
 * numbers to one of these and gets the result from it at the end. Short vectors: recursive
 * doubling, in k rounds. Long vectors: recursive halving, in k rounds, after which each of the 2^k
 * members has a part of the result; then the same rounds in reverse collect the parts. */
static bool plan_allreduce(tern_team_operation *o, tern_team_round *r) {
    enum { TAG_EXTRA = 100, TAG_RESULT = 101 };
    const uint32_t size = o->team->size, rank = o->team->rank;
    const size_t count = o->bytes / o->width;
    uint32_t most = 1, k = 0;
    for (; most <= size / 2; k++)
        most *= 2;
    const bool is_short = o->values != o->data || o->bytes == 0;
    const uint32_t round = o->rounds, last = is_short ? k + 1 : 2 * k + 1, extra = rank ^ most;
    if (rank >= most) {
        if (round == 0)
            round_sends(r, extra, TAG_EXTRA, o->values, o->bytes);
        else if (round == 1)
            round_receives(r, extra, TAG_RESULT, o->values, o->bytes);
        return round <= 1 || allreduce_end(o);
    }
    r->combines = round <= k;
    if (round == 0) {
        if (extra < size)
            round_receives(r, extra, TAG_EXTRA, o->values, o->bytes);
    } else if (round < last && is_short) {
        const number_range all = {0, count};
        round_exchanges(o, r, rank ^ 1u << (round - 1), all, all);
    } else if (round <= k) {
        const uint32_t bit = most >> round;
        round_exchanges(o, r, rank ^ bit, part_of(count, most, rank ^ bit, bit),
                        part_of(count, most, rank, bit));
    } else if (round < last) {
        const uint32_t bit = 1u << (round - k - 1);
        round_exchanges(o, r, rank ^ bit, part_of(count, most, rank, bit),
                        part_of(count, most, rank ^ bit, bit));
    } else if (round == last && extra < size) {
        round_sends(r, extra, TAG_RESULT, o->values, o->bytes);
    }
    return round <= last || allreduce_end(o);
}

static void block_copy(char *to, const char *from, size_t bytes) {
    if (bytes > 0)
        memcpy(to, from, bytes);
}

static bool plan_gather(tern_team_operation *o, tern_team_round *r) {
    const uint32_t size = o->team->size, rank = o->team->rank;
    if (rank != o->root) {
        round_sends(r, o->root, 0, o->source, o->bytes);
        return o->rounds == 0;
    }
    if (o->rounds == 0)
        block_copy(o->data + rank * o->bytes, o->source, o->bytes);
    if (o->rounds + 1 >= size)
        return false;
    const uint32_t member = (rank + 1 + o->rounds) % size;
    round_receives(r, member, 0, o->data + member * o->bytes, o->bytes);
    return true;
}

/* Each block goes round the ring of members. */
static bool plan_allgather(tern_team_operation *o, tern_team_round *r) {
    const uint32_t size = o->team->size, rank = o->team->rank;
    if (o->rounds == 0)
        block_copy(o->data + rank * o->bytes, o->source, o->bytes);
    if (o->rounds + 1 >= size)
        return false;
    const uint32_t out = (rank + size - o->rounds) % size, in = (out + size - 1) % size;
    round_sends(r, (rank + 1) % size, o->rounds, o->data + out * o->bytes, o->bytes);
    round_receives(r, (rank + size - 1) % size, o->rounds, o->data + in * o->bytes, o->bytes);
    return true;
}

static bool plan_alltoall(tern_team_operation *o, tern_team_round *r) {
    const uint32_t size = o->team->size, rank = o->team->rank, reach = o->rounds + 1;
    if (o->rounds == 0)
        block_copy(o->data + rank * o->bytes, o->source + rank * o->bytes, o->bytes);
    if (reach >= size)
        return false;
    const uint32_t to = (rank + reach) % size, from = (rank + size - reach) % size;
    round_sends(r, to, 0, o->source + to * o->bytes, o->bytes);
    round_receives(r, from, 0, o->data + from * o->bytes, o->bytes);
    return true;
}

/* A chain: each member combines what comes from the member before it and sends it on. */
static bool plan_scan(tern_team_operation *o, tern_team_round *r) {
    const uint32_t size = o->team->size, rank = o->team->rank;
    if (o->rounds == 0 && rank > 0) {
        round_receives(r, rank - 1, 0, o->values, o->bytes);
        r->combines = true;
    } else if (o->rounds == 1 && rank + 1 < size) {
        round_sends(r, rank + 1, 0, o->values, o->bytes);
    }
    return o->rounds <= 1;
}

static bool plan_scan_before(tern_team_operation *o, tern_team_round *r) {
    const uint32_t size = o->team->size, rank = o->team->rank;
    if (o->rounds == 0 && rank > 0) {
        round_receives(r, rank - 1, 0, o->scratch, o->bytes);
    } else if (o->rounds == 1 && rank + 1 < size) {
        if (rank > 0)
            tern_numbers_reduce(o->type, o->op, o->values, o->scratch, o->values,
                                o->bytes / o->width);
        round_sends(r, rank + 1, 0, o->values, o->bytes);
    }
    if (o->rounds > 1 && rank > 0)
        block_copy(o->data, o->scratch, o->bytes);
    return o->rounds <= 1;
}

const tern_team_plan tern_team_plans[TERN_TEAM_COLLECTIVES] = {
    [TERN_TEAM_BARRIER] = plan_barrier,        [TERN_TEAM_BROADCAST] = plan_broadcast,
    [TERN_TEAM_REDUCE] = plan_reduce,          [TERN_TEAM_ALLREDUCE] = plan_allreduce,
    [TERN_TEAM_GATHER] = plan_gather,          [TERN_TEAM_ALLGATHER] = plan_allgather,
    [TERN_TEAM_ALLTOALL] = plan_alltoall,      [TERN_TEAM_SCAN] = plan_scan,
    [TERN_TEAM_SCAN_BEFORE] = plan_scan_before};
