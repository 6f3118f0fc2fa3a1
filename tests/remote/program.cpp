// A C++ program that declares, defines and calls functions of other workers together with C, and
// reads an archive that C wrote. Prints "as in C" if all is as it should be.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <tern/tern.h>

#include "declared.h"

static int wrong;

static void expect(bool right, const char *what) {
    if (right)
        return;
    wrong++;
    std::fprintf(stderr, "program: %s: %s\n", what, tern_error_detail());
}

static void check(tern_status status, const char *what) { expect(status == TERN_OK, what); }

tern_status area_here(tern_call_info *, pair both, const double *factors, size_t factors_count,
                      char letter, double *result) {
    *result = letter == 'x' ? both.a * both.b : 0;
    for (size_t i = 0; i < factors_count; i++)
        *result *= factors[i];
    return TERN_OK;
}

// Of C++ alone.
struct box {
    float low[2], high[2];
};
using numbers = unsigned long long;
TERN_REMOTE_RETURN(box, widest, TERN_BUFFER(box, boxes), (numbers, seed))

tern_status widest_here(tern_call_info *, const box *boxes, size_t boxes_count, numbers seed,
                        box *result) {
    *result = boxes[0];
    for (size_t i = 1; i < boxes_count; i++)
        if (boxes[i].high[0] - boxes[i].low[0] > result->high[0] - result->low[0])
            *result = boxes[i];
    return seed == 11 ? TERN_OK : TERN_ERR_ARGUMENT;
}

static void call_from_cplusplus(tern_worker *worker, tern_worker_id target, tern_ptr factors) {
    const pair both = {1.5, -2};
    const std::vector<uint16_t> numbers = {3, 65535};
    const float three[] = {0.5F, 1.5F, 2.5F};
    double got = 0;
    check(note(worker, target, true, both, "text", numbers.data(), numbers.size(), three, LOW),
          "note");
    tern_future future;
    check(area_start(worker, target, both, factors, 2, 'x', &future), "area_start");
    check(area_finish(worker, &future, &got), "area_finish");
    expect(got == 1.5 * -2 * 3 * 5, "area's result");

    const std::vector<box> boxes = {{{0, 0}, {1, 1}}, {{0, 0}, {5, 1}}, {{2, 0}, {4, 1}}};
    box found = {};
    check(widest(worker, target, boxes.data(), boxes.size(), 11, &found), "widest");
    expect(found.high[0] == 5, "widest's result");
}

static void read_from_c() {
    uint64_t memory[64];
    size_t bytes = 0, length = 0;
    bool flag = false;
    char letter = 0;
    long long number = 0;
    level how = HIGH;
    pair both = {};
    const float *three = nullptr;
    const char *text = nullptr;
    tern_reader reader;
    check(archive_in_c(memory, sizeof memory, &bytes), "archive_in_c");
    check(tern_reader_open(&reader, memory, bytes), "tern_reader_open");
    check(TERN_READ(&reader, &flag, 1), "bool");
    check(TERN_READ(&reader, &letter, 1), "char");
    check(TERN_READ(&reader, &number, 1), "long long");
    check(TERN_READ(&reader, &how, 1), "enum");
    check(TERN_READ(&reader, &both, 1), "struct");
    check(TERN_READ_ARRAY(&reader, &three, &length), "array");
    check(tern_read_string(&reader, &text, nullptr), "string");
    check(tern_reader_close(&reader), "tern_reader_close");
    expect(flag && letter == 'y' && number == -7 && how == LOW && both.b == -2, "values");
    expect(length == 3 && three[1] == 1.5F && std::strcmp(text, "text") == 0, "contents");
}

int main(int argc, char **argv) {
    tern_context *context = nullptr;
    tern_worker *worker = nullptr;
    tern_ptr factors = TERN_NULL;
    const double values[] = {3, 5};
    MPI_Init(&argc, &argv);
    check(tern_context_create(MPI_COMM_WORLD, nullptr, &context), "tern_context_create");
    if (context == nullptr)
        return EXIT_FAILURE;
    const uint32_t rank = tern_context_rank(context), size = tern_context_size(context);
    check(tern_worker_adopt(context, 0, &worker), "tern_worker_adopt");
    read_from_c();
    for (uint32_t r = 0; r < size; r++) {
        const tern_worker_id target = {r, 0};
        check(tern_alloc_on(worker, r, TERN_NUMA_ANY, sizeof values, 0, TERN_DOMAIN_GLOBAL,
                            &factors),
              "tern_alloc_on");
        check(tern_put(worker, factors, values, sizeof values), "tern_put");
        check(tern_fence(worker, r), "tern_fence");
        call_from_cplusplus(worker, target, factors);
        check(call_from_c(worker, target, factors), "call_from_c");
    }
    check(tern_quiesce(worker), "tern_quiesce");
    expect(notes == 2 * static_cast<int>(size) && wrong_notes == 0, "notes");
    check(tern_context_destroy(context), "tern_context_destroy");
    MPI_Finalize();
    if (wrong == 0 && rank == 0)
        std::puts("as in C");
    return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
