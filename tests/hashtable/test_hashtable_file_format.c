// tern-test: unit

/* The file of a table, from inside: headers that say something else, and the file that a save makes
 * beside the old one. */

#include <sys/stat.h>
#include <sys/wait.h>

#include "file_tools.h"
#include "hashtable/file/format.h"
#include "hashtable/file/io.h"
#include "tern/hashtable.h"

static char other[96];

/* Neither call changes its outputs. */
static void expect_refused(fixture *f, tern_status status) {
    tern_hashtable *table = NULL;
    tern_hashtable_file file = {.keys = 12345};
    EXPECT(status, tern_hashtable_file_read(path, &file));
    EXPECT_DETAIL(path);
    EXPECT(status, tern_hashtable_load(f->worker, path, NULL, &file, &table));
    EXPECT_DETAIL(path);
    CU_ASSERT_PTR_NULL(table);
    CU_ASSERT_EQUAL(file.keys, 12345);
}

/* What a header says beside its checksum. */
static void strangers_are_refused(void) {
    fixture f;
    make_folder();
    if (fixture_open_on(&f, MPI_COMM_SELF, NULL)) {
        tern_file_header h = {.key_bytes = 8, .value_bytes = 8};
        tern_file_header_seal(&h);
        file_spill(path, (const char *)&h, sizeof h);
        tern_hashtable *table = NULL;
        if (EXPECT_OK(tern_hashtable_load(f.worker, path, NULL, NULL, &table)))
            EXPECT_OK(tern_hashtable_destroy(f.worker, table));
        tern_file_header newer = h;
        newer.version = TERN_FILE_VERSION + 1;
        file_spill(path, (const char *)&newer, sizeof newer);
        expect_refused(&f, TERN_ERR_UNSUPPORTED);
        EXPECT_DETAIL("version 3 of the format");
        newer.version = 1;
        file_spill(path, (const char *)&newer, 80); /* of a table without keys */
        expect_refused(&f, TERN_ERR_UNSUPPORTED);
        EXPECT_DETAIL("version 1 of the format");
        newer.order = __builtin_bswap32(TERN_FILE_ORDER);
        file_spill(path, (const char *)&newer, sizeof newer);
        expect_refused(&f, TERN_ERR_UNSUPPORTED);
        EXPECT_DETAIL("byte order");
        newer = h;
        newer.note_bytes = TERN_NOTE_MAX + 1;
        tern_file_header_seal(&newer);
        file_spill(path, (const char *)&newer, sizeof newer);
        expect_refused(&f, TERN_ERR_ARGUMENT);
        EXPECT_DETAIL("header");
        file_spill(
            path,
            "a file of somebody else, and one that is longer than any header of tern's is, to be "
            "sure",
            86);
        expect_refused(&f, TERN_ERR_ARGUMENT);
        EXPECT_DETAIL("was not written by tern_hashtable_save");
        CU_ASSERT_EQUAL(unlink(path), 0);
        expect_refused(&f, TERN_ERR_NOT_FOUND);
        fixture_close(&f);
    }
    remove_folder();
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
    make_folder();
    CU_ASSERT_EQUAL(chmod(folder, 0777), 0);
    snprintf(other, sizeof other, "%s/other", folder);
    FILE *file = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL(fclose(file), 0);
    CU_ASSERT_EQUAL(chmod(path, 0444), 0);
    CU_ASSERT(holds_for_others(protection_is_kept));
    CU_ASSERT_EQUAL(chmod(path, 0666), 0);
    if (geteuid() == 0)
        CU_ASSERT(holds_for_others(owner_cannot_be_kept));
    remove_folder();
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"strangers_are_refused", strangers_are_refused},
        {"files_of_others_are_left_alone", files_of_others_are_left_alone},
    };
    return tern_test_main(argc, argv, "hashtable_file_format", tests, 2);
}
