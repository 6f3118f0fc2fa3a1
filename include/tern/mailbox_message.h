#ifndef TERN_MAILBOX_MESSAGE_H
#define TERN_MAILBOX_MESSAGE_H

/*
 * Requests and replies of any length through a mailbox (tern/mailbox.h; paper 002, 8.4). A client
 * holds its slot for as many round trips as it needs to pass the request, one packet at a time, and
 * to fetch the reply. The slot's number identifies the call: the server collects the packets of a
 * slot in a session, and keeps the slot until the call is over. Freestanding like tern/mailbox.h: a
 * function of the program gives the server its memory, and the compiler provides memcpy.
 *
 * A server trusts nothing that it reads from a packet. It copies the packet's head once into its
 * own memory and checks the copy against the session, and it copies content before it looks at it.
 */

#include "tern/mailbox.h"

/* The outcome of a call. A value of the hook that ended the wait is positive by convention. */
enum {
    TERN_MAILBOX_OK = 0,
    TERN_MAILBOX_LOST = -1,     /* the server died or left during the call */
    TERN_MAILBOX_REFUSED = -2,  /* invalid packet, request too long, or no memory at the server */
    TERN_MAILBOX_TRUNCATED = -3 /* the reply is longer than the memory for it */
};

/* The head of each packet: 24 bytes at its start, written by the client for a request and by the
 * server for an answer. The content of the packet follows. */
typedef struct tern_mailbox_head {
    uint64_t total;  /* bytes of the whole request, or of the whole reply */
    uint64_t offset; /* offset of this packet's content in it */
    uint32_t bytes;  /* bytes of content in this packet */
    int32_t kind;    /* of a request: one of the two below; of an answer: its outcome */
} tern_mailbox_head;

/* What a packet of a request is. */
#define TERN_MAILBOX_PUSH 1 /* carries a part of the request */
#define TERN_MAILBOX_PULL 2 /* asks for the part of the reply at offset */

/* A call at its server. Zeroed at first. */
typedef struct tern_mailbox_session {
    uint8_t *request, *reply; /* memory from resize */
    uint64_t room, total, got;
    uint64_t reply_total, taken;
    uint32_t active, failed; /* failed: there was no memory for the reply */
} tern_mailbox_session;

/* A service of one server. The program fills in all fields; sessions has one element for each
 * slot. */
typedef struct tern_mailbox_service {
    tern_mailbox_session *sessions;
    uint64_t request_max; /* longest request in bytes that is accepted */
    uint32_t packet;      /* bytes of a packet of the mailbox */
    uint32_t slots;
    /* Works like realloc, and like free if bytes is 0. NULL means that there is no memory; the call
     * is then refused. */
    void *(*resize)(void *memory, uint64_t bytes, void *argument);
    /* Carries out a request. The request is in private memory until handle returns. handle writes
     * the reply into the memory that tern_mailbox_reply returns; without such a call the reply is
     * empty. */
    void (*handle)(struct tern_mailbox_service *service, uint32_t slot, const void *request,
                   uint64_t bytes);
    void *argument;
} tern_mailbox_service;

/* Returns the bytes of content that a packet holds beside its head. */
TERN_MAILBOX_INLINE uint32_t tern_mailbox_piece(uint32_t packet) {
    return packet > sizeof(tern_mailbox_head) ? packet - (uint32_t)sizeof(tern_mailbox_head) : 0;
}

/* ---- Server ---- */

/** Returns memory of bytes bytes for the reply to the call on slot, which handle fills. The service
 * frees it. Returns NULL if there is no memory; the call is then refused. */
TERN_MAILBOX_INLINE void *tern_mailbox_reply(tern_mailbox_service *service, uint32_t slot,
                                             uint64_t bytes) {
    tern_mailbox_session *session = &service->sessions[slot];
    uint8_t *reply =
        (uint8_t *)service->resize(session->reply, bytes > 0 ? bytes : 1, service->argument);
    session->failed = reply == NULL;
    if (reply == NULL)
        return NULL;
    session->reply = reply;
    session->reply_total = bytes;
    return reply;
}

/* Ends a call. The session keeps a request buffer of up to a packet's size for the next call. */
TERN_MAILBOX_INLINE void tern_mailbox_session_end(tern_mailbox_service *service, uint32_t slot) {
    tern_mailbox_session *session = &service->sessions[slot];
    if (session->room > service->packet) {
        (void)service->resize(session->request, 0, service->argument);
        session->request = NULL;
        session->room = 0;
    }
    if (session->reply != NULL)
        (void)service->resize(session->reply, 0, service->argument);
    session->reply = NULL;
    session->reply_total = session->taken = session->total = session->got = 0;
    session->active = session->failed = 0;
}

/* Begins a session with room for a request of total bytes. Returns 1 if it did, else 0. */
TERN_MAILBOX_INLINE int tern_mailbox_session_begin(tern_mailbox_service *service, uint32_t slot,
                                                   uint64_t total) {
    tern_mailbox_session *session = &service->sessions[slot];
    tern_mailbox_session_end(service, slot);
    if (total > service->request_max)
        return 0;
    if (session->room < total || session->request == NULL) {
        uint64_t room = total < service->packet ? service->packet : total;
        uint8_t *memory = (uint8_t *)service->resize(session->request, room, service->argument);
        if (memory == NULL)
            return 0;
        session->request = memory;
        session->room = room;
    }
    session->total = total;
    session->active = 1;
    return 1;
}

/* Returns the answer that carries the next part of the reply. */
TERN_MAILBOX_INLINE tern_mailbox_head tern_mailbox_pull(tern_mailbox_service *service,
                                                        uint32_t slot, uint8_t *content) {
    tern_mailbox_session *session = &service->sessions[slot];
    uint64_t left = session->reply_total - session->taken;
    uint32_t piece = tern_mailbox_piece(service->packet);
    uint32_t bytes = left < piece ? (uint32_t)left : piece;
    tern_mailbox_head answer = {session->reply_total, session->taken, bytes, TERN_MAILBOX_OK};
    if (bytes > 0)
        __builtin_memcpy(content, session->reply + session->taken, bytes);
    session->taken += bytes;
    if (session->taken == session->reply_total)
        tern_mailbox_session_end(service, slot);
    return answer;
}

/* Takes in a part of a request. The answer to the last part carries the first part of the reply. */
TERN_MAILBOX_INLINE tern_mailbox_head tern_mailbox_push(tern_mailbox_service *service,
                                                        uint32_t slot,
                                                        const tern_mailbox_head *head,
                                                        uint8_t *content) {
    static const tern_mailbox_head refused = {0, 0, 0, TERN_MAILBOX_REFUSED};
    tern_mailbox_session *session = &service->sessions[slot];
    if (head->offset == 0 && !tern_mailbox_session_begin(service, slot, head->total))
        return refused;
    if (head->total != session->total || head->bytes > session->total - session->got ||
        (head->bytes == 0 && session->total > 0)) {
        tern_mailbox_session_end(service, slot);
        return refused;
    }
    if (head->bytes > 0)
        __builtin_memcpy(session->request + session->got, content, head->bytes);
    session->got += head->bytes;
    if (session->got < session->total) {
        tern_mailbox_head go_on = {0, 0, 0, TERN_MAILBOX_OK};
        return go_on;
    }
    service->handle(service, slot, session->request, session->total);
    if (session->failed) {
        tern_mailbox_session_end(service, slot);
        return refused;
    }
    return tern_mailbox_pull(service, slot, content);
}

/** The work function of a server (tern_mailbox_serve); argument is the service. */
TERN_MAILBOX_INLINE int tern_mailbox_message_work(void *packet, uint32_t slot, void *argument) {
    tern_mailbox_service *service = (tern_mailbox_service *)argument;
    tern_mailbox_session *session = &service->sessions[slot];
    uint8_t *content = (uint8_t *)packet + sizeof(tern_mailbox_head);
    tern_mailbox_head head, answer = {0, 0, 0, TERN_MAILBOX_REFUSED};
    __builtin_memcpy(&head, packet, sizeof head);
    tern_mailbox_settle(&head);
    if (head.offset > 0 && !session->active)
        answer.kind = TERN_MAILBOX_LOST; /* the call was begun by a server that has left or died */
    else if (head.bytes > tern_mailbox_piece(service->packet))
        tern_mailbox_session_end(service, slot);
    else if (head.kind == TERN_MAILBOX_PUSH && (head.offset == 0 || head.offset == session->got))
        answer = tern_mailbox_push(service, slot, &head, content);
    else if (head.kind == TERN_MAILBOX_PULL && head.offset == session->taken && head.offset > 0)
        answer = tern_mailbox_pull(service, slot, content);
    else
        tern_mailbox_session_end(service, slot);
    __builtin_memcpy(packet, &answer, sizeof answer);
    return session->active != 0;
}

/** The clean function of a server. The server keeps the slot while the call goes on. */
TERN_MAILBOX_INLINE int tern_mailbox_message_clean(void *packet, uint32_t slot, void *argument) {
    tern_mailbox_service *service = (tern_mailbox_service *)argument;
    uint32_t own = slot & ~TERN_MAILBOX_GONE;
    (void)packet;
    if (own != slot)
        tern_mailbox_session_end(service, own);
    return service->sessions[own].active != 0;
}

/** Answers in place of a dead server (tern_mailbox_server_reclaim). */
TERN_MAILBOX_INLINE int tern_mailbox_message_recover(void *packet, uint32_t slot, void *argument) {
    static const tern_mailbox_head lost = {0, 0, 0, TERN_MAILBOX_LOST};
    (void)slot;
    (void)argument;
    __builtin_memcpy(packet, &lost, sizeof lost);
    return 0;
}

/* ---- Client ---- */

/* A call at its client. */
typedef struct tern_mailbox_message {
    const uint8_t *request;
    uint8_t *reply;
    uint64_t bytes, sent;                    /* of the request: its bytes, and how many are sent */
    uint64_t room, reply_total, reply_taken; /* of the reply: its room, its bytes, and how many
                                                came */
    uint32_t piece;
    int outcome;
} tern_mailbox_message;

/* Not for applications: fills a packet of a message. */
TERN_MAILBOX_INLINE void tern_internal_mailbox_message_fill(void *packet, uint32_t slot,
                                                            void *argument) {
    tern_mailbox_message *m = (tern_mailbox_message *)argument;
    tern_mailbox_head head = {m->bytes, m->sent, 0, TERN_MAILBOX_PUSH};
    (void)slot;
    if (m->reply_taken > 0) {
        head.kind = TERN_MAILBOX_PULL;
        head.offset = m->reply_taken;
    } else {
        uint64_t left = m->bytes - m->sent;
        head.bytes = left < m->piece ? (uint32_t)left : m->piece;
        if (head.bytes > 0)
            __builtin_memcpy((uint8_t *)packet + sizeof head, m->request + m->sent, head.bytes);
        m->sent += head.bytes;
    }
    __builtin_memcpy(packet, &head, sizeof head);
}

/* Not for applications: uses the answer in a packet of a message. */
TERN_MAILBOX_INLINE void tern_internal_mailbox_message_use(void *packet, uint32_t slot,
                                                           void *argument) {
    tern_mailbox_message *m = (tern_mailbox_message *)argument;
    tern_mailbox_head head;
    (void)slot;
    __builtin_memcpy(&head, packet, sizeof head);
    tern_mailbox_settle(&head);
    m->outcome = head.kind == TERN_MAILBOX_OK || head.kind == TERN_MAILBOX_LOST
                     ? head.kind
                     : TERN_MAILBOX_REFUSED;
    if (m->outcome != TERN_MAILBOX_OK || m->sent < m->bytes)
        return;
    /* These checks keep a faulty server from writing beyond the room for the reply, and from
     * answering for ever without content. */
    int first = m->reply_taken == 0;
    if (head.offset != m->reply_taken || (!first && head.total != m->reply_total) ||
        head.bytes > m->piece || head.bytes > head.total - m->reply_taken ||
        (head.bytes == 0 && head.total > 0)) {
        m->outcome = TERN_MAILBOX_REFUSED;
        return;
    }
    uint64_t fits = m->room > m->reply_taken ? m->room - m->reply_taken : 0;
    if (fits > head.bytes)
        fits = head.bytes;
    if (fits > 0)
        __builtin_memcpy(m->reply + m->reply_taken, (uint8_t *)packet + sizeof head, fits);
    m->reply_taken += head.bytes;
    m->reply_total = head.total;
}

/** Makes a call on a slot that this client holds and continues to hold.
 *
 * @param request the request, bytes bytes
 * @param reply memory of room bytes for the reply
 * @param[out] reply_bytes length of the reply, set if the call was answered; may be NULL
 * @param wait how to wait
 * @return one of the outcomes above, or the hook's value that ended the wait. With
 *     TERN_MAILBOX_TRUNCATED, reply has the first room bytes. If the hook ended the wait, the
 *     client must not touch the packet any more, and may give the slot back.
 *
 * Blocking: until the server has answered all packets. */
TERN_MAILBOX_INLINE int tern_mailbox_message_on(const tern_mailbox_client *client, uint32_t slot,
                                                const void *request, uint64_t bytes, void *reply,
                                                uint64_t room, uint64_t *reply_bytes,
                                                const tern_mailbox_wait *wait) {
    tern_mailbox_message m = {(const uint8_t *)request,
                              (uint8_t *)reply,
                              bytes,
                              0,
                              room,
                              0,
                              0,
                              tern_mailbox_piece(client->box.bytes),
                              TERN_MAILBOX_OK};
    if (m.piece == 0)
        return TERN_MAILBOX_REFUSED;
    for (uint32_t packets = 1;; packets++) {
        int stop = tern_mailbox_call_on(client, slot, tern_internal_mailbox_message_fill,
                                        tern_internal_mailbox_message_use, &m, wait);
        if (stop == 0 &&
            (m.outcome != TERN_MAILBOX_OK || (m.sent == m.bytes && m.reply_taken == m.reply_total)))
            break;
        /* The deadline must also hold for a long call in which every answer comes before the hook's
         * turn. */
        if (stop == 0 && packets % TERN_MAILBOX_SPINS == 0 && wait != NULL && wait->idle != NULL)
            stop = wait->idle(wait->argument, 0);
        if (stop != 0)
            return stop;
    }
    if (m.outcome == TERN_MAILBOX_OK && reply_bytes != NULL)
        *reply_bytes = m.reply_total;
    return m.outcome == TERN_MAILBOX_OK && m.reply_total > room ? TERN_MAILBOX_TRUNCATED
                                                                : m.outcome;
}

/** Makes a call as tern_mailbox_message_on does, on any free slot. */
TERN_MAILBOX_INLINE int tern_mailbox_message_call(tern_mailbox_client *client, const void *request,
                                                  uint64_t bytes, void *reply, uint64_t room,
                                                  uint64_t *reply_bytes,
                                                  const tern_mailbox_wait *wait) {
    uint32_t slot;
    int stop = tern_mailbox_take_wait(client, wait, &slot);
    if (stop != 0)
        return stop;
    stop = tern_mailbox_message_on(client, slot, request, bytes, reply, room, reply_bytes, wait);
    tern_mailbox_client_give(client, slot);
    return stop;
}

#endif
