#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/process.h"
#include "mailbox/sandbox.h"

/*
 * Serving a sandbox. The server copies each call once into its own memory, and only looks up,
 * checks and uses the copy, because the program may still write to the packet. The flags and locks
 * in the shared memory can only make the server look for a call. The position and number of packets
 * are the server's own data.
 */

static int clock_check(tern_sandbox *s, const tern_sandbox_request *request, void *argument) {
    (void)s;
    (void)argument;
    return request->arguments[0] > 1 ? -EINVAL : 0;
}

static int64_t clock_run(tern_sandbox *s, const tern_sandbox_request *request,
                         tern_sandbox_reply *reply, void *argument) {
    struct timespec now = {0, 0};
    (void)s;
    (void)reply;
    (void)argument;
    clock_gettime(request->arguments[0] == 0 ? CLOCK_MONOTONIC : CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int allocate_check(tern_sandbox *s, const tern_sandbox_request *request, void *argument) {
    uint64_t left = s->options->memory_bytes - s->result.memory_bytes;
    (void)argument;
    if (request->arguments[0] == 0)
        return -EINVAL;
    return request->arguments[0] > left || s->shape.bytes > tern_sandbox_file_limit() ? -ENOMEM : 0;
}

static int64_t allocate_run(tern_sandbox *s, const tern_sandbox_request *request,
                            tern_sandbox_reply *reply, void *argument) {
    uint64_t line = TERN_MAILBOX_LINE, at = s->result.memory_bytes;
    uint64_t end = (at + request->arguments[0] + line - 1) / line * line;
    (void)reply;
    (void)argument;
    if (end > s->options->memory_bytes)
        end = s->options->memory_bytes;
    /* allocate makes the pages exist. A page that is only reserved could be missing when the server
     * touches it. */
    if (tern_sandbox_extend(s->channel_fd, s->shape.memory + at, end - at) != 0)
        return -ENOMEM;
    s->result.memory_bytes = end;
    return (int64_t)at;
}

static int print_check(tern_sandbox *s, const tern_sandbox_request *request, void *argument) {
    (void)argument;
    return request->bytes > s->options->write_bytes - s->result.written_bytes ? -EDQUOT : 0;
}

static int64_t print_run(tern_sandbox *s, const tern_sandbox_request *request,
                         tern_sandbox_reply *reply, void *argument) {
    (void)argument;
    s->result.written_bytes += request->bytes;
    if (s->options->print != NULL) {
        s->options->print((const char *)request->data, request->bytes, s->options->context);
        return request->bytes;
    }
    /* A terminal would execute control characters in the text. */
    for (uint32_t i = 0; i < request->bytes; i++) {
        unsigned char one = request->data[i];
        reply->data[i] = (one >= 32 && one < 127) || one == '\n' || one == '\t' ? one : '?';
    }
    if (fwrite(reply->data, 1, request->bytes, stdout) != request->bytes || fflush(stdout) != 0)
        return -EIO;
    return request->bytes;
}

const tern_sandbox_operation tern_sandbox_table[TERN_SANDBOX_OWN] = {
    [TERN_SANDBOX_OPEN] = {TERN_SANDBOX_OPEN, "open", tern_sandbox_open_check,
                           tern_sandbox_open_run, NULL},
    [TERN_SANDBOX_READ] = {TERN_SANDBOX_READ, "read", tern_sandbox_read_check,
                           tern_sandbox_read_run, NULL},
    [TERN_SANDBOX_WRITE] = {TERN_SANDBOX_WRITE, "write", tern_sandbox_write_check,
                            tern_sandbox_write_run, NULL},
    [TERN_SANDBOX_CLOSE] = {TERN_SANDBOX_CLOSE, "close", tern_sandbox_close_check,
                            tern_sandbox_close_run, NULL},
    [TERN_SANDBOX_CLOCK] = {TERN_SANDBOX_CLOCK, "clock", clock_check, clock_run, NULL},
    [TERN_SANDBOX_ALLOCATE] = {TERN_SANDBOX_ALLOCATE, "allocate", allocate_check, allocate_run,
                               NULL},
    [TERN_SANDBOX_PRINT] = {TERN_SANDBOX_PRINT, "print", print_check, print_run, NULL},
};

/* Returns NULL if the operation does not exist or is not allowed. */
static const tern_sandbox_operation *sandbox_serve_find(const tern_sandbox *s, uint32_t number) {
    const tern_sandbox_options *o = s->options;
    if (number < TERN_SANDBOX_OWN)
        return o->allow >> number & 1 && tern_sandbox_table[number].run != NULL
                   ? &tern_sandbox_table[number]
                   : NULL;
    for (uint32_t i = 0; i < o->operation_count; i++)
        if (o->operations[i].number == number)
            return &o->operations[i];
    return NULL;
}

/* From here on, no part of the request is in shared memory. */
static int64_t sandbox_serve_answer(tern_sandbox *s, const tern_sandbox_request *request,
                                    tern_sandbox_reply *reply) {
    const tern_sandbox_operation *operation = sandbox_serve_find(s, request->operation);
    int refusal = operation == NULL          ? -EPERM
                  : operation->check == NULL ? 0
                                             : operation->check(s, request, operation->argument);
    if (refusal == 0)
        return operation->run(s, request, reply, operation->argument);
    s->result.refused++;
    return refusal;
}

static int sandbox_serve_work(void *packet, uint32_t slot, void *argument) {
    tern_sandbox *s = argument;
    tern_sandbox_head head;
    tern_sandbox_reply reply = {s->reply, 0};
    (void)slot;
    memcpy(&head, packet, sizeof head);
    tern_mailbox_settle(&head);
    s->result.calls++;
    if (head.bytes > TERN_SANDBOX_DATA) {
        s->result.refused++;
        head.result = -EMSGSIZE;
    } else {
        tern_sandbox_request request = {
            .operation = head.operation, .bytes = head.bytes, .data = s->data};
        memcpy(request.arguments, head.arguments, sizeof request.arguments);
        memcpy(s->data, (unsigned char *)packet + sizeof head, head.bytes);
        s->data[head.bytes] = 0;
        tern_mailbox_settle(s->data);
        head.result = sandbox_serve_answer(s, &request, &reply);
    }
    head.bytes = reply.bytes <= TERN_SANDBOX_DATA ? reply.bytes : TERN_SANDBOX_DATA;
    memcpy((unsigned char *)packet + sizeof head, reply.data, head.bytes);
    memcpy(packet, &head, sizeof head);
    return 0;
}

/* Serves calls for up to 64 rounds, and about 0.5 ms. Returns the number of steps. */
static uint32_t serve_a_while(tern_sandbox *s, tern_mailbox_server *server, uint64_t now) {
    enum { ROUNDS = 64, LONG_NS = 500000 };
    uint32_t steps = 0;
    for (int i = 0; i < ROUNDS; i++) {
        uint32_t done = tern_mailbox_serve(server, sandbox_serve_work, NULL, s);
        steps += done;
        if (done == 0)
            tern_mailbox_pause();
        else if (tern_now() - now > LONG_NS)
            break;
    }
    return steps;
}

/* Returns whether the child has ended. Waits for its end for a tenth of the time since the last
 * call, at most 1 ms; in the first 0.1 ms it does not wait. */
static int sandbox_serve_ended(const tern_sandbox *s, uint64_t quiet_ns) {
    uint64_t nap = quiet_ns < 100000 ? 0 : quiet_ns / 10 < 1000000 ? quiet_ns / 10 : 1000000;
    struct pollfd one = {s->pidfd, POLLIN, 0};
    struct timespec time = {0, (long)nap};
    return ppoll(&one, 1, &time, NULL) > 0;
}

int tern_sandbox_serve(tern_sandbox *s, tern_sandbox_end *why) {
    tern_mailbox box =
        tern_mailbox_at(s->channel + s->shape.mailbox, TERN_SANDBOX_SLOTS, TERN_SANDBOX_PACKET);
    tern_mailbox_server server = tern_mailbox_server_at(&box, 1);
    uint64_t began = tern_now(), last = began, now = began;
    for (;;) {
        /* Before the helper is behind its filter and runs the program, nothing is posted. */
        if (serve_a_while(s, &server, now) > 0)
            last = now;
        now = tern_now();
        if (sandbox_serve_ended(s, now - last)) {
            /* Serve the calls that the program posted without waiting for their answers. */
            for (uint32_t i = 0; i < TERN_SANDBOX_SLOTS; i++)
                (void)tern_mailbox_serve(&server, sandbox_serve_work, NULL, s);
            return 0;
        }
        if (now - began >= s->options->timeout_ns) {
            *why = TERN_SANDBOX_TIMEOUT;
            return 1;
        }
        if (s->options->idle != NULL && s->options->idle(s->options->context) != 0) {
            *why = TERN_SANDBOX_STOPPED;
            return 1;
        }
    }
}
