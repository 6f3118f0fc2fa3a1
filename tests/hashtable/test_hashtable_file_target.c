// tern-test: ranks
/*
 * Where a table is saved to: only a regular file is replaced, and it keeps its mode and its owner.
 * A symbolic link stays, and the file that it leads to is replaced.
 */

#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixture.h"
#include "hashtable/file/io.h"
#include "tern/hashtable_file.h"

static char folder[64], path[96], other[96];

/* Collective: a table with one key, and a folder that is known to all ranks. */
static tern_hashtable *begin(fixture *f) {
    tern_hashtable *table = NULL;
    if (!fixture_open(f, NULL))
        return NULL;
    snprintf(folder, sizeof folder, "/tmp/tern-test-XXXXXX");
    if (f->rank == 0)
        CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    MPI_Bcast(folder, sizeof folder, MPI_CHAR, 0, MPI_COMM_WORLD);
    snprintf(path, sizeof path, "%s/table", folder);
    snprintf(other, sizeof other, "%s/other", folder);
    EXPECT_OK(tern_hashtable_create(
        f->worker, &(tern_hashtable_options){.key_bytes = 8, .value_bytes = 8, .capacity = 10},
        &table));
    uint64_t key = 1, value = 2;
    if (f->rank == 0)
        EXPECT_OK(tern_hashtable_insert(f->worker, table, &key, &value, 0, NULL));
    return table;
}

/* Collective. The folder is empty by now: no save has left its new file behind. */
static void end(fixture *f, tern_hashtable *table) {
    EXPECT_OK(tern_hashtable_destroy(f->worker, table));
    MPI_Barrier(MPI_COMM_WORLD);
    if (f->rank == 0)
        CU_ASSERT_EQUAL(rmdir(folder), 0);
    fixture_close(f);
}

static void make_directory(void) { CU_ASSERT_EQUAL(mkdir(path, 0700), 0); }
static void make_fifo(void) { CU_ASSERT_EQUAL(mkfifo(path, 0600), 0); }
static void make_link_to_device(void) { CU_ASSERT_EQUAL(symlink("/dev/null", path), 0); }
static void make_link_to_nothing(void) { CU_ASSERT_EQUAL(symlink("nothing", path), 0); }
static void make_link_to_itself(void) { CU_ASSERT_EQUAL(symlink("table", path), 0); }

static void make_socket(void) {
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    snprintf(name.sun_path, sizeof name.sun_path, "%s", path);
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
        MPI_Barrier(MPI_COMM_WORLD);
        EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_save(f.worker, table, path, NULL, 0));
        EXPECT_DETAIL(path);
        EXPECT_DETAIL(kinds[i].detail);
        EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_load(f.worker, path, NULL, NULL, &got));
        EXPECT_DETAIL(kinds[i].detail);
        MPI_Barrier(MPI_COMM_WORLD);
        if (f.rank == 0) {
            CU_ASSERT_EQUAL(lstat(path, &after), 0);
            CU_ASSERT(before.st_ino == after.st_ino && before.st_mode == after.st_mode);
            CU_ASSERT_EQUAL(remove(path), 0);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    end(&f, table);
}

/* Collective: rank 0 has a file at that path with a mode and, where it may give files away, with an
 * owner that are none of a new file. */
static void make_old(const fixture *f, const char *name) {
    FILE *file = f->rank == 0 ? fopen(name, "w") : NULL;
    if (file != NULL) {
        CU_ASSERT_EQUAL(fclose(file), 0);
        CU_ASSERT(geteuid() != 0 || chown(name, 12345, 23456) == 0);
        CU_ASSERT_EQUAL(chmod(name, 0620), 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void expect_replaced(const fixture *f, const char *name) {
    struct stat info = {0};
    MPI_Barrier(MPI_COMM_WORLD);
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
    MPI_Barrier(MPI_COMM_WORLD);
    EXPECT_OK(tern_hashtable_save(f.worker, table, path, NULL, 0));
    expect_replaced(&f, other);
    struct stat info = {0};
    CU_ASSERT(lstat(path, &info) == 0 && S_ISLNK(info.st_mode));
    if (EXPECT_OK(tern_hashtable_load(f.worker, path, NULL, NULL, &got)))
        EXPECT_OK(tern_hashtable_destroy(f.worker, got));
    MPI_Barrier(MPI_COMM_WORLD);
    if (f.rank == 0)
        CU_ASSERT(unlink(path) == 0 && unlink(other) == 0);
    end(&f, table);
}

/* What a user other than root may do is tried in a child that becomes one. */
static bool holds_for_others(bool (*holds)(void)) {
    pid_t child = fork();
    if (child == 0)
        _exit((geteuid() != 0 || (setgid(54321) == 0 && setuid(54321) == 0)) && holds() ? 0 : 1);
    int status = -1;
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static bool fails_with(tern_status status, const char *detail) {
    return status == TERN_ERR_SYSTEM && strstr(tern_error_detail(), detail) != NULL;
}

static bool protection_is_kept(void) {
    return fails_with(tern_file_create(other, path), "write-protected");
}

static bool owner_cannot_be_kept(void) {
    return fails_with(tern_file_create(other, path), "owner") && access(other, F_OK) != 0;
}

/* In a folder that everybody may write, so that a rename would succeed. */
static void files_of_others_are_left_alone(void) {
    if (tern_test_rank() != 0)
        return;
    snprintf(folder, sizeof folder, "/tmp/tern-test-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    CU_ASSERT_EQUAL(chmod(folder, 0777), 0);
    snprintf(path, sizeof path, "%s/table", folder);
    snprintf(other, sizeof other, "%s/other", folder);
    FILE *file = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL(fclose(file), 0);
    CU_ASSERT_EQUAL(chmod(path, 0444), 0);
    CU_ASSERT(holds_for_others(protection_is_kept));
    CU_ASSERT_EQUAL(chmod(path, 0666), 0);
    if (geteuid() == 0)
        CU_ASSERT(holds_for_others(owner_cannot_be_kept));
    CU_ASSERT_EQUAL(unlink(path), 0);
    CU_ASSERT_EQUAL(rmdir(folder), 0);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"only_regular_files_are_replaced", only_regular_files_are_replaced},
        {"a_replaced_file_keeps_mode_and_owner", a_replaced_file_keeps_mode_and_owner},
        {"a_link_to_a_file_stays", a_link_to_a_file_stays},
        {"files_of_others_are_left_alone", files_of_others_are_left_alone},
    };
    return tern_test_main(argc, argv, "hashtable_file_target", tests, sizeof tests / sizeof *tests);
}
