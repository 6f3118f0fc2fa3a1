/* The parts of examples/graph that work on one rank. */

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"

#include "examples/graph/answer.h"
#include "examples/graph/spread.h"

static char why[1024];

/* Reads text in so many shares. Returns whether all could be read. */
static bool read_text(edges *list, const char *text, size_t bytes, unsigned ranks) {
    char name[] = "/tmp/test_graph_parts.XXXXXX";
    int fd = mkstemp(name);
    bool good = fd >= 0 && write(fd, text, bytes) == (ssize_t)bytes;
    CU_ASSERT_FATAL(good);
    close(fd);
    for (unsigned rank = 0; rank < ranks; rank++)
        good = edges_read(list, name, rank, ranks, why, sizeof why) && good;
    unlink(name);
    return good;
}

/* Each line is read once, by however many ranks. */
static void reads_a_file_in_shares(void) {
    static const char text[] =
        "# SNAP\n0 1\n\n1\t2\r\n  3   4  \n#5 6\n1099511627775 0\n\r\n7 7\n8 9";
    static const edge wanted[] = {{0, 1}, {1, 2}, {3, 4}, {VERTEX_MOST, 0}, {7, 7}, {8, 9}};
    for (unsigned ranks = 1; ranks < 100; ranks++) {
        edges list = {0};
        CU_ASSERT_FATAL(read_text(&list, text, sizeof text - 1, ranks));
        CU_ASSERT_EQUAL_FATAL(list.count, 6);
        CU_ASSERT_EQUAL(memcmp(list.at, wanted, sizeof wanted), 0);
        edges_free(&list);
    }
}

/* Each error of a line names the line. */
static void refuses_bad_lines(void) {
    static const struct {
        const char *text, *why;
    } bad[] = {
        {"1 2\n3\n", "line 2: '3': write two"},
        {"1 2\nx 3\n", "line 2: 'x 3': write two"},
        {"1 2\n\n1 2x\n", "line 3: '1 2x': remove what follows"},
        {"1 2 3\n", "line 1: '1 2 3': remove what follows"},
        {"-1 2\n", "line 1: '-1 2': write two"},
        {"1,2\n", "line 1: '1,2': write two"},
        {"# a\n1 1099511627776", "line 2: '1 1099511627776': write two"},
        {"\x1f\x8b 1 2\n", "unpack it with gunzip"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        edges list = {0};
        CU_ASSERT_FALSE(read_text(&list, bad[i].text, strlen(bad[i].text), 1));
        CU_ASSERT_PTR_NOT_NULL(strstr(why, bad[i].why));
        edges_free(&list);
    }
    edges none = {0};
    CU_ASSERT_FALSE(edges_read(&none, "/nowhere/edges", 0, 1, why, sizeof why));
    CU_ASSERT_PTR_NOT_NULL(strstr(why, "cannot open /nowhere/edges: "));
    CU_ASSERT_FALSE(edges_read(&none, "/tmp", 0, 1, why, sizeof why));
    CU_ASSERT_PTR_NOT_NULL(strstr(why, "/tmp is not a file"));
}

/* An edge depends on its number and the seed, not on the rank that draws it; low quadrants are
 * full. */
static void draws_the_same_for_any_ranks(void) {
    enum { SCALE = 9, COUNT = 4096 };
    edges whole = {0}, parts = {0}, other = {0};
    edges_draw(&whole, 0, COUNT, SCALE, 3);
    edges_draw(&parts, 0, 1000, SCALE, 3);
    edges_draw(&parts, 1000, COUNT - 1000, SCALE, 3);
    edges_draw(&other, 0, COUNT, SCALE, 4);
    CU_ASSERT_EQUAL(memcmp(whole.at, parts.at, COUNT * sizeof(edge)), 0);
    CU_ASSERT_NOT_EQUAL(memcmp(whole.at, other.at, COUNT * sizeof(edge)), 0);
    lists l;
    lists_make(&l, &whole);
    size_t most = 0;
    for (size_t slot = 0; slot < l.vertices; slot++) {
        CU_ASSERT(l.vertex[slot] < 1u << SCALE);
        most = lists_degree(&l, slot) > most ? lists_degree(&l, slot) : most;
    }
    /* The vertex of all low quadrants starts 0.76^9 = 8.5 % of the edges, 346, some of them twice.
     * Without a skew the most would be about 20. */
    CU_ASSERT(most > 100 && most < 346);
    lists_free(&l);
    edges_free(&whole);
    edges_free(&parts);
    edges_free(&other);
}

/* Lists have no duplicates and no loops, and vertices keep their slots. */
static void makes_lists(void) {
    edge arcs[] = {{5, 9}, {9, 5}, {5, 2}, {5, 9}, {5, 5}, {2, 5}, {7, 7}};
    const edges all = {arcs, 7, 7};
    lists l;
    lists_make(&l, &all);
    CU_ASSERT_EQUAL(l.vertices, 4);
    size_t five = lists_slot(&l, 5), seven = lists_slot(&l, 7);
    CU_ASSERT_EQUAL_FATAL(lists_degree(&l, five), 2);
    CU_ASSERT_EQUAL(l.neighbour[l.start[five]], 2);
    CU_ASSERT_EQUAL(l.neighbour[l.start[five] + 1], 9);
    CU_ASSERT_EQUAL(lists_degree(&l, seven), 0);
    CU_ASSERT_EQUAL(lists_slot(&l, 1), NO_SLOT);
    lists_free(&l);
}

static uint64_t found(uint64_t level, uint64_t parent) { return level << VERTEX_BITS | parent; }

/* Every rule of the check finds what breaks it. */
static void notices_wrong_answers(void) {
    edge at[] = {{1, 2}, {2, 3}, {1, 4}, {4, 3}, {3, 3}, {6, 5}};
    const edges all = {at, 6, 6};
    const answer right[] = {{1, found(0, 1), 1}, {2, found(1, 1), 1}, {3, found(2, 2), 1},
                            {4, found(1, 1), 1}, {5, NO_VALUE, 5},    {6, NO_VALUE, 5}};
    const struct {
        size_t place;
        answer instead;
        const char *why;
    } wrong[] = {
        {2, {3, found(4, 2), 1}, "joins levels"},
        {1, {2, NO_VALUE, 1}, "joins levels"},
        {2, {3, found(1, 1), 1}, "the sequential search 2"},
        {2, {3, found(2, 1), 1}, "has no edge to its parent 1"},
        {2, {3, found(2, 3), 1}, "has no edge to its parent 3"},
        {0, {1, found(0, 2), 1}, "the source has a parent"},
        {5, {6, NO_VALUE, 6}, "by union-find in 5"},
        {5, {5, NO_VALUE, 5}, "vertex 5 is there twice"},
        {5, {8, NO_VALUE, 5}, "vertex 8 is not in the graph"},
    };
    CU_ASSERT(answers_check(right, 6, &all, 1, why, sizeof why));
    answer other[6];
    memcpy(other, right, sizeof right);
    other[2].search = found(2, 4); /* the other parent that it may have */
    CU_ASSERT(answers_check(other, 6, &all, 1, why, sizeof why));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        memcpy(other, right, sizeof right);
        other[wrong[i].place] = wrong[i].instead;
        CU_ASSERT_FALSE(answers_check(other, 6, &all, 1, why, sizeof why));
        CU_ASSERT_PTR_NOT_NULL(strstr(why, wrong[i].why));
        CU_ASSERT_NOT_EQUAL(answers_digest(other, 6).hashes, answers_digest(right, 6).hashes);
    }
    CU_ASSERT_FALSE(answers_check(right, 5, &all, 1, why, sizeof why));
    CU_ASSERT_PTR_NOT_NULL(strstr(why, "6 vertices, and 5 of them"));
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"reads_a_file_in_shares", reads_a_file_in_shares},
        {"refuses_bad_lines", refuses_bad_lines},
        {"draws_the_same_for_any_ranks", draws_the_same_for_any_ranks},
        {"makes_lists", makes_lists},
        {"notices_wrong_answers", notices_wrong_answers},
    };
    return tern_test_main(argc, argv, "graph_parts", tests, sizeof tests / sizeof tests[0]);
}
