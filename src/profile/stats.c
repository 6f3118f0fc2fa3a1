#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "src/profile/profile.h"

/*
 * The table of TERN_STATS. Each rank makes rows of its counts. Rank 0 merges the rows of all ranks
 * with the same name and part, and writes the least, the median and the largest number of a rank. A
 * rank without such a row counts as 0.
 */

enum { NAME_BYTES = 64, SHOWN = 12 };

/* The parts of the table, in their order. Waits are sorted by time, the parts from CALLED on by
 * their counts, and of these at most SHOWN rows are shown. */
typedef enum stats_part { OPERATIONS, WAITS, COUNTERS, CALLED, RAN, PEERS, PARTS } stats_part;

typedef struct stats_row {
    char name[NAME_BYTES];
    uint32_t part, order;
    uint32_t rank, pad;
    tern_tally tally;
} stats_row;

typedef struct stats_rows {
    stats_row *row;
    size_t count, room;
} stats_rows;

/* Makes room for so many more rows. False: no memory. */
static bool rows_reserve(stats_rows *rows, size_t more) {
    size_t room = rows->room == 0 ? 64 : rows->room;
    while (room - rows->count < more)
        room *= 2;
    stats_row *larger = room != rows->room ? realloc(rows->row, room * sizeof *larger) : rows->row;
    if (larger == NULL)
        return false;
    rows->row = larger;
    rows->room = room;
    return true;
}

static void tally_sum(tern_tally *to, const tern_tally *from) {
    to->number += from->number;
    to->bytes += from->bytes;
    to->ns += from->ns;
    to->waits += from->waits;
    to->waited += from->waited;
}

static bool tally_is_zero(const tern_tally *t) {
    return t->number == 0 && t->bytes == 0 && t->waits == 0;
}

/* Adds the numbers to the row of this name and part, or appends a row. False: no memory. */
static bool rows_add(stats_rows *rows, stats_part part, uint32_t order, const char *name,
                     uint32_t rank, const tern_tally *tally) {
    if (tally_is_zero(tally))
        return true;
    for (size_t i = rows->count; i-- > 0 && rows->row[i].part == part;) {
        if (rows->row[i].order == order && strncmp(rows->row[i].name, name, NAME_BYTES - 1) == 0) {
            tally_sum(&rows->row[i].tally, tally);
            return true;
        }
    }
    if (!rows_reserve(rows, 1))
        return false;
    stats_row *row = &rows->row[rows->count++];
    memset(row, 0, sizeof *row);
    snprintf(row->name, sizeof row->name, "%s", name);
    row->part = part;
    row->order = order;
    row->rank = rank;
    row->tally = *tally;
    return true;
}

static bool add_operations(const tern_context *context, stats_rows *rows) {
    bool fits = true;
    for (uint32_t kind = 0; kind < TERN_SPAN_KINDS; kind++)
        for (uint32_t w = 0; w < context->workers; w++)
            fits = fits && rows_add(rows, OPERATIONS, kind, tern_span_names[kind], context->rank,
                                    &context->worker[w]->profile->kind[kind]);
    return fits;
}

static bool add_waits(const tern_context *context, stats_rows *rows) {
    bool fits = true;
    for (uint32_t w = 0; w < context->workers; w++) {
        const tern_wait_tally *wait = context->worker[w]->profile->waits;
        for (size_t i = 0; i < TERN_PROFILE_WAITS && wait[i].name != NULL; i++) {
            const tern_tally tally = {.waits = wait[i].number, .waited = wait[i].ns};
            fits = fits && rows_add(rows, WAITS, 0, wait[i].name, context->rank, &tally);
        }
    }
    return fits;
}

/* Adds a row for each counter of tern_stats_get, under the name of its field. */
static bool add_counters(const tern_context *context, stats_rows *rows) {
    bool fits = true;
    uint32_t order = 0;
#define X(field, meaning)                                                                          \
    for (uint32_t w = 0; w < context->workers; w++) {                                              \
        const tern_tally tally = {.number = context->worker[w]->stats.field};                      \
        fits = fits && rows_add(rows, COUNTERS, order, #field, context->rank, &tally);             \
    }                                                                                              \
    order++;
    TERN_STATS_TABLE(X)
#undef X
    return fits;
}

static bool add_functions(const tern_context *context, stats_rows *rows, stats_part part) {
    const tern_profiling *profiling = context->profiling;
    bool fits = true;
    for (uint32_t f = 0; f < profiling->functions; f++) {
        for (uint32_t w = 0; w < context->workers; w++) {
            const tern_profile *p = context->worker[w]->profile;
            fits = fits && rows_add(rows, part, f, profiling->name[f], context->rank,
                                    part == RAN ? &p->ran[f] : &p->called[f]);
        }
    }
    return fits;
}

static int more_first(const void *a, const void *b) {
    const tern_tally *x = &((const stats_row *)a)->tally, *y = &((const stats_row *)b)->tally;
    const uint64_t by[] = {x->bytes, y->bytes, x->number, y->number, x->waited, y->waited};
    for (size_t i = 0; i < sizeof by / sizeof by[0]; i += 2)
        if (by[i] != by[i + 1])
            return by[i] < by[i + 1] ? 1 : -1;
    return 0;
}

/* Adds rows for the busiest peers of this rank; the table does not show others. */
static bool add_peers(const tern_context *context, stats_rows *rows) {
    const size_t first = rows->count;
    for (uint32_t r = 0; r < context->size; r++) {
        tern_tally tally = {0};
        char name[NAME_BYTES];
        for (uint32_t w = 0; w < context->workers; w++)
            tally_sum(&tally, &context->worker[w]->profile->peer[r]);
        snprintf(name, sizeof name, "rank %u to rank %u", context->rank, r);
        if (!rows_add(rows, PEERS, r, name, context->rank, &tally))
            return false;
    }
    const size_t count = rows->count - first;
    if (count > 0)
        qsort(rows->row + first, count, sizeof *rows->row, more_first);
    if (count > SHOWN)
        rows->count = first + SHOWN;
    return true;
}

static bool make_rows(const tern_context *context, stats_rows *rows) {
    return add_operations(context, rows) && add_waits(context, rows) &&
           add_counters(context, rows) && add_functions(context, rows, CALLED) &&
           add_functions(context, rows, RAN) && add_peers(context, rows);
}

/* Sorts rows so that those with the same name and part are together. */
static int same_together(const void *a, const void *b) {
    const stats_row *x = a, *y = b;
    if (x->part != y->part)
        return x->part < y->part ? -1 : 1;
    if (x->order != y->order && x->part != PEERS)
        return x->order < y->order ? -1 : 1;
    const int order = strcmp(x->name, y->name);
    if (order != 0)
        return order;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

typedef struct stats_line {
    const stats_row *row;
    size_t count;   /* how many ranks have such a row */
    tern_tally sum; /* over these ranks */
} stats_line;

static int larger_first(const void *a, const void *b) {
    const stats_line *x = a, *y = b;
    if (x->row->part != y->row->part)
        return x->row->part < y->row->part ? -1 : 1;
    if (x->row->part < WAITS || x->row->part == COUNTERS)
        return x->row < y->row ? -1 : 1;
    const stats_row one = {.tally = x->sum}, other = {.tally = y->sum};
    const int order = x->row->part == WAITS
                          ? (x->sum.waited < y->sum.waited) - (x->sum.waited > y->sum.waited)
                          : more_first(&one, &other);
    return order != 0 ? order : x->row < y->row ? -1 : 1;
}

static int by_size(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void format_number(uint64_t value, char *text, size_t room) {
    static const char suffix[] = " KMGTPE";
    int s = 0;
    double scaled = (double)value;
    while (scaled >= 9999.5 && s < 6) {
        scaled /= 1000;
        s++;
    }
    if (s == 0)
        snprintf(text, room, "%llu", (unsigned long long)value);
    else
        snprintf(text, room, "%.*f%c", scaled < 99.95 ? 1 : 0, scaled, suffix[s]);
}

static void format_time(uint64_t ns, char *text, size_t room) {
    static const char *const unit[] = {"ns", "us", "ms", "s"};
    int u = 0;
    double scaled = (double)ns;
    while (scaled >= 999.5 && u < 3) {
        scaled /= 1000;
        u++;
    }
    snprintf(text, room, "%.*f%s",
             u > 0 && scaled < 9.995   ? 2
             : u > 0 && scaled < 99.95 ? 1
                                       : 0,
             scaled, unit[u]);
}

/* value: the value of each rank; is sorted here. */
static void print_cell(FILE *out, uint64_t *value, uint32_t ranks, bool is_time) {
    char low[16], middle[16], high[16], cell[52] = "-";
    void (*const format)(uint64_t, char *, size_t) = is_time ? format_time : format_number;
    qsort(value, ranks, sizeof *value, by_size);
    format(value[0], low, sizeof low);
    format(value[(ranks - 1) / 2], middle, sizeof middle);
    format(value[ranks - 1], high, sizeof high);
    if (value[0] != value[ranks - 1])
        snprintf(cell, sizeof cell, "%s/%s/%s", low, middle, high);
    else if (value[0] != 0)
        snprintf(cell, sizeof cell, "%s", low);
    fprintf(out, " %20s", cell);
}

static const size_t columns[] = {offsetof(tern_tally, number), offsetof(tern_tally, bytes),
                                 offsetof(tern_tally, ns), offsetof(tern_tally, waits),
                                 offsetof(tern_tally, waited)};

/* In a line about a pair of ranks a cell has only one number, that of the first rank. */
static void print_line(FILE *out, const stats_line *line, uint32_t ranks, uint64_t *value) {
    fprintf(out, "%-40.40s", line->row->name);
    const bool is_pair = line->row->part == PEERS;
    for (size_t c = 0; c < sizeof columns / sizeof columns[0]; c++) {
        const bool is_time =
            columns[c] == offsetof(tern_tally, ns) || columns[c] == offsetof(tern_tally, waited);
        memset(value, 0, ranks * sizeof *value);
        for (size_t i = 0; i < line->count; i++)
            memcpy(&value[is_pair ? 0 : i], (const char *)&line->row[i].tally + columns[c],
                   sizeof *value);
        print_cell(out, value, is_pair ? 1 : ranks, is_time);
        if (line->row->part == COUNTERS)
            break;
    }
    fputc('\n', out);
}

static void print_heading(FILE *out, stats_part part) {
    static const char *const title[PARTS] = {
        "operations",       "waits in",           "counters (tern_stats_get)",
        "functions called", "functions executed", "busiest pairs"};
    fprintf(out, "\n%-40s", title[part]);
    if (part == COUNTERS)
        fprintf(out, " %20s\n", "number");
    else
        fprintf(out, " %20s %20s %20s %20s %20s\n", "number", "bytes", "time", "waits",
                "time waited");
}

static void print_lines(FILE *out, const stats_line *line, size_t lines, uint32_t ranks,
                        uint64_t *value) {
    size_t shown = 0;
    for (size_t i = 0; i < lines; i++) {
        const stats_part part = line[i].row->part;
        if (i == 0 || part != line[i - 1].row->part) {
            print_heading(out, part);
            shown = 0;
        }
        if (part < CALLED || shown++ < SHOWN)
            print_line(out, &line[i], ranks, value);
    }
}

static tern_status print_table(const tern_context *context, stats_row *row, size_t rows) {
    char *text = NULL;
    size_t bytes = 0, lines = 0;
    stats_line *line = calloc(rows + 1, sizeof *line);
    uint64_t *value = calloc(context->size, sizeof *value);
    FILE *out = open_memstream(&text, &bytes);
    if (line == NULL || value == NULL || out == NULL)
        goto fail;
    if (rows > 0)
        qsort(row, rows, sizeof *row, same_together);
    for (size_t i = 0; i < rows; i++) {
        if (i == 0 || row[i].part != row[i - 1].part || strcmp(row[i].name, row[i - 1].name) != 0)
            line[lines++].row = &row[i];
        line[lines - 1].count++;
        tally_sum(&line[lines - 1].sum, &row[i].tally);
    }
    if (lines > 0)
        qsort(line, lines, sizeof *line, larger_first);
    char lasted[16];
    format_time(tern_now() - context->profiling->began, lasted, sizeof lasted);
    fprintf(out,
            "tern: statistics of %u ranks over %s; a cell is least/median/most of a rank, or "
            "one number if all ranks have the same\n",
            context->size, lasted);
    print_lines(out, line, lines, context->size, value);
    const bool printed = fclose(out) == 0;
    /* One write, so that lines of other ranks do not come in between. There is no way to report a
     * failure. */
    ssize_t written = printed ? write(STDERR_FILENO, text, bytes) : 0;
    (void)written;
    free(text);
    free(line);
    free(value);
    return printed ? TERN_OK : tern_fail(TERN_ERR_MEMORY, "no memory for the table");
fail:
    if (out != NULL)
        fclose(out);
    free(text);
    free(line);
    free(value);
    return tern_fail(TERN_ERR_MEMORY, "no memory for %zu rows of statistics", rows);
}

typedef struct stats_gathering {
    stats_rows mine, all;
    size_t given;
    bool lacks_memory;
} stats_gathering;

static void stats_give(void *argument, void *records, size_t count) {
    stats_gathering *g = argument;
    memcpy(records, g->mine.row + g->given, count * sizeof *g->mine.row);
    g->given += count;
}

static void stats_take(void *argument, uint32_t rank, const void *records, size_t count) {
    (void)rank;
    stats_gathering *g = argument;
    g->lacks_memory = g->lacks_memory || !rows_reserve(&g->all, count);
    if (g->lacks_memory)
        return;
    memcpy(g->all.row + g->all.count, records, count * sizeof *g->all.row);
    g->all.count += count;
}

tern_status tern_profile_table(tern_context *context) {
    stats_gathering g = {.given = 0};
    if (!make_rows(context, &g.mine))
        g.mine.count = 0; /* without this rank's rows, so that those of others are shown */
    const tern_gathering gathering = {sizeof(stats_row), stats_give, stats_take, &g};
    tern_status status = tern_profile_gather(context, &gathering, g.mine.count);
    if (status == TERN_OK && g.lacks_memory)
        status = tern_fail(TERN_ERR_MEMORY, "no memory for the rows of %u ranks", context->size);
    if (status == TERN_OK && context->rank == 0)
        status = print_table(context, g.all.row, g.all.count);
    free(g.all.row);
    free(g.mine.row);
    return status;
}
