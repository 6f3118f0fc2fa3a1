#include "mcts/search.h"

#include <string.h>

#include "base/process.h"
#include "mcts/work.h"

/* The calls that carry tokens. A message that does not fit into a ring is kept by its worker and
 * sent later. So no token is lost, and no handler has to run twice. */

enum {
    BACK_BYTES = offsetof(tern_mcts_message, from),
    CREATED_BYTES = offsetof(tern_mcts_message, depth),
    MESSAGE_BYTES = sizeof(tern_mcts_message)
};

const char tern_mcts_part_kind[] = "tree search";

tern_search *tern_mcts_search_of(const tern_call_info *call, const void *message, size_t bytes,
                                 size_t due) {
    tern_mcts_head head;
    if (bytes != due)
        return NULL;
    tern_read_once(&head, message, sizeof head);
    return tern_part_find(call->worker, tern_mcts_part_kind, head.nonce);
}

tern_mcts_node *tern_mcts_node_of(const tern_search *search, uint64_t name) {
    const tern_mcts_worker *owner = tern_mcts_local(search, name);
    uint32_t index = (uint32_t)name;
    /* R1: tern_mcts_node_take */
    if (owner == NULL || index == 0 ||
        index >= atomic_load_explicit(&owner->slab.nodes, memory_order_acquire))
        return NULL;
    tern_mcts_node *node = tern_mcts_node_at(&owner->slab, index);
    return node->live ? node : NULL;
}

tern_status tern_mcts_stray(void) {
    return tern_fail(TERN_ERR_STATE, "no such search or node here; was the search destroyed?");
}

/* Returns the worker to which a message has come, and copies the message. Returns NULL if the
 * message is not valid here. */
static tern_mcts_worker *open_message(const tern_call_info *call, const void *arguments,
                                      size_t bytes, size_t due, tern_mcts_message *m) {
    tern_search *s = tern_mcts_search_of(call, arguments, bytes, due);
    uint32_t index = tern_worker_self(call->worker).index;
    if (s == NULL || index >= s->workers)
        return NULL;
    s->worker[index].worker = call->worker;
    tern_read_once(m, arguments, due);
    return &s->worker[index];
}

/* The target of a message: a node, an edge of it, or either, as its slot says. */
typedef enum tern_mcts_at { AT_NODE, AT_EDGE, AT_EITHER } tern_mcts_at;

/* Does what open_message does, for a message to a node. The worker must be allowed to touch the
 * node, and the node must have the edge. */
static tern_mcts_worker *open_node(const tern_call_info *call, const void *arguments, size_t bytes,
                                   size_t due, tern_mcts_message *m, tern_mcts_at at) {
    tern_mcts_worker *w = open_message(call, arguments, bytes, due, m);
    tern_mcts_node *node = w != NULL ? tern_mcts_node_of(w->search, m->name) : NULL;
    if (node == NULL || tern_mcts_reach(w, m->name) == NULL)
        return NULL;
    tern_mcts_edges *edges = tern_mcts_edges_of(node);
    uint32_t edge = m->slot & ~TERN_MCTS_LOOSE;
    if (at == AT_NODE || (at == AT_EITHER && m->slot == TERN_MCTS_OWN))
        return w;
    return (edges != NULL && edge < edges->count) ? w : NULL;
}

/* Returns whether tokens may go to a name or come back to it: its worker must exist, and if that is
 * a worker of this process, its node too. */
static bool token_named(const tern_search *s, uint64_t name) {
    return tern_mcts_owner(name) < s->all && (uint32_t)name != 0 &&
           (tern_mcts_local(s, name) == NULL || tern_mcts_node_of(s, name) != NULL);
}

/* Does what token_named does, for an edge. The owner of a node in another process checks the edge
 * itself. */
static bool named_edge(const tern_search *s, uint64_t name, uint32_t slot) {
    if (!token_named(s, name) || tern_mcts_local(s, name) == NULL)
        return token_named(s, name);
    const tern_mcts_edges *edges = tern_mcts_edges_of(tern_mcts_node_of(s, name));
    return edges != NULL && slot < edges->count;
}

static tern_status tern_mcts_on_select(tern_call_info *call, const void *arguments, size_t bytes) {
    tern_mcts_message m;
    tern_mcts_worker *w = open_node(call, arguments, bytes, MESSAGE_BYTES, &m, AT_NODE);
    if (w == NULL || m.count > w->search->options.under_way ||
        (m.from != 0 && !named_edge(w->search, m.from, m.slot)))
        return tern_mcts_stray();
    for (uint32_t i = 0; i < m.count; i++)
        tern_mcts_go(w, m.name, m.from, m.slot, m.depth);
    return TERN_OK;
}
TERN_FUNCTION(tern_mcts_on_select)

static tern_status tern_mcts_on_create(tern_call_info *call, const void *arguments, size_t bytes) {
    tern_mcts_message m;
    tern_mcts_worker *w = open_message(call, arguments, bytes, MESSAGE_BYTES, &m);
    if (w == NULL || call->buffer_bytes != w->search->game.state_bytes ||
        !named_edge(w->search, m.name, m.slot))
        return tern_mcts_stray();
    /* The state is copied because the buffer has the alignment of arguments, which is not enough
     * for every state. */
    memcpy(w->state, call->buffer, call->buffer_bytes);
    uint64_t child = tern_mcts_make(w, w->state, m.name, m.slot, m.depth);
    tern_mcts_message answer = {.name = m.name, .slot = m.slot, .count = 1, .from = child};
    tern_mcts_send(w, TERN_MCTS_CREATED, tern_mcts_owner(m.name), &answer, NULL);
    if (child != 0)
        tern_mcts_go(w, child, m.name, m.slot, m.depth);
    else
        tern_mcts_simulate(w, w->state, m.name, m.slot | TERN_MCTS_LOOSE, m.depth);
    return TERN_OK;
}
TERN_FUNCTION(tern_mcts_on_create)

static tern_status tern_mcts_on_created(tern_call_info *call, const void *arguments, size_t bytes) {
    tern_mcts_message m;
    tern_mcts_worker *w = open_node(call, arguments, bytes, CREATED_BYTES, &m, AT_EDGE);
    if (w == NULL || (m.slot & TERN_MCTS_LOOSE) != 0 ||
        (m.from != 0 && !token_named(w->search, m.from)))
        return tern_mcts_stray();
    tern_mcts_settle(w, m.name, m.slot, m.from);
    return TERN_OK;
}
TERN_FUNCTION(tern_mcts_on_created)

static tern_status tern_mcts_on_back(tern_call_info *call, const void *arguments, size_t bytes) {
    tern_mcts_message m;
    tern_mcts_worker *w = open_node(call, arguments, bytes, BACK_BYTES, &m, AT_EITHER);
    if (w == NULL || m.count > 2 * w->search->options.simulations)
        return tern_mcts_stray();
    tern_mcts_back(w, m.name, m.slot, m.count);
    return TERN_OK;
}
TERN_FUNCTION(tern_mcts_on_back)

static tern_status token_create(tern_worker *worker, tern_worker_id target,
                                const tern_mcts_message *m, const char *state, size_t state_bytes) {
    const tern_call_options options = {.full = TERN_FULL_FAIL,
                                       .transfer = TERN_BUFFER_INSIDE,
                                       .buffer = state,
                                       .buffer_bytes = state_bytes};
    return tern_call_with(worker, target, &tern_mcts_on_create_function, m, MESSAGE_BYTES,
                          &options);
}

/* Constant sizes let the compiler inline the short path. tern_call_try sends what the short path
 * does not take, or returns why it cannot. */
static tern_status token_try_send(const tern_mcts_worker *w, tern_mcts_kind kind, uint32_t target,
                                  const tern_mcts_message *m, const char *state) {
    tern_worker *worker = w->worker;
    const tern_function *function = &tern_mcts_on_select_function;
    size_t bytes = MESSAGE_BYTES;
    tern_worker_id id = {target / w->search->workers, target % w->search->workers};
    bool sent = false;
    switch (kind) {
    case TERN_MCTS_CREATE:
        return token_create(worker, id, m, state, w->search->game.state_bytes);
    case TERN_MCTS_CREATED:
        function = &tern_mcts_on_created_function;
        bytes = CREATED_BYTES;
        break;
    case TERN_MCTS_BACK:
        function = &tern_mcts_on_back_function;
        bytes = BACK_BYTES;
        sent = tern_internal_call_try(worker, id, function, m, BACK_BYTES);
        break;
    default:
        sent = tern_internal_call_try(worker, id, function, m, MESSAGE_BYTES);
    }
    return sent ? TERN_OK : tern_call_try(worker, id, function, m, bytes);
}

/* Returns the bytes that a call with so many bytes takes in a ring: a header, and whole words. */
static uint64_t in_ring(size_t bytes) { return 8 + (((uint64_t)bytes + 7) & ~(uint64_t)7); }

/* Returns the bytes of a message in a ring. In a creation the length of the message comes first,
 * then the message, then the state. */
static uint64_t token_record_bytes(const tern_search *s, tern_mcts_kind kind) {
    switch (kind) {
    case TERN_MCTS_CREATE:
        return in_ring(sizeof(uint64_t) + MESSAGE_BYTES + s->game.state_bytes);
    case TERN_MCTS_CREATED:
        return in_ring(CREATED_BYTES);
    case TERN_MCTS_BACK:
        return in_ring(BACK_BYTES);
    default:
        return in_ring(MESSAGE_BYTES);
    }
}

static bool token_sent(tern_mcts_worker *w, tern_mcts_kind kind, uint32_t target,
                       const tern_mcts_message *m, const char *state) {
    tern_status status = token_try_send(w, kind, target, m, state);
    if (status == TERN_ERR_AGAIN)
        return false;
    if (status != TERN_OK)
        tern_mcts_fail(w->search, status);
    w->statistics.calls++;
    w->statistics.bytes += token_record_bytes(w->search, kind);
    return true;
}

void tern_mcts_send(tern_mcts_worker *w, tern_mcts_kind kind, uint32_t target, tern_mcts_message *m,
                    const char *state) {
    m->head = tern_mcts_head_to(w->search);
    /* If messages are kept already, this one goes behind them; otherwise they could wait for
     * ever. */
    if (w->kept.first == NULL && token_sent(w, kind, target, m, state))
        return;
    tern_mcts_record *record = tern_mcts_record_take(w);
    if (record == NULL)
        return;
    record->kind = kind;
    record->target = target;
    record->message = *m;
    if (state != NULL)
        memcpy(record->state, state, w->search->game.state_bytes);
    tern_mcts_append(&w->kept, record);
    w->statistics.kept++;
}

bool tern_mcts_send_kept(tern_mcts_worker *w) {
    bool some = false;
    while (w->kept.first != NULL) {
        tern_mcts_record *record = w->kept.first;
        const char *state = record->kind == TERN_MCTS_CREATE ? record->state : NULL;
        if (!token_sent(w, record->kind, record->target, &record->message, state))
            break;
        some = true;
        tern_mcts_record_give(w, tern_mcts_take_first(&w->kept));
    }
    return some;
}
