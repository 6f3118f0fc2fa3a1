#include "spectrum.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static bool ends_with(const char *name, const char *end) {
    size_t length = strlen(name), bytes = strlen(end);
    return length > bytes && strcmp(name + length - bytes, end) == 0;
}

bool kmer_spectrum_takes(const char *name) {
    return ends_with(name, ".svg") || ends_with(name, ".png");
}

/* Runs gnuplot, with an argument or NULL, from the one file to the other. Its own complaints stay
 * on standard error. */
static int run_gnuplot(char *argument, int in, int out, kmer_error *error) {
    char usual[] = "gnuplot", *other = getenv("GNUPLOT");
    char *program = other != NULL ? other : usual;
    char *const arguments[] = {program, argument, NULL};
    posix_spawn_file_actions_t actions;
    pid_t child;
    int status = posix_spawn_file_actions_init(&actions);
    if (status == 0) {
        status = posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
        if (status == 0)
            status = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
        if (status == 0)
            status = posix_spawnp(&child, program, &actions, NULL, arguments, environ);
        posix_spawn_file_actions_destroy(&actions);
    }
    if (status != 0)
        return kmer_fail(error,
                         "--spectrum: cannot start %s: %s; install gnuplot (gnuplot-nox), or use "
                         "--histogram",
                         program, strerror(status));
    int ended;
    while (waitpid(child, &ended, 0) < 0)
        if (errno != EINTR)
            return kmer_fail_system(error, "wait for", "gnuplot");
    if (!WIFEXITED(ended) || WEXITSTATUS(ended) != 0)
        return kmer_fail(error, "--spectrum: gnuplot failed; use --histogram for the numbers");
    return 0;
}

int kmer_spectrum_probe(const char *name, kmer_error *error) {
    if (name == NULL)
        return 0;
    char version[] = "--version";
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0)
        return kmer_fail_system(error, "open", "/dev/null");
    int result = run_gnuplot(version, null, null, error);
    close(null);
    return result;
}

/* The counts of all but the thousandth part of the k-mers, which may have counts far above. */
static unsigned last_count(const kmer_totals *totals) {
    uint64_t left = totals->distinct / 1000;
    unsigned count = KMER_HISTOGRAM_TOP + 1;
    while (count > 10 && totals->histogram[count] <= left)
        left -= totals->histogram[count--];
    return count;
}

static void write_script(const kmer_totals *totals, unsigned k, const char *terminal, FILE *out) {
    unsigned last = last_count(totals);
    fprintf(out,
            "set terminal %s size 800,500\n"
            "set title '%u-mers'\n"
            "set xlabel 'count'\n"
            "set ylabel 'number of k-mers'\n"
            "set logscale y\n"
            "set yrange [0.5:]\n"
            "set xrange [0:%u]\n"
            "set style fill solid\n"
            "plot '-' with boxes notitle\n",
            terminal, k, last + 1);
    for (unsigned count = 1; count <= last; count++)
        if (totals->histogram[count] > 0)
            fprintf(out, "%u %" PRIu64 "\n", count, totals->histogram[count]);
    fprintf(out, "e\n");
}

int kmer_spectrum_write(const kmer_outfile *file, const kmer_totals *totals, unsigned k,
                        kmer_error *error) {
    if (totals->distinct == 0)
        return kmer_fail(error, "--spectrum: there are no k-mers to draw");
    FILE *script = tmpfile();
    if (script == NULL)
        return kmer_fail_system(error, "make", "a temporary file");
    int result;
    write_script(totals, k, ends_with(file->name, ".png") ? "png" : "svg", script);
    if (fflush(script) != 0 || lseek(fileno(script), 0, SEEK_SET) != 0)
        result = kmer_fail_system(error, "write", "a temporary file");
    else
        result = run_gnuplot(NULL, fileno(script), file->fd, error);
    fclose(script);
    return result;
}
