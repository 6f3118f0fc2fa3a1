/*
 * The reader of files of tables and maps under libFuzzer. An input is a byte and a file: the byte
 * says whether the checksums are put right first, which no fuzzer would guess. Whatever the file
 * says, each record of a section that was taken lies in it (AddressSanitizer looks), and the sizes
 * are those of a table or a map. TERN_FUZZ_SEEDS=FOLDER: writes inputs to begin with and ends.
 */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hashtable/file/format.h"
#include "tests/fuzz/fuzzer.h"

enum { SEAL_HEADER = 1, SEAL_SECTIONS = 2 };

static char detail[512];

/* In place of base/status.c. */
tern_status tern_fail(tern_status status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(detail, sizeof detail, format, arguments);
    va_end(arguments);
    return status;
}

static void refused(tern_status status) {
    require(status == TERN_ERR_ARGUMENT || status == TERN_ERR_UNSUPPORTED);
    require(strstr(detail, "'a file'") != NULL);
}

static void read_section(const tern_file_header *h, uint64_t number, const char *from, int seal) {
    size_t bytes = tern_file_section(h);
    char *section = malloc(bytes);
    uint64_t records;
    require(section != NULL);
    memcpy(section, from, bytes);
    if (seal) {
        memcpy(&records, section + 8, sizeof records);
        if (records <= h->section_records)
            tern_file_section_seal(h, number, section, records);
    }
    tern_status status = tern_file_section_check("a file", h, number, section, &records);
    unsigned sum = 0;
    if (status != TERN_OK)
        refused(status);
    else
        for (uint64_t i = 0; i < records * tern_file_record(h); i++)
            sum += (unsigned char)section[TERN_FILE_SECTION_HEAD + i];
    require(sum <= 255 * bytes);
    free(section);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t bytes) {
    if (bytes == 0)
        return 0;
    const char *file = (const char *)input + 1;
    size_t length = bytes - 1;
    tern_file_header h;
    memset(&h, 0, sizeof h);
    size_t got = length < sizeof h ? length : sizeof h;
    memcpy(&h, file, got);
    if ((input[0] & SEAL_HEADER) && got == sizeof h)
        tern_file_header_seal(&h);
    tern_status status = tern_file_header_check("a file", &h, got, length);
    if (status != TERN_OK) {
        refused(status);
        return 0;
    }
    require(tern_file_offset(&h, h.sections) == length);
    require(h.kind == TERN_FILE_MAP ||
            (h.key_bytes >= 1 && h.key_bytes <= 1024 && h.value_bytes <= 65536));
    require(h.note_bytes <= TERN_NOTE_MAX);
    require(h.sections == 0 || tern_file_section(&h) <= TERN_FILE_SECTION);
    for (uint64_t b = 0; b < h.sections; b++)
        read_section(&h, b, file + tern_file_offset(&h, b), input[0] & SEAL_SECTIONS);
    return 0;
}

/* Files of no, one and two sections, of a table, of counters and of a map, checksums to be put
 * right.
 */
static void write_seeds(const char *folder) {
    for (unsigned i = 0; i < 3; i++) {
        char path[600], sections[2 * 64] = {0};
        tern_file_header h = {.kind = i, .key_bytes = 8, .value_bytes = i == 1 ? 0 : 8};
        h.note_bytes = i * TERN_NOTE_MAX / 2;
        h.section_records = i == 2 ? 6 : 3;
        h.sections = i;
        h.count = 2 * i;
        tern_file_header_seal(&h);
        require(tern_file_section(&h) == 64);
        for (uint64_t b = 0; b < i; b++)
            tern_file_section_seal(&h, b, sections + 64 * b, 2);
        snprintf(path, sizeof path, "%s/table%u", folder, i);
        FILE *seed = fopen(path, "wb");
        require(seed != NULL && fputc(SEAL_HEADER | SEAL_SECTIONS, seed) != EOF);
        require(fwrite(&h, sizeof h, 1, seed) == 1 && fwrite(sections, 1, 64 * i, seed) == 64 * i);
        require(fclose(seed) == 0);
    }
}
