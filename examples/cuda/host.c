#include "host.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <tern/mailbox_warp.h>

#include "functions.h"
#include "pool.h"

enum { FILES_MAX = 64 };

/* An incomplete text of one lane of one slot. */
typedef struct text {
    uint64_t total, got;
    char bytes[ASK_TEXT_MAX];
} text;

typedef struct worker {
    pthread_t thread;
    host *host;
    uint32_t name;
} worker;

struct host {
    tern_mailbox box;
    uint8_t *memory; /* of the pool */
    int output, folder;
    uint32_t stop, threads;
    worker *workers;
    text *texts; /* one for each lane of each slot; the server that holds the slot uses them */
    pthread_mutex_t mutex;
    /* Protected by the mutex: */
    pool pool;
    int files[FILES_MAX]; /* descriptors that the kernel has opened; -1: none */
};

size_t host_mailbox_bytes(uint32_t slots) {
    return tern_mailbox_bytes(slots, sizeof(tern_mailbox_warp));
}

/* ---- Functions: each returns a result, or a negative errno ---- */

static int64_t open_file(host *self, const text *name) {
    char path[ASK_TEXT_MAX + 1];
    memcpy(path, name->bytes, name->total);
    path[name->total] = 0;
    if (name->total == 0 || strchr(path, '/') != NULL)
        return -EINVAL;
    int flags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC;
    int file = openat(self->folder, path, flags, 0600);
    if (file < 0)
        return -errno;
    pthread_mutex_lock(&self->mutex);
    int at = 0;
    while (at < FILES_MAX && self->files[at] >= 0)
        at++;
    if (at < FILES_MAX)
        self->files[at] = file;
    pthread_mutex_unlock(&self->mutex);
    if (at < FILES_MAX)
        return at;
    close(file);
    return -EMFILE;
}

/* Returns a descriptor of the kernel's, and removes it from the table if closes is set; -1 if it is
 * not the kernel's. */
static int file_at(host *self, uint64_t at, int closes) {
    int file = -1;
    pthread_mutex_lock(&self->mutex);
    if (at < FILES_MAX)
        file = self->files[at];
    if (file >= 0 && closes)
        self->files[at] = -1;
    pthread_mutex_unlock(&self->mutex);
    return file;
}

static int64_t close_file(host *self, uint64_t at) {
    int file = file_at(self, at, 1);
    if (file < 0)
        return -EBADF;
    return close(file) == 0 ? 0 : -errno;
}

static int64_t write_all(int file, const char *from, uint64_t bytes) {
    uint64_t done = 0;
    while (done < bytes) {
        ssize_t wrote = write(file, from + done, bytes - done);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote < 0)
            return -errno;
        done += (uint64_t)wrote;
    }
    return (int64_t)done;
}

static int64_t write_file(host *self, uint64_t at, uint64_t offset, uint64_t bytes) {
    int file = file_at(self, at, 0);
    if (file < 0)
        return -EBADF;
    pthread_mutex_lock(&self->mutex);
    int held = pool_holds(&self->pool, offset, bytes);
    pthread_mutex_unlock(&self->mutex);
    return held ? write_all(file, (const char *)self->memory + offset, bytes) : -EFAULT;
}

static int64_t allocate(host *self, uint64_t bytes) {
    pthread_mutex_lock(&self->mutex);
    int64_t at = pool_take(&self->pool, bytes);
    pthread_mutex_unlock(&self->mutex);
    return at >= 0 ? at : -ENOMEM;
}

static int64_t release(host *self, uint64_t offset) {
    pthread_mutex_lock(&self->mutex);
    int wrong = pool_give(&self->pool, offset);
    pthread_mutex_unlock(&self->mutex);
    return wrong ? -EINVAL : 0;
}

/* ---- Lanes ---- */

/* Adds a piece to a text. Returns whether the text is complete; -1 if the piece is not valid. */
static int gather(text *to, const uint64_t *word, uint32_t number) {
    if (number == 0) {
        to->total = word[1];
        to->got = 0;
    }
    if (to->total > ASK_TEXT_MAX || word[1] != to->total || to->got != (uint64_t)number * ASK_PIECE)
        return -1;
    uint64_t left = to->total - to->got, bytes = left < ASK_PIECE ? left : ASK_PIECE;
    memcpy(to->bytes + to->got, &word[2], bytes);
    to->got += bytes;
    return to->got == to->total;
}

static int64_t do_function(host *self, const uint64_t *word, const text *said) {
    switch (word[0]) {
    case ASK_ALLOCATE:
        return allocate(self, word[1]);
    case ASK_FREE:
        return release(self, word[1]);
    case ASK_PRINT:
        return write_all(self->output, said->bytes, said->total);
    case ASK_OPEN:
        return open_file(self, said);
    case ASK_WRITE:
        return write_file(self, word[1], word[2], word[3]);
    case ASK_CLOSE:
        return close_file(self, word[1]);
    default:
        return -ENOSYS;
    }
}

static int work(tern_mailbox_lane *line, tern_mailbox_place place, void *argument) {
    host *self = argument;
    text *said = &self->texts[place.slot * TERN_MAILBOX_LANES + place.lane];
    uint64_t word[8];
    memcpy(word, line->word, sizeof word);
    int whole = 1;
    if (word[0] == ASK_PRINT || word[0] == ASK_OPEN)
        whole = gather(said, word, place.number);
    if (whole == 0)
        return 1;
    line->word[0] = (uint64_t)(whole < 0 ? -EINVAL : do_function(self, word, said));
    return 0;
}

static void *serve(void *argument) {
    const worker *me = argument;
    tern_mailbox_server server = tern_mailbox_server_at(&me->host->box, me->name);
    tern_mailbox_crew crew = {work, me->host, NULL}; /* no thread ends early by itself */
    while (tern_mailbox_serve(&server, tern_mailbox_warp_work, tern_mailbox_warp_clean, &crew) >
               0 ||
           !tern_mailbox_load32(&me->host->stop))
        sched_yield();
    return NULL;
}

/* ---- Beginning and end ---- */

/* Frees the parts that exist of a host that may be incomplete. */
static uint32_t take_apart(host *self) {
    uint32_t held = pool_close(&self->pool);
    for (int i = 0; i < FILES_MAX; i++)
        if (self->files[i] >= 0) {
            close(self->files[i]);
            held++;
        }
    if (self->folder >= 0)
        close(self->folder);
    pthread_mutex_destroy(&self->mutex);
    free(self->workers);
    free(self->texts);
    free(self);
    return held;
}

static host *make(const host_memory *memory, uint32_t threads, int output, const char *folder) {
    host *self = calloc(1, sizeof *self);
    if (self == NULL)
        return NULL;
    self->box = tern_mailbox_at(memory->mailbox, memory->slots, sizeof(tern_mailbox_warp));
    self->memory = memory->pool;
    self->output = output;
    pthread_mutex_init(&self->mutex, NULL);
    for (int i = 0; i < FILES_MAX; i++)
        self->files[i] = -1;
    self->texts = calloc((size_t)memory->slots * TERN_MAILBOX_LANES, sizeof *self->texts);
    self->workers = calloc(threads, sizeof *self->workers);
    int poor = pool_open(&self->pool, memory->pool_bytes);
    self->folder = open(folder, O_DIRECTORY | O_CLOEXEC | O_PATH);
    if (!poor && self->texts != NULL && self->workers != NULL && self->folder >= 0)
        return self;
    if (poor)
        self->pool.pieces = 0;
    int reason = errno;
    (void)take_apart(self);
    errno = reason;
    return NULL;
}

host *host_start(const host_memory *memory, uint32_t threads, int output, const char *folder) {
    host *self = make(memory, threads, output, folder);
    for (uint32_t i = 0; self != NULL && i < threads; i++) {
        worker *one = &self->workers[i];
        one->host = self;
        one->name = i + 1;
        int failed = pthread_create(&one->thread, NULL, serve, one);
        if (failed) {
            (void)host_stop(self);
            errno = failed;
            return NULL;
        }
        self->threads++;
    }
    return self;
}

uint32_t host_stop(host *self) {
    tern_mailbox_store32(&self->stop, 1);
    for (uint32_t i = 0; i < self->threads; i++)
        pthread_join(self->workers[i].thread, NULL);
    return take_apart(self);
}
