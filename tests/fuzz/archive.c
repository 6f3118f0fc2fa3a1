/*
 * The reader of archives under libFuzzer. An input is a row of things to read, the lengths of
 * chunks, and an archive; what the reader says is compared with a decoder of a few lines that is
 * too simple to be wrong, and AddressSanitizer sees each byte past the end. What the reader takes
 * is written again, shared and not, and has to come out the same. The archive is read as a tree of
 * values too, whose functions call each other. TERN_FUZZ_SEEDS=FOLDER: writes inputs to begin with
 * and ends.
 */

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "rpc/archive/archive.h"
#include "rpc/archive/buffer.h"
#include "tern/archive.h"
#include "tests/fuzz/fuzzer.h"

enum { STEPS = 15, CHUNKS = 3 };

/* In place of base/status.c, and of what knows segments and needs MPI. */
tern_status tern_fail(tern_status status, const char *format, ...) {
    char detail[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(detail, sizeof detail, format, arguments);
    va_end(arguments);
    return status;
}
tern_ptr tern_gaddr_of(const struct tern_worker *worker, const void *memory, size_t bytes) {
    (void)worker;
    (void)memory;
    (void)bytes;
    return TERN_NULL;
}
size_t tern_zero_copy_min(const struct tern_worker *worker) {
    (void)worker;
    return 1;
}
tern_status tern_buffer_create_in_segment(struct tern_worker *worker, size_t bytes,
                                          tern_buffer **buffer) {
    (void)worker;
    return tern_buffer_create(NULL, bytes, buffer);
}

/* A step of the row: type in the low bits, then the size of an element, or the length of a name. */
static const size_t elements[8] = {1, 2, 4, 8, 3, 24, 1000, TERN_ITEM_ELEMENT_MAX};
static const char name[] = "a name of many letters, of which a group takes the first ones";

static tern_item_type type_of(uint8_t step) { return (tern_item_type)(1 + step % 7); }
static size_t element_of(uint8_t step) {
    switch ((unsigned)type_of(step)) {
    case TERN_ITEM_STRING:
        return 1;
    case TERN_ITEM_BEGIN:
        return step / 7 % 8;
    case TERN_ITEM_END:
        return 0;
    default:
        return elements[step / 7 % 8];
    }
}

static void insist(bool right) {
    if (!right)
        abort();
}

/* An input taken apart; archive and chunks each alone in their memory. */
typedef struct parcel {
    uint8_t row[STEPS];
    size_t steps;
    uint8_t *archive;
    size_t bytes;
    tern_chunk chunks[CHUNKS];
    size_t count;
} parcel;

/* What the decoder of a few lines knows. */
typedef struct place {
    size_t at, chunk, groups;
} place;

static uint64_t number_at(const uint8_t *bytes, size_t count) {
    uint64_t number = 0;
    for (size_t i = 0; i < count; i++)
        number |= (uint64_t)bytes[i] << 8 * i;
    return number;
}

/* The item that p is at, as step wants it: where its content is, how many elements; and p behind
 * it. NULL: it is not there. */
static const uint8_t *decode(const parcel *input, place *p, uint8_t step, uint64_t *count) {
    const uint8_t *item = input->archive + p->at;
    size_t left = input->bytes - p->at, type = type_of(step), element = element_of(step);
    if (left < 8 || item[0] % 16 != type || number_at(item + 1, 2) != element || item[0] / 16 > 1)
        return NULL;
    *count = number_at(item + 3, 5);
    uint64_t content = *count * element, size = 8 + (content + 7) / 8 * 8;
    const uint8_t *found = item + 8;
    if (type == TERN_ITEM_BEGIN) {
        size = 16 + (element + 7) / 8 * 8;
        if (item[0] / 16 != 0 || size > left || memcmp(item + 16, name, element) != 0 ||
            p->groups == TERN_GROUPS_MAX || number_at(item + 8, 8) > left - size ||
            *count + 1 > number_at(item + 8, 8) / 8)
            return NULL;
        p->groups++;
    } else if (type == TERN_ITEM_END) {
        if (item[0] / 16 != 0 || *count != 0 || p->groups == 0)
            return NULL;
        p->groups--;
    } else if (item[0] / 16 == 1) {
        if (p->chunk == input->count || input->chunks[p->chunk].bytes != content)
            return NULL;
        found = content > 0 ? input->chunks[p->chunk].memory : item;
        p->chunk++;
        size = 8;
    } else if (size > left) {
        return NULL;
    }
    if (type == TERN_ITEM_STRING && (content == 0 || found[content - 1] != 0))
        return NULL;
    p->at += (size_t)size;
    return found;
}

static tern_status read_step(tern_reader *reader, uint8_t step, const void **content,
                             uint64_t *count) {
    const char *text = NULL;
    char group[8] = "";
    size_t items = 0;
    tern_status status = TERN_OK;
    memcpy(group, name, element_of(step) % 8);
    switch ((unsigned)type_of(step)) {
    case TERN_ITEM_STRING:
        status = tern_read_string(reader, &text, &items);
        *content = text;
        break;
    case TERN_ITEM_BEGIN:
        return tern_read_begin(reader, group, count);
    case TERN_ITEM_END:
        *count = 0;
        return tern_read_end(reader);
    default:
        status = tern_read_array(reader, type_of(step), element_of(step), content, &items);
    }
    *count = items;
    return status;
}

static void write_step(tern_writer *writer, uint8_t step, const void *content, uint64_t count) {
    char group[8] = "";
    memcpy(group, name, element_of(step) % 8);
    if (type_of(step) == TERN_ITEM_BEGIN)
        (void)tern_write_begin(writer, group, 0); /* its count may be more than is read of it */
    else if (type_of(step) == TERN_ITEM_END)
        (void)tern_write_end(writer);
    else
        (void)tern_write_items(writer, type_of(step), element_of(step), content, (size_t)count);
}

/* As much as the row takes, which both decoders agree on. [out] status of the end. */
static size_t read_row(const parcel *input, tern_writer *writers, tern_status *end) {
    tern_reader reader;
    place p = {8, 0, 0};
    size_t taken = 0;
    tern_status status = tern_reader_open(&reader, input->archive, input->bytes);
    if (status == TERN_OK)
        insist(tern_reader_chunks(&reader, input->chunks, input->count) == TERN_OK);
    while (taken < input->steps && status == TERN_OK) {
        uint8_t step = input->row[taken];
        uint64_t count = 0, wanted = 0;
        const void *content = NULL;
        const uint8_t *found = decode(input, &p, step, &wanted);
        status = read_step(&reader, step, &content, &count);
        insist((status == TERN_OK) == (found != NULL));
        if (status != TERN_OK)
            break;
        insist(count == wanted);
        if (count * element_of(step) > 0 && content != NULL)
            insist(content == found);
        for (size_t i = 0; i < 2; i++)
            write_step(&writers[i], step, content != NULL ? content : "", count);
        taken++;
    }
    *end = tern_reader_close(&reader);
    insist(*end != TERN_OK || (p.at == input->bytes && p.chunk == input->count));
    return taken;
}

/* Items that were shared or gathered equal those that were copied. */
static void compare(const tern_writer *writers) {
    const void *copied = NULL;
    size_t bytes = 0, gathered_bytes = 0;
    if (tern_writer_finish(&writers[0], &copied, &bytes) != TERN_OK)
        return;
    uint8_t *gathered = malloc(bytes);
    insist(tern_writer_gather(&writers[1], gathered, bytes, &gathered_bytes) == TERN_OK);
    insist(gathered_bytes == bytes && memcmp(gathered, copied, bytes) == 0);
    free(gathered);
}

static void rows(const parcel *input) {
    tern_writer writers[2];
    tern_status end = TERN_OK;
    for (size_t i = 0; i < 2; i++)
        insist(tern_writer_open(&writers[i], NULL, 0, SIZE_MAX) == TERN_OK);
    insist(tern_writer_share(&writers[1], NULL, 16) == TERN_OK);
    (void)read_row(input, writers, &end);
    compare(writers);
    for (size_t i = 0; i < 2; i++)
        tern_writer_close(&writers[i]);
}

/* A type that has values of its own type, and some that are copied bit by bit. */
static tern_status write_node(tern_writer *writer, const void *value) {
    return tern_write_string(writer, value);
}
static tern_status read_node(tern_reader *reader, void *value);
static const tern_type node = {"node", 16, write_node, read_node};
static const tern_type point = {"point", 24, NULL, NULL};

typedef struct bag {
    uint8_t values[24];
    uint64_t left;
} bag;

static void *add(void *user, uint64_t left) {
    bag *b = user;
    insist(b->left == 0 || left > 0);
    b->left = left;
    return b->values;
}

static tern_status read_node(tern_reader *reader, void *value) {
    const char *text = NULL;
    size_t bytes = 0;
    bag b = {{0}, 0};
    memset(value, 0, 16);
    if (tern_read_string(reader, &text, &bytes) == TERN_OK)
        insist(strlen(text) < bytes);
    (void)tern_read_list(reader, &point, add, &b);
    return tern_read_list(reader, &node, add, &b);
}

static void values(const parcel *input) {
    tern_reader reader;
    bag b = {{0}, 0};
    tern_buffer *buffer = NULL;
    (void)tern_reader_open(&reader, input->archive, input->bytes);
    (void)tern_reader_chunks(&reader, input->chunks, input->count);
    tern_reader again = reader;
    if (tern_read_list(&reader, &node, add, &b) != TERN_OK)
        insist(tern_reader_close(&reader) != TERN_OK);
    if (tern_read_buffer(&again, NULL, &buffer) == TERN_OK)
        tern_buffer_drop(buffer);
}

/* 15 steps at most and 3 chunks, of up to 255 bytes, which are taken from the end of the input. */
int LLVMFuzzerTestOneInput(const uint8_t *input, size_t bytes) {
    parcel p = {.steps = 0};
    size_t at = 1;
    if (bytes < 1)
        return 0;
    p.steps = input[0] % (STEPS + 1u);
    size_t wanted = input[0] / 16 % (CHUNKS + 1u);
    if (p.steps + wanted > bytes - 1)
        return 0;
    memcpy(p.row, input + at, p.steps);
    at += p.steps;
    const uint8_t *lengths = input + at;
    for (at += wanted; p.count < wanted; p.count++) {
        size_t length = lengths[p.count];
        if (length > bytes - at)
            break;
        bytes -= length;
        uint8_t *memory = malloc(length + (length == 0));
        memcpy(memory, input + bytes, length);
        p.chunks[p.count] = (tern_chunk){.memory = memory, .bytes = length};
    }
    p.bytes = bytes - at;
    p.archive = malloc(p.bytes + (p.bytes == 0));
    memcpy(p.archive, input + at, p.bytes);
    rows(&p);
    values(&p);
    free(p.archive);
    for (size_t i = 0; i < p.count; i++)
        free((void *)(uintptr_t)p.chunks[i].memory);
    return 0;
}

/* Content up to most bytes for a step. */
static void seed_step(tern_writer *writer, uint8_t step, unsigned number) {
    static const char zeros[4096];
    size_t element = element_of(step), most = element > 0 ? sizeof zeros / element : 0;
    size_t count = number * 7 % 41;
    if (type_of(step) == TERN_ITEM_STRING)
        (void)tern_write_string(writer, &"seed"[number % 5]);
    else
        write_step(writer, step, zeros, count < most ? count : most);
}

static void save(const char *folder, unsigned number, const uint8_t *row, size_t steps,
                 const tern_writer *writer) {
    char path[4096];
    size_t count = 0, bytes = 0;
    const void *archive = NULL;
    const tern_chunk *chunks = tern_writer_chunks(writer, &count);
    snprintf(path, sizeof path, "%s/%u", folder, number);
    if (tern_writer_finish(writer, &archive, &bytes) != TERN_OK || count > CHUNKS)
        return;
    FILE *file = fopen(path, "wb");
    insist(file != NULL);
    fputc((int)(steps + 16 * count), file);
    fwrite(row, 1, steps, file);
    for (size_t i = 0; i < count; i++)
        fputc((int)chunks[i].bytes, file);
    fwrite(archive, 1, bytes, file);
    for (size_t i = count; i > 0; i--)
        fwrite(chunks[i - 1].memory, 1, chunks[i - 1].bytes, file);
    insist(fclose(file) == 0);
}

/* Archives of one to four items of every type and size, inside a group now and then, shared now and
 * then; then one of values. */
static void write_seeds(const char *folder) {
    tern_writer writer;
    insist(tern_writer_open(&writer, NULL, 0, SIZE_MAX) == TERN_OK);
    for (unsigned number = 0; number < 120; number++) {
        uint8_t row[8];
        size_t steps = 0;
        bool grouped = number % 3 == 0;
        (void)tern_writer_reset(&writer);
        (void)tern_writer_share(&writer, NULL, number % 2 ? 16 : SIZE_MAX);
        if (grouped)
            row[steps++] = (uint8_t)(TERN_ITEM_BEGIN - 1 + 7 * (number % 8));
        for (unsigned i = 0; i <= number % 4; i++) {
            uint8_t step = (uint8_t)(number * 5 + i * 11);
            if (type_of(step) < TERN_ITEM_BEGIN)
                row[steps++] = step;
        }
        if (grouped)
            row[steps++] = TERN_ITEM_END - 1;
        for (size_t i = 0; i < steps; i++)
            seed_step(&writer, row[i], number);
        save(folder, number, row, steps, &writer);
    }
    (void)tern_writer_reset(&writer);
    (void)tern_write_begin(&writer, "node", 1);
    (void)tern_write_string(&writer, "value");
    (void)tern_write_values(&writer, &point, name, 2);
    (void)tern_write_values(&writer, &node, NULL, 0);
    (void)tern_write_end(&writer);
    save(folder, 120, (const uint8_t *)"", 0, &writer);
    tern_writer_close(&writer);
}
