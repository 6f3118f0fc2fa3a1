#include <inttypes.h>

#include "job.h"

static double millions_per_second(uint64_t edges, double seconds) {
    return seconds > 0 ? 1e-6 * (double)edges / seconds : 0;
}

static void print_json_times(const char *name, const outcome *out) {
    printf(",\"%s\":{\"open\":%.6f,\"search\":%.6f,\"components\":%.6f,\"search_mteps\":%.3f,"
           "\"components_mteps\":%.3f}",
           name, out->open, out->search, out->components,
           millions_per_second(out->searched, out->search),
           millions_per_second(out->edges, out->components));
}

static void print_json_text(const char *text) {
    putchar('"');
    for (; *text != 0; text++)
        if (*text == '"' || *text == '\\' || (unsigned char)*text < ' ')
            printf("\\u%04x", (unsigned)(unsigned char)*text);
        else
            putchar(*text);
    putchar('"');
}

static void print_json(const job *j, const outcome *tern, const outcome *mpi) {
    const options *o = j->options;
    printf("{\"ranks\":%u,", j->size);
    if (o->file != NULL) {
        printf("\"file\":");
        print_json_text(o->file);
    } else
        printf("\"scale\":%u,\"edges_per_vertex\":%" PRIu64 ",\"seed\":%" PRIu64, o->scale,
               o->edges, o->seed);
    printf(",\"vertices\":%" PRIu64 ",\"edges\":%" PRIu64 ",\"most_neighbours\":%" PRIu64
           ",\"source\":%" PRIu64 ",\"reached\":%" PRIu64 ",\"levels\":%" PRIu64
           ",\"components\":%" PRIu64 ",\"hashes\":\"%016" PRIx64 "\",\"checked\":%s",
           tern->vertices, tern->edges, tern->most, tern->source, tern->digest.reached,
           tern->levels, tern->digest.components, tern->digest.hashes, o->check ? "true" : "false");
    print_json_times("tern", tern);
    if (mpi != NULL)
        print_json_times("mpi", mpi);
    printf("}\n");
}

static void print_times(const char *name, const outcome *out) {
    printf("%-9s  %9.4f s  %9.4f s %8.2f  %9.4f s %8.2f\n", name, out->open, out->search,
           millions_per_second(out->searched, out->search), out->components,
           millions_per_second(out->edges, out->components));
}

void print_outcome(const job *j, const outcome *tern, const outcome *mpi) {
    const options *o = j->options;
    if (o->json) {
        print_json(j, tern, mpi);
        return;
    }
    if (o->file != NULL)
        printf("%s", o->file);
    else
        printf("R-MAT of scale %u", o->scale);
    printf(" on %u ranks: %" PRIu64 " vertices, %" PRIu64 " edges, at most %" PRIu64
           " neighbours\n",
           j->size, tern->vertices, tern->edges, tern->most);
    printf("search from %" PRIu64 ": %" PRIu64 " vertices in %" PRIu64 " levels\n", tern->source,
           tern->digest.reached, tern->levels);
    printf("components: %" PRIu64 ", found in %" PRIu64 " steps\n", tern->digest.components,
           tern->components_steps);
    printf("answers %016" PRIx64 "%s\n\n", tern->digest.hashes,
           o->check ? ", as a sequential run has them" : "");
    printf("                 build       search    MTEPS   components    MTEPS\n");
    print_times("tern", tern);
    if (mpi != NULL)
        print_times("MPI alone", mpi);
}
