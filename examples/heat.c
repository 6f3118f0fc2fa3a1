/*
 * Heat flowing through a plate: a grid of rows x columns, cut into bands of rows, one for each
 * rank. A cell's next value needs its four neighbours, so before each step a rank needs the last
 * row of the band above and the first row of the band below, its halo. Run: mpirun -n 4 heat
 * --steps 1000
 *
 * Each rank puts its outer rows straight into its neighbours' halo rows with tern_put_notify, works
 * on the inner rows while they travel, and then waits for the two events that say that its own halo
 * has come. There is no barrier: a rank waits for its neighbours and for nobody else.
 */
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tern/tern.h>

static const char help[] =
    "usage: heat [options]\n"
    "\n"
    "Lets heat flow through a plate, its rows shared out to the ranks of an\n"
    "MPI job, and prints a checksum of the grid: the same on any number of\n"
    "ranks.\n"
    "\n"
    "  --rows N       rows of the grid, at least one a rank (default 512)\n"
    "  --columns N    columns of the grid (default 512)\n"
    "  --steps N      steps of time (default 500)\n"
    "  --output FILE  write the grid: its rows, as doubles of this machine\n"
    "  --help\n"
    "\n"
    "Exit status: 0 done, 1 failed, 2 bad usage.\n";

enum { ABOVE, BELOW, SIDES };

/* A band: rows 1 to `rows` are this rank's, rows 0 and rows + 1 are halo. There are two of them,
 * one for the state of even steps and one for that of odd steps. */
typedef struct {
    tern_worker *worker;
    uint32_t rank, size;
    size_t first, rows; /* of the whole grid: those of this band */
    size_t all_rows, columns;
    tern_ptr place[2]; /* where the band lies in this rank's segment */
    double *grid[2];   /* the same for load and store */
    bool has[SIDES];   /* whether there is a neighbour */
    tern_worker_id neighbour[SIDES];
    tern_ptr halo[SIDES][2]; /* its halo row that this rank fills */
    int due[2];              /* events that even and odd steps still wait for */
} band;

typedef struct {
    size_t rows, columns, steps;
    const char *output;
} options;

static void check(tern_status status) {
    if (status == TERN_OK)
        return;
    fprintf(stderr, "heat: %s\n", tern_error_detail());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static size_t row_bytes(const band *b) { return b->columns * sizeof(double); }

static double *row_of(const band *b, int which, size_t row) {
    return b->grid[which] + row * b->columns;
}

/* The start: a cold plate with a hot upper edge and a warm block. Edges keep what they have. */
static double initial(const band *b, size_t row, size_t column) {
    if (row == 0)
        return 100;
    bool warm = row > b->all_rows / 2 && row < b->all_rows * 3 / 4 && column > b->columns / 4 &&
                column < b->columns / 2;
    return warm ? 50 : 0;
}

/* Memory for both states, with room for the halo, in the segment: others put into it. */
static void make_band(band *b) {
    for (int which = 0; which < 2; which++) {
        check(tern_alloc(b->worker, (b->rows + 2) * row_bytes(b), 0, TERN_DOMAIN_GLOBAL,
                         &b->place[which]));
        b->grid[which] = tern_local(tern_worker_context(b->worker), b->place[which]);
        for (size_t r = 1; r <= b->rows; r++)
            for (size_t c = 0; c < b->columns; c++)
                row_of(b, which, r)[c] = initial(b, b->first + r - 1, c);
    }
}

/* Neighbours tell each other where their halo rows lie. The pointers are the completion id of a
 * notification that moves no data. */
static void meet_neighbours(band *b) {
    b->has[ABOVE] = b->rank > 0;
    b->has[BELOW] = b->rank + 1 < b->size;
    b->neighbour[ABOVE] = (tern_worker_id){b->rank - 1, 0};
    b->neighbour[BELOW] = (tern_worker_id){b->rank + 1, 0};
    for (int side = 0; side < SIDES; side++) {
        size_t row = side == ABOVE ? 0 : b->rows + 1;
        tern_ptr mine[2];
        for (int which = 0; which < 2; which++)
            mine[which] = tern_ptr_add(b->place[which], (int64_t)(row * row_bytes(b)));
        if (b->has[side])
            check(tern_put_notify(b->worker, b->neighbour[side], TERN_NULL, NULL, 0, 0, mine,
                                  sizeof mine, TERN_NOTIFY_NO_LOCAL));
    }
    for (int missing = b->has[ABOVE] + b->has[BELOW]; missing > 0; missing--) {
        tern_event event;
        check(tern_event_wait(b->worker, TERN_PROBE_REMOTE, &event));
        int side = event.peer.rank < b->rank ? ABOVE : BELOW;
        memcpy(b->halo[side], event.cid, sizeof b->halo[side]);
    }
}

/* Puts this rank's outer rows into its neighbours' halo. Two events are due for each: the row that
 * comes the other way, and that the own one may be overwritten. Both carry the step's number. */
static void send_outer_rows(band *b, size_t step) {
    int now = (int)(step % 2);
    for (int side = 0; side < SIDES; side++) {
        const double *row = row_of(b, now, side == ABOVE ? 1 : b->rows);
        if (!b->has[side])
            continue;
        b->due[now] += 2;
        check(tern_put_notify(b->worker, b->neighbour[side], b->halo[side][now], row, row_bytes(b),
                              step, &step, sizeof step, 0));
    }
}

/* A neighbour may be one step ahead, never two: for that it needs this rank's rows of the next. So
 * its next row never comes into a halo that is still being read, and two counts are enough. */
static void wait_for_halo(band *b, size_t step) {
    while (b->due[step % 2] > 0) {
        tern_event event;
        size_t of = 0;
        check(tern_event_wait(b->worker, TERN_PROBE_ANY, &event));
        check(event.kind == TERN_EVENT_LOCAL ? event.status : TERN_OK);
        if (event.kind == TERN_EVENT_LOCAL)
            of = (size_t)event.local_cid;
        else
            memcpy(&of, event.cid, sizeof of);
        b->due[of % 2]--;
    }
}

/* Row `row` of the next state. The same sum for a cell on whatever rank it lies. */
static void compute_row(const band *b, size_t step, size_t row) {
    int now = (int)(step % 2);
    size_t whole = b->first + row - 1;
    if (whole == 0 || whole + 1 == b->all_rows)
        return; /* an edge */
    const double *above = row_of(b, now, row - 1), *at = row_of(b, now, row),
                 *below = row_of(b, now, row + 1);
    double *to = row_of(b, 1 - now, row);
    for (size_t c = 1; c + 1 < b->columns; c++)
        to[c] = at[c] + 0.2 * ((above[c] + below[c]) + (at[c - 1] + at[c + 1]) - 4 * at[c]);
}

static void run(band *b, size_t steps) {
    for (size_t step = 0; step < steps; step++) {
        send_outer_rows(b, step);
        for (size_t row = 2; row < b->rows; row++) {
            compute_row(b, step, row);
            if (row % 32 == 0)
                tern_progress(b->worker); /* what travels through MPI needs it */
        }
        wait_for_halo(b, step);
        compute_row(b, step, 1);
        if (b->rows > 1)
            compute_row(b, step, b->rows);
    }
}

/* A sum over all cells of their bits and their place: equal sums, equal grids. */
static uint64_t checksum(const band *b, int which) {
    uint64_t sum = 0;
    for (size_t r = 1; r <= b->rows; r++) {
        for (size_t c = 0; c < b->columns; c++) {
            uint64_t bits, place = (b->first + r - 1) * b->columns + c;
            memcpy(&bits, &row_of(b, which, r)[c], sizeof bits);
            bits = (bits ^ place * 0x9e3779b97f4a7c15u) * 0xff51afd7ed558ccdu;
            sum += bits ^ bits >> 32;
        }
    }
    check(tern_notify_allreduce(b->worker, TERN_UINT64, TERN_REDUCE_SUM, &sum, 1));
    return sum;
}

static size_t first_row(size_t rows, uint32_t rank, uint32_t size) { return rows * rank / size; }

/* Rank 0 gets all bands, row by row, and writes them. Whether it could. */
static bool write_grid(const band *b, int which, const char *path) {
    FILE *file = b->rank == 0 ? fopen(path, "wb") : NULL;
    double *row = malloc(row_bytes(b));
    bool good = row != NULL && (b->rank != 0 || file != NULL);
    for (uint32_t r = 0; r < b->size; r++) {
        tern_ptr band_of = b->place[which];
        check(tern_notify_broadcast(b->worker, r, &band_of, sizeof band_of));
        size_t rows = first_row(b->all_rows, r + 1, b->size) - first_row(b->all_rows, r, b->size);
        for (size_t i = 1; b->rank == 0 && good && i <= rows; i++) {
            tern_ptr from = tern_ptr_add(band_of, (int64_t)(i * row_bytes(b)));
            check(tern_get(b->worker, row, from, row_bytes(b)));
            good = fwrite(row, row_bytes(b), 1, file) == 1;
        }
    }
    free(row);
    if (file != NULL && fclose(file) != 0)
        good = false;
    if (!good)
        fprintf(stderr, "heat: cannot write %s\n", path);
    check(tern_barrier(b->worker)); /* nobody leaves while rank 0 reads */
    return good;
}

static bool simulate(const options *o) {
    tern_context *context;
    tern_config config;
    band b = {.all_rows = o->rows, .columns = o->columns};
    int ranks;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    check(tern_config_init(&config));
    size_t needed = 2 * (o->rows / (size_t)ranks + 4) * row_bytes(&b) + ((size_t)4 << 20);
    if (config.segment_size < needed)
        config.segment_size = needed >> 21 << 21;
    check(tern_context_create(MPI_COMM_WORLD, &config, &context));
    check(tern_worker_adopt(context, 0, &b.worker));
    b.rank = tern_context_rank(context);
    b.size = tern_context_size(context);
    b.first = first_row(o->rows, b.rank, b.size);
    b.rows = first_row(o->rows, b.rank + 1, b.size) - b.first;
    make_band(&b);
    meet_neighbours(&b);

    check(tern_notify_barrier(b.worker));
    double start = MPI_Wtime();
    run(&b, o->steps);
    check(tern_notify_barrier(b.worker));
    double seconds = MPI_Wtime() - start;

    int which = (int)(o->steps % 2);
    uint64_t sum = checksum(&b, which);
    if (b.rank == 0)
        printf("%zu x %zu cells, %zu steps, %u ranks: checksum %016llx, %.3f s\n", o->rows,
               o->columns, o->steps, b.size, (unsigned long long)sum, seconds);
    bool good = o->output == NULL || write_grid(&b, which, o->output);
    check(tern_context_destroy(context));
    return good;
}

/* Whether text is a number from least on, small enough for a product of two of them. */
static bool parse(const char *text, size_t least, size_t *value) {
    char *end;
    if (*text < '0' || *text > '9')
        return false;
    *value = strtoull(text, &end, 10);
    return *end == 0 && *value >= least && *value <= 1 << 28;
}

/* The exit status if there is nothing to simulate, else -1. */
static int read_options(int argc, char **argv, bool speaks, options *o) {
    static const struct option table[] = {
        {"rows", required_argument, NULL, 'r'},  {"columns", required_argument, NULL, 'c'},
        {"steps", required_argument, NULL, 's'}, {"output", required_argument, NULL, 'o'},
        {"help", no_argument, NULL, 'h'},        {NULL, 0, NULL, 0},
    };
    int option, ranks;
    bool good = true;
    opterr = speaks;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    while (good && (option = getopt_long(argc, argv, "", table, NULL)) != -1) {
        if (option == 'h') {
            if (speaks)
                fputs(help, stdout);
            return 0;
        }
        good = option == 'r'   ? parse(optarg, 1, &o->rows)
               : option == 'c' ? parse(optarg, 1, &o->columns)
               : option == 's' ? parse(optarg, 0, &o->steps)
                               : option == 'o';
        if (option == 'o')
            o->output = optarg;
    }
    if (good && optind == argc && o->rows >= (size_t)ranks)
        return -1;
    if (speaks)
        fprintf(stderr,
                "heat: a bad option or number, or fewer rows than ranks; --help says more\n");
    return 2;
}

int main(int argc, char **argv) {
    options o = {.rows = 512, .columns = 512, .steps = 500};
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int status = read_options(argc, argv, rank == 0, &o);
    if (status < 0)
        status = simulate(&o) ? 0 : 1;
    MPI_Finalize();
    return status;
}
