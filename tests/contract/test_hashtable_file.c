// tern-test: transports

/*
 * Tables in files: what one number of ranks has saved, another loads; files that are damaged are
 * refused, and a save that fails leaves what was there. Only a regular file is replaced, and it
 * keeps its mode and its owner; a symbolic link stays, and the file that it leads to is replaced.
 */

#include "file_tools.h"
#include "fixture.h"
#include "table_tools.h"

#include <fcntl.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <dirent.h>
#include <limits.h>
#include <unistd.h>

#include "tern/hashtable.h"

typedef struct content {
    size_t key_bytes, value_bytes;
    uint64_t keys;
    uint64_t version; /* of the values */
} content;

static uint64_t count_of(const content *c, uint64_t number) {
    return number % 7 == 0 ? 0 : number * 3 + c->version;
}

/* Collective: a table with the content, whose keys all ranks insert in turn. */
static tern_hashtable *make(fixture *f, const content *c, int call_only) {
    tern_hashtable *table = NULL;
    char key[KEY_MAX], *value = malloc(VALUE_MAX);
    EXPECT_OK(tern_hashtable_create(f->worker,
                                    &(tern_hashtable_options){.key_bytes = c->key_bytes,
                                                              .value_bytes = c->value_bytes,
                                                              .counter = c->value_bytes == 0,
                                                              .call_only = call_only,
                                                              .capacity = c->keys + 1},
                                    &table));
    tern_flags path = call_only ? TERN_BY_CALL : TERN_BY_RMA;
    for (uint64_t k = f->rank; k < c->keys; k += f->size) {
        make_key(key, c->key_bytes, k);
        make_value(value, c->value_bytes, k, c->version);
        if (c->value_bytes > 0)
            EXPECT_OK(
                tern_hashtable_insert(f->worker, table, key, value, TERN_WRITE_ONLY | path, NULL));
        else
            EXPECT_OK(tern_hashtable_add(f->worker, table, key, count_of(c, k),
                                         TERN_WRITE_ONLY | path, NULL));
    }
    free(value);
    return table;
}

typedef struct audit {
    const content *c;
    uint64_t seen, wrong;
} audit;

static int audit_one(const void *key, const void *value, void *argument) {
    audit *a = argument;
    uint64_t number = 0, count;
    char wanted[KEY_MAX];
    memcpy(&number, key, a->c->key_bytes < 8 ? a->c->key_bytes : 8);
    make_key(wanted, a->c->key_bytes, number);
    a->wrong += number >= a->c->keys || memcmp(key, wanted, a->c->key_bytes) != 0;
    if (a->c->value_bytes > 0) {
        a->wrong += !is_value(value, a->c->value_bytes, number, a->c->version);
    } else {
        memcpy(&count, value, sizeof count);
        a->wrong += count != count_of(a->c, number);
    }
    a->seen++;
    return 0;
}

/* Collective: the table has this content and nothing else. Destroys it. */
static void expect_content(fixture *f, tern_hashtable *table, const content *c) {
    audit mine = {.c = c};
    EXPECT_OK(tern_hashtable_for_each(f->worker, table, audit_one, &mine));
    CU_ASSERT_EQUAL(mine.wrong, 0);
    CU_ASSERT_EQUAL(total_keys(f, table), c->keys);
    EXPECT_OK(tern_hashtable_destroy(f->worker, table));
}

/* Collective: the file has this content, as the first ranks, as many as it says, see it. */
static void expect_file(uint32_t ranks, const content *c, const tern_hashtable_options *options) {
    MPI_Comm some;
    MPI_Comm_split(MPI_COMM_WORLD, (uint32_t)tern_test_rank() < ranks ? 0 : MPI_UNDEFINED, 0,
                   &some);
    fixture f;
    if (some == MPI_COMM_NULL)
        return;
    if (fixture_open_on(&f, some, NULL)) {
        tern_hashtable *table = NULL;
        if (EXPECT_OK(tern_hashtable_load(f.worker, path, options, NULL, &table)))
            expect_content(&f, table, c);
        fixture_close(&f);
    }
    MPI_Comm_free(&some);
}

/* Sections of one record and of many; more than one section a rank; more ranks than records. */
static void any_ranks_to_any_other(void) {
    static const content contents[] = {
        {8, 8, 300, 1}, {3, 5, 100, 2}, {8, 0, 300, 3}, {1024, 60000, 13, 4},
        {20, 0, 2, 5},  {8, 16, 0, 6},  {1, 1, 1, 7},   {8, 4000, 150, 8},
    };
    uint32_t size = (uint32_t)tern_test_size();
    uint64_t random = tern_test_seed();
    make_folder();
    size_t step = tern_test_full() ? 1 : 2;
    for (size_t i = below(&random, step); i < sizeof contents / sizeof *contents; i += step) {
        const content *c = &contents[i];
        uint32_t savers = 1 + (uint32_t)below(&random, size);
        int call_only = c->value_bytes < 100 && below(&random, 2);
        MPI_Comm some;
        MPI_Comm_split(MPI_COMM_WORLD, (uint32_t)tern_test_rank() < savers ? 0 : MPI_UNDEFINED, 0,
                       &some);
        fixture f;
        if (some != MPI_COMM_NULL) {
            if (fixture_open_on(&f, some, NULL)) {
                tern_hashtable *table = make(&f, c, call_only);
                EXPECT_OK(tern_hashtable_save(f.worker, table, path, NULL, 0));
                expect_content(&f, table, c);
                fixture_close(&f);
            }
            MPI_Comm_free(&some);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        tern_hashtable_options options = {.key_bytes = c->key_bytes, .call_only = call_only};
        expect_file(1 + (uint32_t)below(&random, size), c, below(&random, 2) ? &options : NULL);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    remove_folder();
}

/* Neither call changes its outputs. */
static tern_status expect_no_load(fixture *f) {
    tern_hashtable *table = NULL;
    tern_hashtable_file file = {.keys = 12345};
    tern_status status = tern_hashtable_load(f->worker, path, NULL, &file, &table);
    CU_ASSERT_PTR_NULL(table);
    CU_ASSERT_EQUAL(file.keys, 12345);
    EXPECT_DETAIL(path);
    return status;
}

static void expect_refused(fixture *f, tern_status status) {
    tern_hashtable_file file = {.keys = 12345};
    EXPECT(status, tern_hashtable_file_read(path, &file));
    CU_ASSERT_EQUAL(file.keys, 12345);
    EXPECT_DETAIL(path);
    EXPECT(status, expect_no_load(f));
}

/* One rank alone: saves a table with a note. Returns how long the file is; its bytes go to bytes.
 */
static size_t save_noted(fixture *f, const content *c, char *bytes, size_t room) {
    tern_hashtable *table = make(f, c, 0);
    EXPECT_OK(tern_hashtable_save(f->worker, table, path, "five bases", 10));
    EXPECT_OK(tern_hashtable_destroy(f->worker, table));
    return file_slurp(path, bytes, room);
}

/* Rank 0 alone: each byte changed, those of the note too, each length that is too short, a byte too
 * many; in quick runs a third of the bytes and lengths. */
static void refuse_changes(fixture *f, const content *c) {
    char bytes[1024];
    const content none = {c->key_bytes, c->value_bytes, 0, 0};
    const size_t header = save_noted(f, &none, bytes, sizeof bytes);
    const size_t count = save_noted(f, c, bytes, sizeof bytes);
    CU_ASSERT(count > header && count < sizeof bytes);
    uint64_t random = tern_test_seed() + (uint64_t)tern_test_size();
    size_t step = tern_test_full() ? 1 : 3;
    for (size_t i = below(&random, step); i < count; i += step) {
        char was = bytes[i];
        bytes[i] = (char)(was ^ (char)(1 + below(&random, 255)));
        file_spill(path, bytes, count);
        /* Another version may be one. */
        tern_status wanted = i >= 12 && i < 16 ? TERN_ERR_UNSUPPORTED : TERN_ERR_ARGUMENT;
        if (i < header)
            expect_refused(f, wanted);
        else
            EXPECT(wanted, expect_no_load(f));
        bytes[i] = was;
    }
    for (size_t i = below(&random, step); i < count; i += step) {
        file_spill(path, bytes, i);
        expect_refused(f, TERN_ERR_ARGUMENT);
    }
    bytes[count] = 0;
    file_spill(path, bytes, count + 1);
    expect_refused(f, TERN_ERR_ARGUMENT);
    file_spill(path, bytes, count);
    tern_hashtable *table = NULL;
    if (EXPECT_OK(tern_hashtable_load(f->worker, path, NULL, NULL, &table)))
        expect_content(f, table, c);
}

static void damage_is_refused(void) {
    fixture f;
    make_folder();
    if (tern_test_rank() == 0 && fixture_open_on(&f, MPI_COMM_SELF, NULL)) {
        refuse_changes(&f, &(content){5, 3, 3, 1});
        refuse_changes(&f, &(content){8, 0, 2, 1});
        fixture_close(&f);
    }
    remove_folder();
}

static void notes_come_back(void) {
    fixture f;
    make_folder();
    if (!fixture_open(&f, NULL))
        return;
    static const size_t lengths[] = {0, 1, 21, TERN_NOTE_MAX - 1, TERN_NOTE_MAX};
    const content c = {8, 0, 40, 1};
    tern_hashtable *table = make(&f, &c, 0), *copy = NULL;
    char note[TERN_NOTE_MAX + 1];
    uint64_t random = tern_test_seed();
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        for (size_t at = 0; at < sizeof note; at++)
            note[at] = (char)below(&random, 256);
        EXPECT_OK(tern_hashtable_save(f.worker, table, path, note, lengths[i]));
        memset(note + lengths[i], 0, sizeof note - lengths[i]);
        tern_hashtable_file seen, loaded;
        if (!EXPECT_OK(tern_hashtable_file_read(path, &seen)) ||
            !EXPECT_OK(tern_hashtable_load(f.worker, path, NULL, &loaded, &copy)))
            break;
        expect_content(&f, copy, &c);
        for (int j = 0; j < 2; j++) {
            const tern_hashtable_file *file = j == 0 ? &seen : &loaded;
            CU_ASSERT(file->key_bytes == 8 && file->value_bytes == 0 && file->counter == 1);
            CU_ASSERT_EQUAL(file->keys, c.keys);
            CU_ASSERT_EQUAL(file->note_bytes, lengths[i]);
            CU_ASSERT_EQUAL(memcmp(file->note, note, sizeof file->note), 0);
        }
        EXPECT_OK(tern_barrier(f.worker));
    }
    EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    fixture_close(&f);
    remove_folder();
}

/* Collective: a save that fails on some rank fails on all; the file that was there is whole. */
static void failed_saves_change_nothing(void) {
    fixture f;
    make_folder();
    if (!fixture_open(&f, NULL))
        return;
    const content old = {8, 64, 100, 1}, new = {8, 4000, 300, 2};
    tern_hashtable *table = make(&f, &old, 0), *larger = make(&f, &new, 0);
    EXPECT_OK(tern_hashtable_save(f.worker, table, path, NULL, 0));
    EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    struct rlimit limit, unlimited;
    CU_ASSERT_EQUAL(getrlimit(RLIMIT_FSIZE, &unlimited), 0);
    limit = unlimited;
    limit.rlim_cur = 1000000;
    EXPECT_OK(tern_barrier(f.worker));
    CU_ASSERT_EQUAL(setrlimit(RLIMIT_FSIZE, &limit), 0);
    tern_status full = tern_hashtable_save(f.worker, larger, path, NULL, 0);
    CU_ASSERT_EQUAL(setrlimit(RLIMIT_FSIZE, &unlimited), 0);
    CU_ASSERT_EQUAL(full, TERN_ERR_SYSTEM);
    EXPECT_DETAIL("cannot save to");
    EXPECT_DETAIL("RLIMIT_FSIZE is 1000000");
    tern_status nowhere = tern_hashtable_save(f.worker, larger, "/proc/no/such/folder", NULL, 0);
    CU_ASSERT_EQUAL(nowhere, TERN_ERR_NOT_FOUND);
    EXPECT_OK(tern_barrier(f.worker));
    table = NULL;
    if (EXPECT_OK(tern_hashtable_load(f.worker, path, NULL, NULL, &table)))
        expect_content(&f, table, &old);
    EXPECT_OK(tern_hashtable_save(f.worker, larger, path, NULL, 0));
    EXPECT_OK(tern_hashtable_destroy(f.worker, larger));
    if (EXPECT_OK(tern_hashtable_load(f.worker, path, NULL, NULL, &table)))
        expect_content(&f, table, &new);
    fixture_close(&f);
    remove_folder();
}

static void arguments(void) {
    fixture f;
    make_folder();
    if (!fixture_open(&f, NULL))
        return;
    const content c = {8, 8, 3, 1};
    tern_hashtable *table = make(&f, &c, 0), *got = NULL;
    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_save(NULL, table, path, NULL, 0));
    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_save(f.worker, NULL, path, NULL, 0));
    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_save(f.worker, table, NULL, NULL, 0));
    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_save(f.worker, table, "", NULL, 0));
    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_load(NULL, path, NULL, NULL, &got));
    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_load(f.worker, NULL, NULL, NULL, &got));
    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_load(f.worker, path, NULL, NULL, NULL));
    EXPECT(TERN_ERR_NOT_FOUND, tern_hashtable_load(f.worker, path, NULL, NULL, &got));
    EXPECT(TERN_ERR_ARGUMENT,
           tern_hashtable_save(f.worker, table, path, folder, TERN_NOTE_MAX + 1));
    EXPECT_DETAIL("note_bytes is 257; allowed are 0 to 256");
    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_save(f.worker, table, path, NULL, 1));
    EXPECT_DETAIL("note is NULL");
    tern_hashtable_file file;
    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_file_read(NULL, &file));
    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_file_read("", &file));
    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_file_read(path, NULL));
    EXPECT(TERN_ERR_NOT_FOUND, tern_hashtable_file_read(path, &file));
    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_file_read(folder, &file));
    EXPECT_DETAIL("directory");
    if (f.size > 1) {
        EXPECT(TERN_ERR_MISMATCH,
               tern_hashtable_save(f.worker, table, path, f.rank == 0 ? "a" : "b", 1));
        EXPECT_DETAIL("note");
        EXPECT(TERN_ERR_MISMATCH,
               tern_hashtable_save(f.worker, table, f.rank == 0 ? path : folder, NULL, 0));
    }
    EXPECT_OK(tern_hashtable_save(f.worker, table, path, NULL, 0));
    tern_hashtable_options others = {.value_bytes = 16};
    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_load(f.worker, path, &others, NULL, &got));
    EXPECT_DETAIL("values of 8");
    CU_ASSERT_PTR_NULL(got);
    EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    fixture_close(&f);
    remove_folder();
}

/* ROMIO, an MPI-IO, takes what stands before a colon for the name of a file system. */
static void a_path_may_hold_colons(void) {
    static const char *const names[] = {"8:30", "ufs:table", "nfs:x:y"};
    fixture f;
    make_folder();
    char before[PATH_MAX];
    CU_ASSERT_PTR_NOT_NULL_FATAL(getcwd(before, sizeof before));
    if (!fixture_open(&f, NULL))
        return;
    const content c = {8, 8, 100, 1};
    tern_hashtable *table = make(&f, &c, 0), *got = NULL;
    CU_ASSERT_EQUAL(chdir(folder), 0);
    for (size_t i = 0; i < 2 * (sizeof names / sizeof names[0]); i++) {
        char whole[2 * sizeof folder];
        snprintf(whole, sizeof whole, "%s/%s", folder, names[i / 2]);
        const char *name = i % 2 == 0 ? names[i / 2] : whole;
        EXPECT_OK(tern_hashtable_save(f.worker, table, name, NULL, 0));
        CU_ASSERT_EQUAL(access(whole, R_OK), 0);
        if (EXPECT_OK(tern_hashtable_load(f.worker, name, NULL, NULL, &got)))
            expect_content(&f, got, &c);
        MPI_Barrier(MPI_COMM_WORLD);
        if (f.rank == 0)
            CU_ASSERT_EQUAL(unlink(whole), 0);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    CU_ASSERT_EQUAL(chdir(before), 0);
    EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    fixture_close(&f);
    remove_folder();
}

/* Open MPI keeps a semaphore of the machine for each file name that some job has open by MPI-IO. A
 * job that died inside MPI_File_open leaves it locked for ever. */
static void anothers_semaphore_keeps_nobody(void) {
    fixture f;
    char name[96];
    make_folder();
    if (!fixture_open(&f, NULL))
        return;
    snprintf(path, sizeof path, "%s/table-%s", folder, folder + sizeof "/tmp/tern-test-" - 1);
    snprintf(name, sizeof name, "/OMPIO_%s", strrchr(path, '/') + 1);
    sem_t *locked = sem_open(name, O_CREAT, 0600, 0);
    CU_ASSERT_FATAL(locked != SEM_FAILED);
    const content c = {8, 8, 100, 1};
    tern_hashtable *table = make(&f, &c, 0), *got = NULL;
    EXPECT_OK(tern_hashtable_save(f.worker, table, path, NULL, 0));
    if (EXPECT_OK(tern_hashtable_load(f.worker, path, NULL, NULL, &got)))
        expect_content(&f, got, &c);
    EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    fixture_close(&f);
    sem_close(locked);
    (void)sem_unlink(name);
    remove_folder();
}

static char other[96];

/* Collective: a table with one key, and a folder that is known to all ranks. */
static tern_hashtable *begin(fixture *f) {
    make_folder();
    if (!fixture_open(f, NULL))
        return NULL;
    snprintf(other, sizeof other, "%s/other", folder);
    tern_hashtable *table = make(f, &(content){8, 8, 1, 2}, 0);
    EXPECT_OK(tern_barrier(f->worker));
    return table;
}

static void end(fixture *f, tern_hashtable *table) {
    EXPECT_OK(tern_hashtable_destroy(f->worker, table));
    fixture_close(f);
    remove_folder();
}

static void make_directory(void) { CU_ASSERT_EQUAL(mkdir(path, 0700), 0); }
static void make_fifo(void) { CU_ASSERT_EQUAL(mkfifo(path, 0600), 0); }
static void make_link_to_device(void) { CU_ASSERT_EQUAL(symlink("/dev/null", path), 0); }
static void make_link_to_nothing(void) { CU_ASSERT_EQUAL(symlink("nothing", path), 0); }
static void make_link_to_itself(void) { CU_ASSERT_EQUAL(symlink("file", path), 0); }

static void make_socket(void) {
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    snprintf(name.sun_path, sizeof name.sun_path, "%.100s", path);
    CU_ASSERT_EQUAL(bind(fd, (struct sockaddr *)&name, sizeof name), 0);
    close(fd);
}

static void only_regular_files_are_replaced(void) {
    static const struct {
        void (*make)(void);
        const char *detail;
    } kinds[] = {
        {make_directory, "is a directory"},
        {make_fifo, "is a FIFO"},
        {make_socket, "is a socket"},
        {make_link_to_device, "leads to '/dev/null', which is a character device"},
        {make_link_to_nothing, "is a symbolic link that leads nowhere"},
        {make_link_to_itself, "is a symbolic link that leads nowhere"},
    };
    fixture f;
    tern_hashtable *table = begin(&f), *got = NULL;
    if (table == NULL)
        return;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct stat before = {0}, after = {0};
        if (f.rank == 0) {
            kinds[i].make();
            CU_ASSERT_EQUAL(lstat(path, &before), 0);
        }
        EXPECT_OK(tern_barrier(f.worker));
        EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_save(f.worker, table, path, NULL, 0));
        EXPECT_DETAIL(path);
        EXPECT_DETAIL(kinds[i].detail);
        EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_load(f.worker, path, NULL, NULL, &got));
        EXPECT_DETAIL(kinds[i].detail);
        EXPECT_OK(tern_barrier(f.worker));
        if (f.rank == 0) {
            CU_ASSERT_EQUAL(lstat(path, &after), 0);
            CU_ASSERT(before.st_ino == after.st_ino && before.st_mode == after.st_mode);
            CU_ASSERT_EQUAL(remove(path), 0);
        }
        EXPECT_OK(tern_barrier(f.worker));
    }
    end(&f, table);
}

/* Collective: rank 0 has a file at that path with a mode and, where it may give files away, with an
 * owner that a new file would not have. */
static void make_old(const fixture *f, const char *name) {
    FILE *file = f->rank == 0 ? fopen(name, "w") : NULL;
    if (file != NULL) {
        CU_ASSERT_EQUAL(fclose(file), 0);
        CU_ASSERT(geteuid() != 0 || chown(name, 12345, 23456) == 0);
        CU_ASSERT_EQUAL(chmod(name, 0620), 0);
    }
    EXPECT_OK(tern_barrier(f->worker));
}

static void expect_replaced(const fixture *f, const char *name) {
    struct stat info = {0};
    EXPECT_OK(tern_barrier(f->worker));
    if (f->rank != 0)
        return;
    CU_ASSERT_EQUAL(lstat(name, &info), 0);
    CU_ASSERT(S_ISREG(info.st_mode) && info.st_size > 0);
    CU_ASSERT_EQUAL(info.st_mode & 07777, 0620);
    CU_ASSERT_EQUAL(info.st_uid, geteuid() == 0 ? 12345 : geteuid());
    CU_ASSERT(geteuid() != 0 || info.st_gid == 23456);
}

static void a_replaced_file_keeps_mode_and_owner(void) {
    fixture f;
    tern_hashtable *table = begin(&f);
    if (table == NULL)
        return;
    make_old(&f, path);
    EXPECT_OK(tern_hashtable_save(f.worker, table, path, NULL, 0));
    expect_replaced(&f, path);
    if (f.rank == 0)
        CU_ASSERT_EQUAL(unlink(path), 0);
    end(&f, table);
}

static void a_link_to_a_file_stays(void) {
    fixture f;
    tern_hashtable *table = begin(&f), *got = NULL;
    if (table == NULL)
        return;
    make_old(&f, other);
    if (f.rank == 0)
        CU_ASSERT_EQUAL(symlink("other", path), 0);
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_hashtable_save(f.worker, table, path, NULL, 0));
    expect_replaced(&f, other);
    struct stat info = {0};
    CU_ASSERT(lstat(path, &info) == 0 && S_ISLNK(info.st_mode));
    if (EXPECT_OK(tern_hashtable_load(f.worker, path, NULL, NULL, &got)))
        EXPECT_OK(tern_hashtable_destroy(f.worker, got));
    EXPECT_OK(tern_barrier(f.worker));
    if (f.rank == 0)
        CU_ASSERT(unlink(path) == 0 && unlink(other) == 0);
    end(&f, table);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"any_ranks_to_any_other", any_ranks_to_any_other},
        {"damage_is_refused", damage_is_refused},
        {"notes_come_back", notes_come_back},
        {"failed_saves_change_nothing", failed_saves_change_nothing},
        {"arguments", arguments},
        {"a_path_may_hold_colons", a_path_may_hold_colons},
        {"anothers_semaphore_keeps_nobody", anothers_semaphore_keeps_nobody},
        {"only_regular_files_are_replaced", only_regular_files_are_replaced},
        {"a_replaced_file_keeps_mode_and_owner", a_replaced_file_keeps_mode_and_owner},
        {"a_link_to_a_file_stays", a_link_to_a_file_stays},
    };
    return tern_test_main(argc, argv, "hashtable_file", tests, sizeof tests / sizeof *tests);
}
