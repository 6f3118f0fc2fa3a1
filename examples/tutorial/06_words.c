/* All ranks count the words of their lines in one table. Run: mpirun -n 2 06_words */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <tern/tern.h>

static void check(tern_status status) {
    if (status == TERN_OK)
        return;
    fprintf(stderr, "words: %s\n", tern_error_detail());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

enum { WORD = 16 }; /* bytes of a key: keys of a table all have one size */

static const char *const lines[] = {"the sea and the sky", "the tern and the sea",
                                    "a bird above the sea", "the sky above a bird"};

static void count_words(tern_worker *worker, tern_hashtable *table, const char *text) {
    while (*text != '\0') {
        char word[WORD] = {0}; /* zeros behind the word belong to the key */
        size_t length = 0;
        for (; isalpha((unsigned char)*text); text++)
            if (length < WORD)
                word[length++] = *text;
        if (length > 0)
            check(tern_hashtable_add(worker, table, word, 1, TERN_WRITE_ONLY, NULL));
        if (*text != '\0')
            text++;
    }
}

static int print_word(const void *key, const void *value, void *argument) {
    (void)argument;
    printf("%.*s %u\n", WORD, (const char *)key, (unsigned)*(const uint64_t *)value);
    return 0; /* go on */
}

int main(int argc, char **argv) {
    tern_context *context;
    tern_worker *worker;
    tern_hashtable *table;
    tern_hashtable_options options = {.key_bytes = WORD, .counter = 1, .capacity = 16, .grow = 1};
    uint64_t words, sea;
    MPI_Init(&argc, &argv);
    check(tern_context_create(MPI_COMM_WORLD, NULL, &context));
    check(tern_worker_adopt(context, 0, &worker));
    check(tern_hashtable_create(worker, &options, &table));
    uint32_t rank = tern_context_rank(context), size = tern_context_size(context);

    for (uint32_t i = rank; i < 4; i += size)
        count_words(worker, table, lines[i]);
    check(tern_hashtable_size(worker, table, &words)); /* ends the phase of writes */

    check(tern_hashtable_find(worker, table, "sea\0\0\0\0\0\0\0\0\0\0\0\0", TERN_READ_ONLY, &sea));
    printf("rank %u: %u words, the sea %u times\n", rank, (unsigned)words, (unsigned)sea);
    if (rank == 0)
        check(tern_hashtable_for_each_anywhere(worker, table, print_word, NULL));

    check(tern_hashtable_destroy(worker, table));
    check(tern_context_destroy(context));
    return MPI_Finalize();
}
