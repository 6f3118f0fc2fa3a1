/* What the suite on sandboxes runs inside: its argument says which case, and a number. */

#define TERN_SANDBOX_PROGRAM
#include "tern/sandbox_printf.h"

typedef struct request {
    char kind;
    uint64_t number;
    char path[];
} request;

static const char *const words[] = {"zero", "one", "two"}; /* a relocation each */

/* Leaves the server's flags and locks, its own, and packets in any state. */
static int scribble(tern_sandbox_box *box, uint64_t seed) {
    uint8_t *from = box->client.box.packets;
    size_t bytes = tern_mailbox_bytes(TERN_SANDBOX_SLOTS, TERN_SANDBOX_PACKET);
    uint8_t *flags = box->client.box.client.bytes;
    for (uint64_t i = 0; i < 300000; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        uint64_t pick = seed >> 33;
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

/* Posts a call and changes its argument and its data until the answer is there; counts. */
static int64_t change(tern_sandbox_box *box, uint32_t operation, uint64_t *count) {
    tern_sandbox_message m = {operation, 64, {0, 0, 0, 0}, 0, 0, 0, 0, 0};
    uint8_t data[64] = {0};
    uint32_t slot = tern_mailbox_take(&box->client);
    while (slot == TERN_MAILBOX_NONE)
        slot = tern_mailbox_take(&box->client);
    uint8_t *packet = tern_mailbox_packet(&box->client.box, slot);
    tern_sandbox_head *head = (tern_sandbox_head *)(void *)packet;
    m.data = data;
    tern_sandbox_fill(packet, slot, &m);
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
    case 't': /* touches what was not allocated */
        *(volatile uint8_t *)box->memory = 1;
        return 0;
    case 'w':
        return tern_sandbox_print(box, "0123456789", r->number) < 0;
    case 'r':
        return scribble(box, r->number);
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
