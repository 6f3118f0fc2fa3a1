/*
 * The example's host, with kernels whose lanes are played by threads (played.h): what it does for
 * them, and what it refuses.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"
#include "examples/cuda/functions.h"
#include "examples/cuda/host.h"
#include "tern/mailbox_warp.h"
#include "tests/cuda/grid.h"

enum { SLOTS = 2, WARPS = 3, POOL_BYTES = 8192 };

static const uint64_t patience_ns = 40000000000u;

static struct {
    host_memory memory;
    channel channel;
    uint32_t failures[WARPS * 32];
    char folder[64];
    FILE *output;
} play;

static void open_play(uint32_t pool_bytes) {
    memset(&play, 0, sizeof play);
    play.memory.mailbox = aligned_alloc(TERN_MAILBOX_LINE, host_mailbox_bytes(SLOTS));
    play.memory.pool = malloc(pool_bytes);
    play.output = tmpfile();
    strcpy(play.folder, "/tmp/tern-played-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(play.memory.mailbox);
    CU_ASSERT_PTR_NOT_NULL_FATAL(play.memory.pool);
    CU_ASSERT_PTR_NOT_NULL_FATAL(play.output);
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(play.folder));
    memset(play.memory.mailbox, 0, host_mailbox_bytes(SLOTS));
    play.memory.slots = SLOTS;
    play.memory.pool_bytes = pool_bytes;
    play.channel =
        (channel){play.memory.mailbox, play.memory.pool, play.failures, SLOTS, patience_ns};
}

static void close_play(void) {
    CU_ASSERT_EQUAL(rmdir(play.folder), 0);
    fclose(play.output);
    free(play.memory.mailbox);
    free(play.memory.pool);
}

static void path_of(char *path, size_t room, const char *name, uint32_t warp) {
    CU_ASSERT_FATAL(snprintf(path, room, "%s/%s%u.txt", play.folder, name, warp) < (int)room);
}

/* The whole of a file; its length. */
static size_t read_all(FILE *file, char *to, size_t room) {
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    rewind(file);
    size_t bytes = fread(to, 1, room - 1, file);
    to[bytes] = 0;
    return bytes;
}

static size_t greeting_of(char *to, size_t room, uint32_t warp, uint32_t lane) {
    size_t bytes = (size_t)snprintf(to, room, "lane %u of warp %u says hello", lane, warp);
    for (uint32_t i = 0; i < lane; i++)
        bytes += (size_t)snprintf(to + bytes, room - bytes, " again");
    return bytes + (size_t)snprintf(to + bytes, room - bytes, "\n");
}

static void check_table(uint32_t warp) {
    char path[128], got[8192], wanted[8192];
    size_t bytes = 0;
    path_of(path, sizeof path, "warp-", warp);
    FILE *file = fopen(path, "r");
    (void)read_all(file, got, sizeof got);
    fclose(file);
    for (uint32_t n = 32 * warp; n < 32 * (warp + 1); n++)
        bytes += (size_t)snprintf(wanted + bytes, sizeof wanted - bytes, "%u cubed is %u\n", n,
                                  n * n * n);
    CU_ASSERT_STRING_EQUAL(got, wanted);
    CU_ASSERT_EQUAL(unlink(path), 0);
}

/* Every lane's text is there once, whole, in one piece. */
static void check_greetings(void) {
    static char got[1 << 16];
    size_t bytes = read_all(play.output, got, sizeof got), wanted = 0;
    for (uint32_t warp = 0; warp < WARPS; warp++)
        for (uint32_t lane = 0; lane < 32; lane++) {
            char text[600];
            size_t length = greeting_of(text, sizeof text, warp, lane);
            const char *at = strstr(got, text);
            CU_ASSERT_EQUAL(at != NULL, lane % 3 != 0);
            CU_ASSERT(at == NULL || at == got || at[-1] == '\n');
            wanted += lane % 3 != 0 ? length : 0;
        }
    CU_ASSERT_EQUAL(bytes, wanted);
}

static void a_kernel_calls(void) {
    for (uint32_t threads = 1; threads <= 2; threads++) {
        played_grid grid;
        open_play(WARPS * 32 * 128);
        host *host = host_start(&play.memory, threads, fileno(play.output), play.folder);
        CU_ASSERT_PTR_NOT_NULL_FATAL(host);
        CU_ASSERT_EQUAL_FATAL(played_launch(&grid, WARPS, 32, played_calls_host, &play.channel), 0);
        played_join(&grid);
        CU_ASSERT_EQUAL(host_stop(host), 0);
        for (uint32_t i = 0; i < WARPS * 32; i++)
            CU_ASSERT_EQUAL(play.failures[i], 0);
        check_greetings();
        for (uint32_t warp = 0; warp < WARPS; warp++)
            check_table(warp);
        close_play();
    }
}

/* Memory for three lanes: the others hear of it, and those have their lines written. */
static void a_small_pool(void) {
    char path[128];
    played_grid grid;
    open_play(3 * 128);
    host *host = host_start(&play.memory, 1, fileno(play.output), play.folder);
    CU_ASSERT_PTR_NOT_NULL_FATAL(host);
    CU_ASSERT_EQUAL_FATAL(played_launch(&grid, 1, 32, played_calls_host, &play.channel), 0);
    played_join(&grid);
    CU_ASSERT_EQUAL(host_stop(host), 0);
    for (uint32_t i = 0; i < 32; i++)
        CU_ASSERT_EQUAL(play.failures[i], i >= 3);
    path_of(path, sizeof path, "warp-", 0);
    CU_ASSERT_EQUAL(unlink(path), 0);
    close_play();
}

/* Without a host a kernel gives up. */
static void no_host(void) {
    played_grid grid;
    open_play(POOL_BYTES);
    play.channel.timeout_ns = 1000000;
    CU_ASSERT_EQUAL_FATAL(played_launch(&grid, 1, 32, played_calls_host, &play.channel), 0);
    played_join(&grid);
    for (uint32_t i = 0; i < 32; i++)
        CU_ASSERT_EQUAL(play.failures[i], 1);
    close_play();
}

static void a_kernel_serves(void) {
    uint64_t random = tern_test_seed();
    played_grid grid;
    open_play(POOL_BYTES);
    CU_ASSERT_EQUAL_FATAL(played_launch(&grid, SLOTS, 32, played_serves_host, &play.channel), 0);
    for (int i = 0; i < 20; i++) {
        uint64_t n[32], sums[32];
        uint32_t mask = (uint32_t)tern_test_random(&random), slot = mask % SLOTS;
        for (uint32_t lane = 0; lane < 32; lane++) {
            n[lane] = tern_test_random(&random) % 1000;
            sums[lane] = 1;
        }
        CU_ASSERT_EQUAL(host_call_sums(&play.memory, slot, mask, n, sums, patience_ns), 0);
        for (uint32_t lane = 0; lane < 32; lane++)
            CU_ASSERT_EQUAL(sums[lane], mask >> lane & 1 ? n[lane] * (n[lane] + 1) / 2 : 1);
    }
    for (uint32_t slot = 0; slot < SLOTS; slot++)
        CU_ASSERT_EQUAL(host_call_stop(&play.memory, slot, patience_ns), 0);
    played_join(&grid);
    for (uint32_t i = 0; i < SLOTS * 32; i++)
        CU_ASSERT_EQUAL(play.failures[i], 0);
    close_play();
}

/* A kernel that nobody stops ends; a host whose kernel has ended does not wait for ever. */
static void nobody_stops(void) {
    uint64_t n[32] = {0}, sums[32];
    played_grid grid;
    open_play(POOL_BYTES);
    play.channel.timeout_ns = 1000000;
    CU_ASSERT_EQUAL_FATAL(played_launch(&grid, SLOTS, 32, played_serves_host, &play.channel), 0);
    played_join(&grid);
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        uint32_t late = 0;
        for (uint32_t i = 0; i < 32; i++)
            late += play.failures[slot * 32 + i];
        CU_ASSERT(late > 0);
    }
    CU_ASSERT(host_call_sums(&play.memory, 0, 1, n, sums, 1000000) != 0);
    close_play();
}

/* ---- What the host refuses ---- */

/* One lane's call; text NULL: the words are as given, and it is one packet. */
typedef struct request {
    uint64_t word[4];
    const char *text;
    int64_t result;
} request;

static void fill(tern_mailbox_lane *line, tern_mailbox_place place, void *argument) {
    const request *mine = argument;
    memcpy(line->word, mine->word, sizeof mine->word);
    size_t left = mine->text != NULL ? strlen(mine->text) - place.number * (size_t)ASK_PIECE : 0;
    if (left > 0)
        memcpy(&line->word[2], mine->text + place.number * (size_t)ASK_PIECE,
               left < ASK_PIECE ? left : ASK_PIECE);
}

static void use(tern_mailbox_lane *line, tern_mailbox_place place, void *argument) {
    (void)place;
    ((request *)argument)->result = (int64_t)line->word[0];
}

static int64_t ask(uint64_t function, uint64_t first, uint64_t second, uint64_t third,
                   const char *text) {
    tern_mailbox box = tern_mailbox_at(play.memory.mailbox, SLOTS, sizeof(tern_mailbox_warp));
    tern_mailbox_client client = tern_mailbox_client_at(&box, 1);
    request one = {{function, first, second, third}, text, 1};
    CU_ASSERT_EQUAL(
        tern_mailbox_warp_call(&client, tern_mailbox_party_whole(1 << 9), fill, use, &one, NULL),
        0);
    return one.result;
}

static int64_t open_named(const char *name) { return ask(ASK_OPEN, strlen(name), 0, 0, name); }

static void refusals(void) {
    char path[128];
    open_play(POOL_BYTES);
    host *host = host_start(&play.memory, 1, fileno(play.output), play.folder);
    CU_ASSERT_PTR_NOT_NULL_FATAL(host);
    CU_ASSERT_EQUAL(ask(0, 0, 0, 0, NULL), -ENOSYS);
    CU_ASSERT_EQUAL(ask(99, 0, 0, 0, NULL), -ENOSYS);
    CU_ASSERT_EQUAL(ask(ASK_ALLOCATE, POOL_BYTES + 1, 0, 0, NULL), -ENOMEM);
    CU_ASSERT_EQUAL(ask(ASK_ALLOCATE, UINT64_MAX, 0, 0, NULL), -ENOMEM);
    CU_ASSERT_EQUAL(ask(ASK_ALLOCATE, 0, 0, 0, NULL), -ENOMEM);
    int64_t whole = ask(ASK_ALLOCATE, POOL_BYTES, 0, 0, NULL);
    CU_ASSERT_EQUAL(whole, 0);
    CU_ASSERT_EQUAL(ask(ASK_ALLOCATE, 1, 0, 0, NULL), -ENOMEM);
    CU_ASSERT_EQUAL(ask(ASK_FREE, 64, 0, 0, NULL), -EINVAL);
    CU_ASSERT_EQUAL(ask(ASK_FREE, 0, 0, 0, NULL), 0);
    CU_ASSERT_EQUAL(ask(ASK_FREE, 0, 0, 0, NULL), -EINVAL);
    CU_ASSERT_EQUAL(ask(ASK_FREE, UINT64_MAX, 0, 0, NULL), -EINVAL);
    CU_ASSERT_EQUAL(ask(ASK_PRINT, ASK_TEXT_MAX + 1, 0, 0, NULL), -EINVAL);
    CU_ASSERT_EQUAL(ask(ASK_PRINT, 0, 0, 0, ""), 0);
    CU_ASSERT_EQUAL(open_named(""), -EINVAL);
    CU_ASSERT_EQUAL(open_named("../x"), -EINVAL);
    CU_ASSERT_EQUAL(open_named(".."), -EISDIR);
    int64_t file = open_named("f0.txt"), at = ask(ASK_ALLOCATE, 100, 0, 0, NULL);
    CU_ASSERT_FATAL(file >= 0 && at >= 0);
    memset(play.memory.pool + at, 'x', 100);
    CU_ASSERT_EQUAL(ask(ASK_WRITE, (uint64_t)file, (uint64_t)at, 100, NULL), 100);
    CU_ASSERT_EQUAL(ask(ASK_WRITE, (uint64_t)file, (uint64_t)at, 129, NULL), -EFAULT);
    CU_ASSERT_EQUAL(ask(ASK_WRITE, (uint64_t)file, (uint64_t)at + 128, 1, NULL), -EFAULT);
    CU_ASSERT_EQUAL(ask(ASK_WRITE, (uint64_t)file, UINT64_MAX, 2, NULL), -EFAULT);
    CU_ASSERT_EQUAL(ask(ASK_WRITE, 63, (uint64_t)at, 1, NULL), -EBADF);
    CU_ASSERT_EQUAL(ask(ASK_WRITE, UINT64_MAX, (uint64_t)at, 1, NULL), -EBADF);
    CU_ASSERT_EQUAL(ask(ASK_CLOSE, (uint64_t)file, 0, 0, NULL), 0);
    CU_ASSERT_EQUAL(ask(ASK_CLOSE, (uint64_t)file, 0, 0, NULL), -EBADF);
    CU_ASSERT_EQUAL(open_named("f0.txt"), file);
    /* One file and one allocation are left. */
    CU_ASSERT_EQUAL(host_stop(host), 2);
    path_of(path, sizeof path, "f", 0);
    CU_ASSERT_EQUAL(unlink(path), 0);
    CU_ASSERT_PTR_NULL(host_start(&play.memory, 1, 1, "/tmp/tern-no-such-folder"));
    CU_ASSERT_EQUAL(errno, ENOENT);
    close_play();
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"a_kernel_calls", a_kernel_calls},
                                           {"a_small_pool", a_small_pool},
                                           {"no_host", no_host},
                                           {"a_kernel_serves", a_kernel_serves},
                                           {"nobody_stops", nobody_stops},
                                           {"refusals", refusals}};
    return tern_test_main(argc, argv, "cuda played", tests, sizeof tests / sizeof tests[0]);
}
