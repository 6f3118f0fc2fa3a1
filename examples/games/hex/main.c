/*
 * Plays Hex by Monte-Carlo tree search on all ranks of an MPI job. Run: mpirun -n 2 tern-hex --play
 * black
 */

#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "examples/games/hex/main.h"

static bool speak_htp(hex_engine *engine, const options *o) {
    hex_htp *htp = calloc(1, sizeof *htp);
    char *line = NULL;
    size_t room = 0;
    if (htp == NULL)
        return false;
    htp->engine = engine;
    htp->limits = o->limits;
    hex_record_resize(&htp->record, o->size, o->swap);
    while (getline(&line, &room, stdin) >= 0 && hex_htp_answer(htp, line, stdout)) {
    }
    bool good = !htp->failed;
    free(line);
    free(htp);
    return good;
}

static bool play_with_person(hex_engine *engine, const options *o) {
    hex_terminal *terminal = calloc(1, sizeof *terminal);
    if (terminal == NULL)
        return false;
    terminal->engine = engine;
    terminal->limits = o->limits;
    terminal->person = (uint32_t)o->person;
    terminal->colours = isatty(STDOUT_FILENO) && getenv("NO_COLOR") == NULL;
    terminal->progress = isatty(STDERR_FILENO);
    hex_record_resize(&terminal->record, o->size, o->swap);
    bool good = hex_terminal_play(terminal);
    free(terminal);
    return good;
}

static bool run(int rank, const options *o) {
    tern_config config;
    if (tern_config_init(&config) != TERN_OK) {
        fprintf(stderr, "tern-hex: %s\n", tern_error_detail());
        return false;
    }
    hex_engine *engine = hex_engine_start(&config, &o->search);
    if (engine == NULL)
        return false;
    bool good;
    if (rank == 0) {
        good = o->person < 0 ? speak_htp(engine, o) : play_with_person(engine, o);
        hex_engine_stop(engine);
    } else {
        good = hex_engine_serve(engine);
    }
    hex_engine_free(engine);
    return good;
}

int main(int argc, char **argv) {
    options o;
    int rank, level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int status = options_read(argc, argv, rank == 0, &o);
    if (status < 0)
        status = run(rank, &o) ? 0 : 1;
    MPI_Finalize();
    return status;
}
