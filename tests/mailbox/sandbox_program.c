/* The program that the suites on sandboxes run inside. Its argument selects a case, and has a
 * number and a path for it. */

#include <errno.h>

#define TERN_SANDBOX_PROGRAM
#include "tern/sandbox_printf.h"

typedef struct request {
    char kind;
    uint64_t number;
    char path[];
} request;

static const char *const words[] = {"zero", "one", "two"}; /* each pointer needs a relocation */

static uint64_t next(uint64_t *seed) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

/* Returns a number that is small, at a limit, or arbitrary. */
static uint64_t any_number(uint64_t *seed) {
    static const uint64_t edges[] = {
        0, 1, 2, 3, 4095, 4096, 4097, 1 << 20, INT64_MAX, 1u << 31, UINT64_MAX, UINT64_MAX - 4095};
    uint64_t pick = next(seed);
    if (pick % 4 == 0)
        return next(seed) << 32 ^ next(seed) << 16 ^ next(seed);
    return pick % 4 == 1 ? edges[next(seed) % (sizeof edges / sizeof edges[0])] : next(seed) % 16;
}

/* Returns the error that the check of an operation gives, and that nothing else gives. */
static int64_t refusal_of(uint32_t operation) {
    switch (operation) {
    case TERN_SANDBOX_OPEN:
    case TERN_SANDBOX_CLOCK:
    case TERN_SANDBOX_ALLOCATE:
        return -EINVAL;
    case TERN_SANDBOX_PRINT:
        return -EDQUOT;
    default:
        return -EBADF;
    }
}

/* Makes one call with arbitrary arguments and data, mostly of an existing operation. In half of the
 * calls it changes them until the call is answered. It sets the operation's bit in did if the
 * operation succeeded, or in refused if its check refused the call. */
static void call_anything(tern_sandbox_box *box, const request *r, uint64_t *seed, uint64_t *did,
                          uint64_t *refused) {
    uint32_t slot = tern_mailbox_take(&box->client);
    while (slot == TERN_MAILBOX_NONE)
        slot = tern_mailbox_take(&box->client);
    uint8_t *packet = tern_mailbox_packet(&box->client.box, slot);
    tern_sandbox_head *head = (tern_sandbox_head *)(void *)packet;
    uint32_t operation = (uint32_t)(next(seed) % 16 == 0 ? any_number(seed) : 1 + next(seed) % 7);
    for (size_t i = 0; i < 64; i++)
        packet[sizeof *head + i] = (uint8_t)next(seed);
    head->operation = operation;
    head->bytes = (uint32_t)(next(seed) % 4 == 0 ? any_number(seed) : next(seed) % 16);
    if (next(seed) % 2 == 0) { /* the path of an existing file */
        head->bytes = (uint32_t)tern_sandbox_length(r->path);
        memcpy(packet + sizeof *head, r->path, head->bytes);
    }
    for (int i = 0; i < TERN_SANDBOX_ARGUMENTS; i++)
        head->arguments[i] = any_number(seed);
    uint64_t changes = next(seed) % 2;
    (void)tern_mailbox_post(&box->client, slot);
    while (tern_mailbox_look(&box->client.box, slot) == TERN_MAILBOX_POSTED)
        if (changes)
            *(volatile uint8_t *)(packet + 16 + next(seed) % 80) = (uint8_t)next(seed);
    int64_t result = head->result;
    (void)tern_mailbox_finish(&box->client, slot);
    tern_mailbox_client_give(&box->client, slot);
    if (operation < TERN_SANDBOX_OWN) {
        *did |= (uint64_t)(result >= 0) << operation;
        *refused |= (uint64_t)(result == refusal_of(operation)) << operation;
    }
}

/* Makes arbitrary calls, reports their results, and then writes random bytes to the server's flags
 * and locks, to its own, and to packets. */
static int scribble(tern_sandbox_box *box, const request *r) {
    uint8_t *from = box->client.box.packets;
    size_t bytes = tern_mailbox_bytes(TERN_SANDBOX_SLOTS, TERN_SANDBOX_PACKET);
    uint8_t *flags = box->client.box.client.bytes;
    uint64_t seed = r->number, did = 0, refused = 0, calls = 200;
    for (uint64_t i = 0; i < calls; i++)
        call_anything(box, r, &seed, &did, &refused);
    tern_sandbox_message m = {TERN_SANDBOX_OWN, 0, {did, refused, calls + 1, 0}, 0, 0, 0, 0, 0};
    (void)tern_sandbox_call(box, &m);
    for (uint64_t i = 0; i < 300000; i++) {
        if (i % 1000 == 0) /* lets the server run in between, also under load */
            (void)tern_sandbox_yield(NULL, 0);
        uint64_t pick = next(&seed);
        uint32_t slot = (uint32_t)(pick >> 8) % TERN_SANDBOX_SLOTS;
        if (pick % 16 == 15) { /* makes the server see a call */
            tern_sandbox_head *head =
                (tern_sandbox_head *)(void *)(from + slot * box->client.box.bytes);
            head->operation = (uint32_t)(pick >> 12) % 8;
            box->client.box.server_locks[slot].holder = 0;
            box->client.box.server.bytes[slot * TERN_MAILBOX_STRIDE] = 0;
            box->client.box.client.bytes[slot * TERN_MAILBOX_STRIDE] = 1;
        }
        if (pick % 4 == 0)
            flags[pick / 4 % (size_t)(from + bytes - flags)] = (uint8_t)(seed >> 20);
        else if (pick % 4 == 1)
            from[pick / 4 % TERN_SANDBOX_SLOTS * TERN_SANDBOX_PACKET + seed % 48] =
                (uint8_t)(seed >> 20);
        else
            from[pick / 4 % bytes] = (uint8_t)(seed >> 20);
    }
    return 7;
}

/* Posts a call, and changes its argument and its data until the answer is there. Counts the
 * changes. */
static int64_t change(tern_sandbox_box *box, uint32_t operation, uint64_t *count) {
    tern_sandbox_message m = {operation, 64, {0, 0, 0, 0}, 0, 0, 0, 0, 0};
    uint8_t data[64] = {0};
    uint32_t slot = tern_mailbox_take(&box->client);
    while (slot == TERN_MAILBOX_NONE)
        slot = tern_mailbox_take(&box->client);
    uint8_t *packet = tern_mailbox_packet(&box->client.box, slot);
    tern_sandbox_head *head = (tern_sandbox_head *)(void *)packet;
    m.data = data;
    tern_internal_sandbox_fill(packet, slot, &m);
    (void)tern_mailbox_post(&box->client, slot);
    while (tern_mailbox_look(&box->client.box, slot) == TERN_MAILBOX_POSTED) {
        (*(volatile uint64_t *)&head->arguments[0])++;
        (*(volatile uint8_t *)(packet + sizeof *head))++;
        __atomic_store_n(count, *count + 1, __ATOMIC_RELEASE);
    }
    int64_t result = head->result;
    (void)tern_mailbox_finish(&box->client, slot);
    tern_mailbox_client_give(&box->client, slot);
    return result;
}

static int files(tern_sandbox_box *box, const request *r) {
    char text[16] = "";
    int64_t handle = tern_sandbox_open(box, r->path, r->number);
    if (handle < 0)
        return (int)-handle;
    if (r->number & TERN_SANDBOX_FOR_WRITING)
        return tern_sandbox_write(box, handle, 0, "written", 7) == 7 ? 0 : 200;
    int64_t got = tern_sandbox_read(box, handle, 0, text, sizeof text);
    (void)tern_sandbox_print(box, text, got > 0 ? (size_t)got : 0);
    int64_t first = tern_sandbox_close(box, handle), second = tern_sandbox_close(box, handle);
    return first == 0 && second == -9 ? 0 : 201;
}

static int many(tern_sandbox_box *box, const request *r) {
    int count = 0;
    while (tern_sandbox_open(box, r->path, TERN_SANDBOX_FOR_READING) >= 0)
        count++;
    return count;
}

static int hold(tern_sandbox_box *box, uint64_t state) {
    uint32_t slot = tern_mailbox_take(&box->client);
    if (state > 0)
        (void)tern_mailbox_post(&box->client, slot);
    while (state > 1 && tern_mailbox_look(&box->client.box, slot) != TERN_MAILBOX_ANSWERED)
        continue;
    if (state > 2)
        (void)tern_mailbox_finish(&box->client, slot);
    __builtin_trap();
}

int tern_sandbox_main(tern_sandbox_box *box) {
    const request *r = (const request *)(const void *)box->argument;
    switch (r->kind) {
    case 'e':
        return (int)r->number;
    case 's':
        return (int)tern_sandbox_system((long)r->number, 0);
    case 'p':
        (void)tern_sandbox_printf(box, "%s %d %lx %c%%", words[r->number], -5, 255ul, 'c');
        return 0;
    case 'f':
        return files(box, r);
    case 'h':
        return many(box, r);
    case 'm': {
        uint8_t *at = tern_sandbox_allocate(box, r->number);
        if (at == NULL)
            return 1;
        at[r->number - 1] = 1;
        return tern_sandbox_allocate(box, 1 << 20) == NULL ? 0 : 2;
    }
    case 't': /* touches memory that is not allocated */
        *(volatile uint8_t *)box->memory = 1;
        return 0;
    case 'w':
        return tern_sandbox_print(box, "0123456789", r->number) < 0;
    case 'r':
        return scribble(box, r);
    case 'c': {
        uint64_t *count = tern_sandbox_allocate(box, sizeof *count);
        for (uint64_t i = 0; count != NULL && i < r->number; i++)
            if (change(box, TERN_SANDBOX_OWN, count) != 0)
                return 1;
        return count == NULL;
    }
#ifdef __x86_64__
    case 'i': {
        long result = (long)r->number;
        __asm__ volatile("int $0x80" : "+a"(result) : "b"(0) : "memory");
        return 9;
    }
#endif
    case 'd':
        return hold(box, r->number);
    default:
        for (;;)
            tern_mailbox_pause();
    }
}
