// A C++ program that declares, defines and calls functions of other workers together with C, and
// reads an archive that C wrote. Prints "as in C" if all is as it should be.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
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

tern_status total_here(tern_call_info *, tern_vector *large, tern_vector *small, double *result) {
    const double *values = static_cast<const double *>(tern_vector_data(large));
    *result = static_cast<const pair *>(tern_vector_data(small))[2].b;
    for (size_t i = 0; i < tern_vector_count(large); i++)
        *result += values[i];
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

static void call_from_cplusplus(tern_worker *worker, tern_worker_id target, tern_ptr factors,
                                const tern_vector *large, const tern_vector *small) {
    const pair both = {1.5, -2};
    const std::vector<uint16_t> numbers = {3, 65535};
    const float three[] = {0.5F, 1.5F, 2.5F};
    double got = 0;
    check(note(worker, target, true, both, "text", numbers.data(), numbers.size(), three, LOW),
          "note");
    tern_request request = {};
    check(area_start(worker, target, both, factors, 2, 'x', &got, &request), "area_start");
    check(tern_wait(worker, &request), "tern_wait");
    expect(got == 1.5 * -2 * 3 * 5, "area's result");

    check(keep(worker, target, large, small), "keep");
    check(total_start(worker, target, large, small, &got, &request), "total_start");
    check(tern_wait(worker, &request), "tern_wait");
    expect(got == 1024 + 7, "total's result");
    expect(keep(worker, target, small, small) == TERN_ERR_MISMATCH, "a vector of pairs");

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

static tern_status write_text(tern_writer *writer, const void *value) {
    return tern_write_string(writer, static_cast<const std::string *>(value)->c_str());
}

static tern_status read_text(tern_reader *reader, void *value) {
    const char *text = nullptr;
    const tern_status status = tern_read_string(reader, &text, nullptr);
    if (status == TERN_OK)
        *static_cast<std::string *>(value) = text;
    return status;
}

// Values of C++ types, some shared in a vector of tern's.
static void archive_values(tern_worker *worker) {
    static const tern_type text_type = {"text", sizeof(std::string), write_text, read_text};
    static const tern_type box_type = {"box", sizeof(box), nullptr, nullptr};
    const std::string texts[] = {"one", "", "three"};
    const box boxes[] = {{{0, 0}, {1, 1}}, {{0, 0}, {5, 1}}};
    tern_writer writer;
    tern_reader reader;
    tern_vector sent, got;
    const void *archive = nullptr;
    size_t bytes = 0, count = 0;
    check(TERN_VECTOR_CREATE(worker, double, 1000, &sent), "tern_vector_create");
    static_cast<double *>(tern_vector_data(&sent))[999] = 0.5;
    check(tern_writer_open(&writer, nullptr, 0, SIZE_MAX), "tern_writer_open");
    check(tern_writer_share(&writer, worker, 1000), "tern_writer_share");
    check(tern_write_values(&writer, &text_type, texts, 3), "texts");
    check(tern_write_values(&writer, &box_type, boxes, 2), "boxes");
    check(tern_write_vector(&writer, &sent), "tern_write_vector");
    check(tern_writer_finish(&writer, &archive, &bytes), "tern_writer_finish");

    std::string texts_got[3];
    box boxes_got[2] = {};
    const tern_chunk *chunks = tern_writer_chunks(&writer, &count);
    expect(count == 1 && tern_ptr_equal(chunks->place, tern_vector_place(&sent)), "RMA chunk");
    check(tern_reader_open(&reader, archive, bytes), "tern_reader_open");
    check(tern_reader_chunks(&reader, chunks, count), "tern_reader_chunks");
    check(tern_read_values(&reader, &text_type, texts_got, 3), "texts");
    check(tern_read_values(&reader, &box_type, boxes_got, 2), "boxes");
    check(TERN_READ_VECTOR(&reader, worker, double, &got), "tern_read_vector");
    check(tern_reader_close(&reader), "tern_reader_close");
    expect(texts_got[0] == "one" && texts_got[1].empty() && texts_got[2] == "three", "texts");
    expect(boxes_got[1].high[0] == 5, "boxes");
    expect(static_cast<double *>(tern_vector_data(&got))[999] == 0.5, "vector");
    tern_writer_close(&writer);
    tern_vector_destroy(&sent);
    tern_vector_destroy(&got);
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
    archive_values(worker);
    tern_vector large, small;
    check(TERN_VECTOR_CREATE(worker, double, 2048, &large), "tern_vector_create");
    check(TERN_VECTOR_CREATE(worker, pair, 3, &small), "tern_vector_create");
    for (size_t i = 0; i < 2048; i++)
        static_cast<double *>(tern_vector_data(&large))[i] = 0.5;
    for (size_t i = 0; i < 3; i++)
        static_cast<pair *>(tern_vector_data(&small))[i] = {0, 7};
    for (uint32_t r = 0; r < size; r++) {
        const tern_worker_id target = {r, 0};
        check(
            tern_alloc_on(worker, r, TERN_NUMA_ANY, sizeof values, 0, TERN_DOMAIN_GLOBAL, &factors),
            "tern_alloc_on");
        check(tern_put(worker, factors, values, sizeof values), "tern_put");
        check(tern_fence(worker, r), "tern_fence");
        call_from_cplusplus(worker, target, factors, &large, &small);
        check(call_from_c(worker, target, factors, &large, &small), "call_from_c");
    }
    tern_vector_destroy(&large);
    tern_vector_destroy(&small);
    check(tern_quiesce(worker), "tern_quiesce");
    expect(notes == 4 * static_cast<int>(size) && wrong_notes == 0, "notes");
    check(tern_context_destroy(context), "tern_context_destroy");
    MPI_Finalize();
    if (wrong == 0 && rank == 0)
        std::puts("as in C");
    return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
