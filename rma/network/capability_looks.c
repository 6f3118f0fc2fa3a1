#include "rma/network/capability_looks.h"

#include <sched.h>
#include <time.h>

#include "base/error.h"
#include "base/process.h"
#include "rma/network/partner.h"

/*
 * The origin makes transfers of the sizes and kinds that later operations have. When a put has
 * completed, the origin says so by a message of MPI, and the target looks at its memory at once.
 * When a get has completed, the origin looks itself. Bytes that are missing then prove that the
 * network completes transfers too early.
 *
 * Most of the time the target makes no progress of the network. If a transfer does not complete
 * meanwhile, the network may need the target's help, or the machine was slow. So the target helps
 * that transfer to its end, and the origin tries again with more patience. Only a second failure
 * decides. How patient the origin is depends on how long a transfer of the same size took with the
 * target's help.
 *
 * Later puts often come in streams, and their origin waits for none of them until it flushes. So
 * the last look is at a burst of puts that may complete late.
 */

#define COPY_MAX 65536u /* larger transfers are made from memory that is not registered */
#define TRANSFERS 4u    /* of each size without help: the last is a get, the others puts */
#define BURST_BYTES (COPY_MAX / TERN_LOOK_BURST) /* of a put of the burst */
#define LIMIT_NS 5000000000u                     /* of a transfer that the target helps */
#define HEAD_START_NS 1000000u /* time that the origin gives the target to fall asleep */
#define PATIENCE_TRIPS 16u     /* a transfer has so many times what one took with help, */
#define PATIENCE_MIN 10000000u /* but at least this time, ns, */
#define PATIENCE_MAX 500000000u
#define SECOND 6u /* and so many times as long in the second try */

/* What the origin asks of the target before each transfer. */
typedef struct look_request {
    uint64_t bytes;     /* of the transfer; 0: there are no more */
    uint64_t serial;    /* what the bytes are made from */
    uint64_t sleep;     /* how long the target sleeps outside of any call, ns */
    uint64_t attentive; /* 1: the target makes progress of the network */
} look_request;

/* What the origin says while or after a transfer. */
enum { COMPLETE = 'c', NEEDS_HELP = 'h' };

typedef struct looker {
    tern_context *context;
    tern_network *network;
    tern_network_end *end;
    tern_network_post post;
    tern_network_memory *local; /* registered, for sizes that later go by copies; or NULL */
    tern_look_page *page;
    tern_network_findings *findings;
    uint64_t serial;    /* of the last put */
    uint64_t took;      /* time of the last transfer, ns */
    bool burst;         /* a transfer consists of TERN_LOOK_BURST posts */
    tern_status status; /* that of the network */
} looker;

static void nap(long nanoseconds) {
    const struct timespec pause = {0, nanoseconds};
    nanosleep(&pause, NULL);
}

static uint64_t look_word(uint64_t serial, uint64_t i) {
    return (serial << 32 | (i + 1)) * UINT64_C(0x9e3779b97f4a7c15);
}

static void look_fill(tern_look_page *page, uint64_t bytes, uint64_t serial) {
    for (uint64_t i = 0; i < bytes / sizeof *page->word; i++)
        /* R5: look_is_there; the thread's own, until it is posted */
        atomic_store_explicit(&page->word[i], look_word(serial, i), memory_order_relaxed);
}

/* Whether all bytes are there. Looks at the last ones first, which mostly come last. */
static bool look_is_there(const tern_look_page *page, uint64_t bytes, uint64_t serial) {
    for (uint64_t i = bytes / sizeof *page->word; i-- > 0;)
        /* R1: look_fill; by the network */
        if (atomic_load_explicit(&page->word[i], memory_order_acquire) != look_word(serial, i))
            return false;
    return true;
}

/* Sleeps outside of any call until the last word is there, or so long. */
static void look_sleep(const tern_look_page *page, const look_request *request) {
    const uint64_t end = tern_now() + request->sleep, last = request->bytes / 8 - 1;
    /* R1: look_fill; by the network */
    while (tern_now() < end && atomic_load_explicit(&page->word[last], memory_order_acquire) !=
                                   look_word(request->serial, last))
        nap(50000);
}

tern_status tern_looks_target(tern_context *context, tern_network *network, uint32_t origin,
                              const tern_look_page *page) {
    for (;;) {
        look_request request;
        char said = 0;
        tern_status sent = tern_partner_take(context, origin, &request, sizeof request);
        if (sent != TERN_OK || request.bytes == 0)
            return sent;
        if (request.sleep > 0)
            look_sleep(page, &request);
        sent = tern_partner_hear(context, request.attentive ? network : NULL, origin, &said);
        if (sent == TERN_OK && said == NEEDS_HELP)
            sent = tern_partner_hear(context, network, origin, &said);
        char there = look_is_there(page, request.bytes, request.serial);
        if (sent == TERN_OK)
            sent = tern_partner_send(context, origin, &there, sizeof there);
        if (sent != TERN_OK)
            return sent;
    }
}

/* How much of a transfer has been posted, and how much of that has ended. */
typedef struct look_progress {
    size_t posted, ended;
    tern_status status; /* of the posts that have ended */
} look_progress;

static tern_status burst_post(looker *l, look_progress *so_far) {
    tern_status status = TERN_OK;
    while (so_far->posted < TERN_LOOK_BURST && status == TERN_OK) {
        const size_t at = so_far->posted * BURST_BYTES;
        tern_network_post post = l->post;
        post.offset += at;
        post.here = (char *)post.here + at;
        post.bytes = BURST_BYTES;
        post.late = true;
        post.context = l->page->context[so_far->posted];
        status = l->network->ops->post(l->end, &post);
        so_far->posted += status == TERN_OK;
    }
    return status != TERN_ERR_AGAIN ? status : TERN_OK;
}

/* Waits for the ends of the posts as a flush does. TERN_ERR_TIMEOUT: another call goes on. */
static tern_status burst_act(looker *l, look_progress *so_far, uint64_t limit) {
    const tern_network_ops *ops = l->network->ops;
    const uint64_t begin = tern_now();
    while (so_far->ended < TERN_LOOK_BURST) {
        tern_network_done done[16];
        tern_status status = burst_post(l, so_far);
        if (status != TERN_OK)
            return status;
        if (so_far->posted == TERN_LOOK_BURST && ops->hasten != NULL)
            ops->hasten(l->end, l->post.peer);
        tern_network_progress(l->network);
        const size_t count = ops->complete(l->end, done, sizeof done / sizeof *done);
        for (size_t i = 0; i < count; i++)
            if (done[i].status != TERN_OK)
                so_far->status = done[i].status;
        so_far->ended += count;
        if (count == 0 && tern_now() - begin > limit)
            return TERN_ERR_TIMEOUT;
        if (count == 0)
            sched_yield();
    }
    return so_far->status;
}

static tern_status look_act(looker *l, look_progress *so_far, uint64_t limit) {
    if (l->burst)
        return burst_act(l, so_far, limit);
    bool posted = so_far->posted > 0;
    const tern_status status = tern_partner_act(l->network, l->end, &l->post, &posted, limit);
    so_far->posted = posted;
    return status;
}

/* Makes one transfer and counts what is seen. limit: of the time without help. [out] in_time: it
 * completed without help. Returns the status of the messages. */
static tern_status look(looker *l, const look_request *request, uint64_t limit, bool *in_time) {
    char said = NEEDS_HELP, there = 0;
    look_progress so_far = {0, 0, TERN_OK};
    tern_status sent = tern_partner_send(l->context, 0, request, sizeof *request);
    if (sent == TERN_OK && request->sleep > 0)
        nap(HEAD_START_NS);
    const uint64_t begin = tern_now();
    l->status = look_act(l, &so_far, limit);
    *in_time = l->status != TERN_ERR_TIMEOUT;
    if (sent == TERN_OK && !*in_time) {
        sent = tern_partner_send(l->context, 0, &said, sizeof said);
        l->status = look_act(l, &so_far, LIMIT_NS);
    }
    l->took = tern_now() - begin;
    const bool here = l->post.act == TERN_NETWORK_WRITE ||
                      look_is_there(l->page, request->bytes, request->serial);
    said = COMPLETE;
    if (sent == TERN_OK)
        sent = tern_partner_send(l->context, 0, &said, sizeof said);
    if (sent == TERN_OK)
        sent = tern_partner_take(l->context, 0, &there, sizeof there);
    if (sent != TERN_OK)
        return sent;
    if (l->status == TERN_OK) {
        l->findings->looks++;
        l->findings->early += !here || !there;
    } else if (l->status == TERN_ERR_MEMORY && l->post.local == NULL) {
        l->status = TERN_OK; /* such transfers go by copies later */
    }
    return TERN_OK;
}

/* Makes a put, or a get of what the last put has brought. */
static tern_status look_once(looker *l, look_request *request, uint64_t limit, bool *in_time) {
    const bool puts = l->post.act == TERN_NETWORK_WRITE;
    request->serial = puts ? ++l->serial : l->serial;
    look_fill(l->page, request->bytes, puts ? request->serial : 0);
    return look(l, request, limit, in_time);
}

/* The target does not help, unless that was needed twice. */
static tern_status look_without_help(looker *l, uint64_t bytes, bool asleep, uint64_t limit) {
    tern_status sent = TERN_OK;
    bool in_time = false;
    for (int i = 0; i < 2 && !in_time && l->findings->one_sided; i++) {
        look_request request = {.bytes = bytes};
        if (i > 0)
            limit *= SECOND;
        if (asleep) /* until the origin has lost its patience */
            request.sleep = HEAD_START_NS + limit + limit / 8;
        sent = look_once(l, &request, limit, &in_time);
        if (sent != TERN_OK || l->status != TERN_OK)
            return sent;
    }
    l->findings->one_sided = in_time;
    if (!in_time && !asleep) {
        look_request request = {.bytes = bytes, .attentive = true};
        sent = look_once(l, &request, LIMIT_NS, &in_time);
    }
    return sent;
}

static uint64_t patience(uint64_t time) {
    return time < PATIENCE_MIN ? PATIENCE_MIN : time < PATIENCE_MAX ? time : PATIENCE_MAX;
}

/* Looks at transfers of one size. */
static tern_status look_at(looker *l, uint64_t bytes) {
    look_request request = {.bytes = bytes, .attentive = true};
    bool in_time = false;
    l->post.bytes = bytes;
    l->post.local = bytes <= COPY_MAX ? l->local : NULL;
    l->post.act = TERN_NETWORK_WRITE;
    tern_status sent = look_once(l, &request, LIMIT_NS, &in_time);
    const uint64_t limit = patience(l->took * PATIENCE_TRIPS);
    for (unsigned i = 0; i < TRANSFERS && sent == TERN_OK && l->status == TERN_OK; i++) {
        l->post.act = i + 1 < TRANSFERS ? TERN_NETWORK_WRITE : TERN_NETWORK_READ;
        sent = look_without_help(l, bytes, i == 0, limit);
    }
    return sent;
}

/* Looks at a burst of puts, whose target helps only if the network needs that. */
static tern_status look_at_burst(looker *l) {
    look_request request = {.bytes = COPY_MAX, .attentive = true};
    const uint64_t limit = patience(l->findings->trip * TERN_LOOK_BURST);
    bool in_time = false;
    l->burst = true;
    l->post.local = l->local;
    l->post.act = TERN_NETWORK_WRITE;
    return l->findings->one_sided ? look_without_help(l, COPY_MAX, false, limit)
                                  : look_once(l, &request, LIMIT_NS, &in_time);
}

tern_status tern_looks_origin(tern_context *context, tern_network *network, tern_network_end *end,
                              const tern_network_post *post, tern_look_page *page,
                              tern_network_findings *findings) {
    static const uint64_t sizes[] = {8, 4096, COPY_MAX, TERN_LOOK_BYTES};
    looker l = {.context = context,
                .network = network,
                .end = end,
                .post = *post,
                .page = page,
                .findings = findings,
                .status = TERN_OK};
    const look_request enough = {.bytes = 0};
    tern_status sent = TERN_OK;
    if (network->local_memory)
        l.status = network->ops->add_local(end, page->word, COPY_MAX, &l.local);
    l.post.here = page->word;
    l.post.context = page->context;
    findings->one_sided = true;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (sent == TERN_OK && l.status == TERN_OK && sizes[i] <= network->post_max)
            sent = look_at(&l, sizes[i]);
    if (sent == TERN_OK && l.status == TERN_OK)
        sent = look_at_burst(&l);
    findings->works = l.status == TERN_OK;
    if (l.local != NULL)
        tern_partner_remove(network, l.local);
    return sent == TERN_OK ? tern_partner_send(context, 0, &enough, sizeof enough) : sent;
}
