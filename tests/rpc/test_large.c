// tern-test: transports
/*
 * More than one call of MPI can count: a get of a gigabyte and a bit, in pieces. Both sides are a
 * small file that is mapped over and over, but for what lies where two pieces meet.
 */

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fixture.h"

enum { TILE = 2 << 20, SEAM = 1 << 20, EDGE = 4096 };

/* The last tile and those on both sides of the piece's end are memory of their own. */
static const size_t piece = (size_t)1 << 30, bytes = ((size_t)1 << 30) + SEAM + 13;

static unsigned char *map_tiles(void) {
    int file = memfd_create("tile", 0);
    size_t room = piece + 2 * (size_t)TILE;
    unsigned char *base = mmap(NULL, room, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    bool good = file >= 0 && base != MAP_FAILED && ftruncate(file, TILE) == 0;
    for (size_t at = 0; good && at < piece - TILE; at += TILE)
        good = mmap(base + at, TILE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) !=
               MAP_FAILED;
    if (file >= 0)
        close(file);
    return good ? base : NULL;
}

static unsigned char value(size_t at) { return (unsigned char)(at * 7 + at / 251 + 1); }

/* Whether [from, to) is as it was written. */
static bool arrived(const unsigned char *memory, size_t from, size_t to) {
    for (size_t i = from; i < to; i++)
        if (memory[i] != value(i % TILE + (i < piece - TILE ? 0 : i)))
            return false;
    return true;
}

static void get_from(fixture *f, tern_ptr p, unsigned char *memory) {
    memset(memory + bytes, 0xee, EDGE);
    EXPECT_OK(tern_get(f->worker, memory, p, bytes));
    CU_ASSERT(arrived(memory, 0, TILE));
    CU_ASSERT(arrived(memory, piece - TILE, bytes));
    for (size_t i = 0; i < EDGE; i++)
        CU_ASSERT_EQUAL_FATAL(memory[bytes + i], 0xee);
}

static void get_of_pieces(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    if (fixture_uses_rma(&f) && !tern_test_full()) {
        tern_test_skip("half a minute with MPICH: --full");
        fixture_close(&f);
        return;
    }
    unsigned char *memory = map_tiles();
    CU_ASSERT_PTR_NOT_NULL_FATAL(memory);
    uint32_t owner = f.size - 1;
    if (f.rank == owner) {
        for (size_t i = 0; i < TILE; i++)
            memory[i] = value(i);
        for (size_t i = piece - TILE; i < bytes; i++)
            memory[i] = value(i % TILE + i);
    }
    tern_ptr mine = TERN_NULL, *all = calloc(f.size, sizeof *all);
    EXPECT_OK(tern_register(f.worker, memory, bytes, &mine));
    fixture_share(&f, &mine, sizeof mine, all);
    if (f.rank == 0 && owner > 0)
        get_from(&f, all[owner], memory);
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_deregister(f.worker, mine));
    fixture_close(&f);
    munmap(memory, piece + 2 * (size_t)TILE);
    free(all);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"get_of_pieces", get_of_pieces}};
    return tern_test_main(argc, argv, "large", tests, 1);
}
