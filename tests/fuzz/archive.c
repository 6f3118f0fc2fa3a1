/*
 * The reader of archives under libFuzzer. An input is a row of things to read, and an archive; what
 * the reader says is compared with a decoder of a few lines that is too simple to be wrong, and
 * AddressSanitizer sees each byte past the end. What the reader takes is written again, and has to
 * come out the same. TERN_FUZZ_SEEDS=FOLDER: writes inputs to begin with and ends.
 */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/error.h"
#include "tern/archive.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *input, size_t bytes);

/* In place of src/status.c, which needs MPI. */
tern_status tern_fail(tern_status status, const char *format, ...) {
    char detail[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(detail, sizeof detail, format, arguments);
    va_end(arguments);
    return status;
}

/* A step of the row: type in the low bits, then the size of an element. */
static const size_t elements[8] = {1, 2, 4, 8, 3, 24, 1000, TERN_ITEM_ELEMENT_MAX};

static tern_item_type type_of(uint8_t step) { return (tern_item_type)(1 + step % 5); }
static size_t element_of(uint8_t step) {
    return type_of(step) == TERN_ITEM_STRING ? 1 : elements[step / 5 % 8];
}

static void insist(int right) {
    if (!right)
        abort();
}

/* The item at at, as step wants it: its bytes from the header on, or 0. */
static size_t item_size(const uint8_t *archive, size_t bytes, size_t at, uint8_t step,
                        uint64_t *count) {
    if (bytes - at < 8)
        return 0;
    uint64_t element = archive[at + 1] | (uint64_t)archive[at + 2] << 8;
    *count = 0;
    for (size_t i = 0; i < 5; i++)
        *count |= (uint64_t)archive[at + 3 + i] << 8 * i;
    if (archive[at] != (uint8_t)type_of(step) || element != element_of(step))
        return 0;
    uint64_t content = *count * element, size = 8 + (content + 7) / 8 * 8;
    if (size > bytes - at)
        return 0;
    if (type_of(step) == TERN_ITEM_STRING && (content == 0 || archive[at + 8 + content - 1] != 0))
        return 0;
    return (size_t)size;
}

static tern_status read_step(tern_reader *reader, uint8_t step, const void **content,
                             size_t *count) {
    const char *text = NULL;
    if (type_of(step) != TERN_ITEM_STRING)
        return tern_read_array(reader, type_of(step), element_of(step), content, count);
    tern_status status = tern_read_string(reader, &text, count);
    *content = text;
    return status;
}

static void read_and_rewrite(const uint8_t *row, size_t steps, const uint8_t *archive,
                             size_t bytes) {
    tern_reader reader;
    tern_writer writer;
    size_t at = 8, written = 0, content_bytes = 0;
    const void *content = NULL, *again = NULL;
    insist(tern_writer_open(&writer, NULL, 0, SIZE_MAX) == TERN_OK);
    tern_status status = tern_reader_open(&reader, archive, bytes);
    for (size_t i = 0; i < steps && status == TERN_OK; i++) {
        uint64_t wanted = 0;
        size_t count = 0, size = item_size(archive, bytes, at, row[i], &wanted);
        status = read_step(&reader, row[i], &content, &count);
        insist((status == TERN_OK) == (size != 0));
        if (status != TERN_OK)
            break;
        insist(content == archive + at + 8 && count == wanted);
        content_bytes = count * element_of(row[i]);
        insist(content_bytes <= size - 8);
        insist(tern_write_items(&writer, type_of(row[i]), element_of(row[i]), content, count) ==
               TERN_OK);
        at += size;
    }
    status = tern_reader_close(&reader);
    insist(status != TERN_OK || at == bytes);
    insist(tern_writer_finish(&writer, &again, &written) == TERN_OK);
    if (status == TERN_OK) /* the padding may differ, and nothing else: this reads the last item */
        insist(written == bytes &&
               (at == 8 || memcmp((const char *)again + ((const uint8_t *)content - archive),
                                  content, content_bytes) == 0));
    tern_writer_close(&writer);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t bytes) {
    if (bytes == 0)
        return 0;
    size_t steps = input[0] % 16;
    if (steps > bytes - 1)
        steps = bytes - 1;
    /* Alone in its memory. */
    size_t rest = bytes - 1 - steps;
    uint8_t *archive = malloc(rest + (rest == 0));
    memcpy(archive, input + 1 + steps, rest);
    read_and_rewrite(input + 1, steps, archive, rest);
    free(archive);
    return 0;
}

/* Archives of one to four items of every type and size. */
static void write_seed(const char *folder, unsigned number) {
    static const char zeros[4096];
    char name[4096];
    uint8_t row[5] = {(uint8_t)(1 + number % 4)};
    size_t bytes = 0;
    const void *archive = NULL;
    tern_writer writer;
    snprintf(name, sizeof name, "%s/%u", folder, number);
    FILE *file = fopen(name, "wb");
    insist(file != NULL && tern_writer_open(&writer, NULL, 0, SIZE_MAX) == TERN_OK);
    for (unsigned i = 0; i < row[0]; i++) {
        uint8_t step = row[1 + i] = (uint8_t)(number * 7 + i * 11);
        size_t most = sizeof zeros / element_of(step), count = number % 5;
        if (count > most)
            count = most;
        if (type_of(step) == TERN_ITEM_STRING)
            (void)tern_write_string(&writer, &"seed"[number % 5]);
        else
            (void)tern_write_items(&writer, type_of(step), element_of(step), zeros, count);
    }
    insist(tern_writer_finish(&writer, &archive, &bytes) == TERN_OK);
    fwrite(row, 1, 1u + row[0], file);
    fwrite(archive, 1, bytes, file);
    insist(fclose(file) == 0);
    tern_writer_close(&writer);
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc;
    (void)argv;
    const char *folder = getenv("TERN_FUZZ_SEEDS");
    if (folder == NULL)
        return 0;
    for (unsigned number = 0; number < 80; number++)
        write_seed(folder, number);
    exit(0);
}
