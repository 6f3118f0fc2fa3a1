// tern-test: ranks survivors least=2

/* A rank dies at a random moment while all save and load a table and a map, but not inside MPI: the
 * others are told, nobody hangs, and no file is left but those of saves that came to their ends. */

#include <dirent.h>
#include <pthread.h>
#include <sys/stat.h>

#include "survivors.h"
#include "table_tools.h"

#include "tern/map.h"

enum { LONGEST_US = 100000, KEYS = 2000 };

static uint64_t moment_us;
static char folder[64], path[96], map_path[96];

static bool insert_all(const fixture *f, tern_hashtable *table, tern_map *map) {
    static const char value[100];
    for (uint64_t key = f->rank + 1; key <= KEYS; key += f->size) {
        int existed = 0;
        if (!EXPECT_OK(
                tern_hashtable_insert(f->worker, table, &key, &key, TERN_WRITE_ONLY, &existed)) ||
            !EXPECT_OK(tern_map_insert(f->worker, map, &key, sizeof key, value, key % sizeof value,
                                       TERN_WRITE_ONLY, &existed)))
            return false;
    }
    return true;
}

static tern_status save_and_load(const fixture *f, tern_hashtable *table, tern_map *map) {
    tern_hashtable *copy = NULL;
    tern_map *map_copy = NULL;
    tern_status status = tern_hashtable_save(f->worker, table, path, NULL, 0);
    if (status == TERN_OK)
        status = tern_hashtable_load(f->worker, path, NULL, NULL, &copy);
    if (status == TERN_OK)
        status = tern_hashtable_destroy(f->worker, copy);
    if (status == TERN_OK)
        status = tern_map_save(f->worker, map, map_path, NULL, 0);
    if (status == TERN_OK)
        status = tern_map_load(f->worker, map_path, NULL, NULL, &map_copy);
    if (status == TERN_OK)
        status = tern_map_destroy(f->worker, map_copy);
    return status;
}

/* All that may be left are the files of the table and of the map. */
static void check_folder(void) {
    DIR *entries = opendir(folder);
    CU_ASSERT_PTR_NOT_NULL_FATAL(entries);
    for (struct dirent *e; (e = readdir(entries)) != NULL;)
        CU_ASSERT(e->d_name[0] == '.' || strcmp(e->d_name, "table") == 0 ||
                  strcmp(e->d_name, "map") == 0);
    closedir(entries);
    (void)unlink(path);
    (void)unlink(map_path);
    CU_ASSERT_EQUAL(rmdir(folder), 0);
}

static void killed_in_saves(void) {
    fixture f;
    uint64_t state = tern_test_seed();
    const int size = tern_test_size();
    const int victim = (int)(tern_test_random(&state) % (uint64_t)size);
    moment_us = tern_test_random(&state) % LONGEST_US;
    if (tern_test_rank() == 0) {
        snprintf(folder, sizeof folder, "/tmp/tern-test-XXXXXX");
        CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    }
    MPI_Bcast(folder, sizeof folder, MPI_CHAR, 0, MPI_COMM_WORLD);
    snprintf(path, sizeof path, "%s/table", folder);
    snprintf(map_path, sizeof map_path, "%s/map", folder);
    tern_hashtable *table = NULL;
    tern_map *map = NULL;
    const tern_hashtable_options options = {.key_bytes = 8, .value_bytes = 8, .capacity = KEYS};
    const tern_map_options map_options = {.capacity = KEYS};
    if (!fixture_open(&f, NULL) || !EXPECT_OK(tern_hashtable_create(f.worker, &options, &table)) ||
        !EXPECT_OK(tern_map_create(f.worker, &map_options, &map)) || !insert_all(&f, table, map))
        return;
    EXPECT_OK(tern_barrier(f.worker));
    pthread_t thread;
    if ((int)f.rank == victim)
        CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, die_in_time, &moment_us), 0);
    start_clock();
    tern_log_set_level(TERN_LOG_NONE);
    tern_status status = TERN_OK;
    while (status == TERN_OK && still_patient())
        status = save_and_load(&f, table, map);
    CU_ASSERT_EQUAL(status, TERN_ERR_PEER);
    fixture_meet_living(&f);
    if ((int)f.rank == (victim == 0 ? 1 : 0))
        check_folder();
    tern_ignore(tern_map_destroy(f.worker, map));
    tern_ignore(tern_hashtable_destroy(f.worker, table));
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"killed in saves", killed_in_saves}};
    tern_test_draw_seed();
    return tern_test_main(argc, argv, "hashtable_file_faults", tests, 1);
}
