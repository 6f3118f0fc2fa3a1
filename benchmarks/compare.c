/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * tern-bench compare: which cases of two files of JSON differ by more than their noise. Needs
 * neither MPI nor tern. Without jansson at build time there is only the message that says so.
 */

#include "bench.h"

#ifndef TERN_HAVE_JANSSON

int bench_compare(int argc, char **argv) {
    (void)argc;
    (void)argv;
    fputs("tern-bench: compare was built without jansson, which reads JSON: apt install "
          "libjansson-dev, and build tern again\n",
          stderr);
    return BENCH_EXIT_FAILED;
}

#else

#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <stdlib.h>

enum { KEY_ROOM = 256 };

typedef struct file {
    const char *path;
    json_t *machine, *cases; /* cases: objects by key */
} file;

static int refuse(const char *text) {
    fprintf(stderr, "tern-bench compare: %s (tern-bench compare --help)\n", text);
    return BENCH_EXIT_USAGE;
}

static void usage(void) {
    printf("usage: tern-bench compare [options] BEFORE.json AFTER.json\n\n"
           "Compares the cases that both files of 'tern-bench --json' have. A ratio is the time\n"
           "of one operation after over that before: below 1 is faster. 'of ceilings' is the same\n"
           "for the ratio to the ceiling: where it is near 1, the machine has changed, not tern.\n"
           "A case counts as faster or slower if the ranges of the two figures (the median, and\n"
           "half the interquartile range to each side) do not meet and they differ by P percent.\n"
           "'?': a block lost its core, threads shared cores, or the spread was above 30 %%.\n\n"
           "options:\n"
           "      --percent P  the least difference that counts, 0 to 1000 [5]\n"
           "      --changed    only the cases that are faster or slower\n"
           "      --check      exits with %d if a case is slower\n"
           "  -h, --help       prints this help\n\n"
           "exit status: %d, %d (a file cannot be read), %d (bad usage), %d (see --check)\n",
           BENCH_EXIT_MISSED, BENCH_EXIT_OK, BENCH_EXIT_FAILED, BENCH_EXIT_USAGE,
           BENCH_EXIT_MISSED);
}

static const char *text_of(const json_t *object, const char *name) {
    const char *text = json_string_value(json_object_get(object, name));
    return text == NULL ? "" : text;
}

static double number_of(const json_t *object, const char *name) {
    return json_number_value(json_object_get(object, name));
}

/* "notify put_latency bytes=8 over shm, MPICH 4.0.2, 2 ranks" */
static void name_case(const json_t *one, char *key) {
    const char *name;
    json_t *value;
    size_t at =
        (size_t)snprintf(key, KEY_ROOM, "%s %s", text_of(one, "bench"), text_of(one, "case"));
    if (json_object_get(one, "algorithm") != NULL && at < KEY_ROOM)
        at += (size_t)snprintf(key + at, KEY_ROOM - at, " %s", text_of(one, "algorithm"));
    json_object_foreach(json_object_get(one, "params"), name, value) {
        if (at >= KEY_ROOM)
            return;
        if (json_is_string(value))
            at += (size_t)snprintf(key + at, KEY_ROOM - at, " %s", json_string_value(value));
        else
            at += (size_t)snprintf(key + at, KEY_ROOM - at, " %s=%.0f", name,
                                   json_number_value(value));
    }
    if (at < KEY_ROOM)
        snprintf(key + at, KEY_ROOM - at, " over %s, %s, %.0f ranks", text_of(one, "transport"),
                 text_of(one, "mpi"), number_of(one, "ranks"));
}

/* A case that was measured several times keeps its last figure. */
static bool read_line(file *f, const char *line, unsigned number) {
    json_error_t error;
    char key[KEY_ROOM];
    json_t *one = json_loads(line, 0, &error);
    if (one == NULL || !json_is_object(one)) {
        fprintf(stderr, "tern-bench compare: %s, line %u: no JSON of tern-bench: %s\n", f->path,
                number, one == NULL ? error.text : "not an object");
        json_decref(one);
        return false;
    }
    if (json_object_get(one, "machine") != NULL)
        f->machine = json_incref(json_object_get(one, "machine"));
    if (json_is_number(json_object_get(one, "value"))) {
        name_case(one, key);
        json_object_set(f->cases, key, one);
    }
    json_decref(one);
    return true;
}

static bool read_file(file *f, const char *path) {
    char *line = NULL;
    size_t room = 0;
    unsigned number = 0;
    bool good = true;
    FILE *from = fopen(path, "r");
    *f = (file){.path = path, .cases = json_object()};
    if (from == NULL) {
        fprintf(stderr, "tern-bench compare: %s: %s\n", path, strerror(errno));
        return false;
    }
    while (good && getline(&line, &room, from) > 0)
        good = read_line(f, line, ++number);
    if (good && json_object_size(f->cases) == 0) {
        fprintf(stderr, "tern-bench compare: %s has no case of tern-bench --json\n", path);
        good = false;
    }
    free(line);
    fclose(from);
    return good;
}

static void close_file(file *f) {
    json_decref(f->machine);
    json_decref(f->cases);
}

static void print_machine(const char *name, const json_t *machine) {
    printf("%-7s %s, %s, %.0f cores, tern %s, load %.1f\n", name, text_of(machine, "date"),
           text_of(machine, "cpu"), number_of(machine, "cores"), text_of(machine, "tern"),
           number_of(machine, "load"));
}

static bool same_machine(const json_t *a, const json_t *b) {
    return strcmp(text_of(a, "cpu"), text_of(b, "cpu")) == 0 &&
           number_of(a, "cores") == number_of(b, "cores");
}

static bool is_time(const json_t *one) { return strcmp(text_of(one, "unit"), "ns") == 0; }

/* The time of an operation, or what is proportional to it. */
static double time_of(const json_t *one) {
    double value = number_of(one, "value");
    return is_time(one) ? value : 1 / value;
}

static bool is_doubtful(const json_t *one) {
    return json_is_true(json_object_get(one, "oversubscribed")) ||
           number_of(one, "disturbed") > 0 ||
           number_of(one, "spread") > BENCH_UNSTEADY * number_of(one, "value");
}

/* -1: faster, 1: slower, 0: the same within the noise. */
static int verdict(const json_t *before, const json_t *after, double percent) {
    double noise = (number_of(before, "spread") + number_of(after, "spread")) / 2;
    double change = number_of(after, "value") - number_of(before, "value");
    double ratio = time_of(after) / time_of(before);
    if ((change < 0 ? -change : change) <= noise)
        return 0;
    return ratio > 1 + percent / 100 ? 1 : ratio < 1 / (1 + percent / 100) ? -1 : 0;
}

static void print_case(const char *name, const json_t *before, const json_t *after, int said) {
    static const char *const words[] = {"faster", "", "slower"};
    double was = number_of(before, "ratio"), is = number_of(after, "ratio");
    printf("  %-66s %10.4g %10.4g %-4s %6.2f", name, number_of(before, "value"),
           number_of(after, "value"), text_of(after, "unit"), time_of(after) / time_of(before));
    if (was > 0 && is > 0)
        printf(" %11.2f", is / was);
    else
        printf(" %11s", "");
    printf("  %s%s\n", words[said + 1], is_doubtful(before) || is_doubtful(after) ? " ?" : "");
}

/* Returns how many cases are slower. */
static unsigned compare(const file *before, const file *after, double percent, bool changed) {
    unsigned count[3] = {0}, doubtful = 0, only_after = 0;
    const char *name;
    json_t *one;
    printf("\n  %-66s %10s %10s %-4s %6s %11s\n", "case", "before", "after", "", "ratio",
           "of ceilings");
    json_object_foreach(after->cases, name, one) {
        const json_t *old = json_object_get(before->cases, name);
        if (old == NULL) {
            only_after++;
            continue;
        }
        int said = verdict(old, one, percent);
        count[said + 1]++;
        doubtful += said != 0 && (is_doubtful(old) || is_doubtful(one));
        if (said != 0 || !changed)
            print_case(name, old, one, said);
    }
    unsigned both = count[0] + count[1] + count[2];
    printf(
        "\n%u cases in both: %u faster, %u slower, %u within their noise; of those that differ %u "
        "are doubtful\n%zu only before, %u only after\n",
        both, count[0], count[2], count[1], doubtful, json_object_size(before->cases) - both,
        only_after);
    return count[2];
}

int bench_compare(int argc, char **argv) {
    enum { PERCENT = 256, CHANGED, CHECK };
    static const struct option options[] = {
        {"percent", required_argument, NULL, PERCENT},
        {"changed", no_argument, NULL, CHANGED},
        {"check", no_argument, NULL, CHECK},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    file before, after;
    double percent = 5;
    bool changed = false, check = false;
    int letter;
    char *end;
    while ((letter = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        switch (letter) {
        case PERCENT:
            percent = strtod(optarg, &end);
            if (end == optarg || *end != '\0' || !(percent >= 0 && percent <= 1000))
                return refuse("--percent takes 0 to 1000");
            break;
        case CHANGED:
            changed = true;
            break;
        case CHECK:
            check = true;
            break;
        case 'h':
            usage();
            return BENCH_EXIT_OK;
        default:
            return BENCH_EXIT_USAGE;
        }
    }
    if (argc - optind != 2)
        return refuse("which two files?");
    bool good = read_file(&before, argv[optind]);
    good = read_file(&after, argv[optind + 1]) && good;
    unsigned slower = 0;
    if (good) {
        print_machine("before:", before.machine);
        print_machine("after:", after.machine);
        if (!same_machine(before.machine, after.machine))
            printf("the machines differ: compare the ratios to the ceilings, not the figures\n");
        slower = compare(&before, &after, percent, changed);
    }
    close_file(&before);
    close_file(&after);
    return !good ? BENCH_EXIT_FAILED : check && slower > 0 ? BENCH_EXIT_MISSED : BENCH_EXIT_OK;
}

#endif
