#include "declared.h"

int notes, wrong_notes;

tern_status note_here(tern_call_info *call, bool flag, struct pair both, const char *text,
                      const uint16_t *numbers, size_t numbers_count, const float *three,
                      enum level how) {
    (void)call;
    notes++;
    wrong_notes += !flag || both.a != 1.5 || both.b != -2 || strcmp(text, "text") != 0;
    wrong_notes += numbers_count != 2 || numbers[0] != 3 || numbers[1] != 65535;
    wrong_notes += three[0] != 0.5F || three[2] != 2.5F || how != LOW;
    return TERN_OK;
}

tern_status keep_here(tern_call_info *call, tern_vector *large, tern_vector *small) {
    const struct pair *pairs = tern_vector_data(small);
    tern_vector mine;
    (void)call;
    tern_vector_move(large, &mine);
    const double *values = tern_vector_data(&mine);
    notes++;
    wrong_notes += mine.count != 2048 || values[2047] != 0.5;
    wrong_notes += small->count != 3 || pairs[2].b != 7;
    tern_vector_destroy(&mine);
    return TERN_OK;
}

tern_status call_from_c(tern_worker *worker, tern_worker_id target, tern_ptr factors,
                        const tern_vector *large, const tern_vector *small) {
    const struct pair both = {1.5, -2};
    const uint16_t numbers[] = {3, 65535};
    const float three[] = {0.5F, 1.5F, 2.5F};
    double got = 0;
    tern_status status = note(worker, target, true, both, "text", numbers, 2, three, LOW);
    if (status == TERN_OK)
        status = area(worker, target, both, factors, 2, 'x', &got);
    wrong_notes += status == TERN_OK && got != 1.5 * -2 * 3 * 5;
    if (status == TERN_OK)
        status = keep(worker, target, large, small);
    if (status == TERN_OK)
        status = total(worker, target, large, small, &got);
    wrong_notes += status == TERN_OK && got != 1024 + 7;
    return status;
}

tern_status archive_in_c(void *memory, size_t room, size_t *bytes) {
    const bool flag = true;
    const char letter = 'y';
    const long long number = -7;
    const enum level how = LOW;
    const struct pair both = {1.5, -2};
    const float three[] = {0.5F, 1.5F, 2.5F};
    const void *archive = NULL;
    tern_writer writer;
    (void)tern_writer_open(&writer, memory, room, room);
    (void)TERN_WRITE(&writer, &flag, 1);
    (void)TERN_WRITE(&writer, &letter, 1);
    (void)TERN_WRITE(&writer, &number, 1);
    (void)TERN_WRITE(&writer, &how, 1);
    (void)TERN_WRITE(&writer, &both, 1);
    (void)TERN_WRITE(&writer, three, 3);
    (void)tern_write_string(&writer, "text");
    return tern_writer_finish(&writer, &archive, bytes);
}
