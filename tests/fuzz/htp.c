/*
 * The lines that drive tern-hex under libFuzzer. An input is a byte, which says how the game is set
 * up, and lines. Whatever they say, each gets one answer of the protocol's form or none, the game
 * stays one that can be, and a refused command leaves it as it was. In place of the engine is one
 * that plays the first move there is, and may fail. TERN_FUZZ_SEEDS=FOLDER: writes inputs to begin
 * with and ends.
 */

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examples/games/hex/main.h"
#include "tests/fuzz/fuzzer.h"

enum { SWAP = 1, LARGE = 2, FAILS = 4 }; /* of the first byte */

struct hex_engine {
    bool fails;
    tern_search_move move;
};

/* In place of base/status.c. */
const char *tern_error_detail(void) { return "the engine is broken"; }

/* In place of engine.c. The game is not over, so that there is a move. */
bool hex_engine_think(hex_engine *engine, const hex_record *record,
                      const tern_search_limits *limits, tern_search_result *result) {
    uint32_t move = 0, player = record->board.player;
    require(limits->rollouts > 0 || limits->seconds > 0);
    while (hex_record_objection(record, player, move) != NULL)
        require(move++ < hex_cells(&record->geometry));
    engine->move = (tern_search_move){.move = move, .visits = 1, .score = 0.5};
    *result = (tern_search_result){.best = move,
                                   .moves = &engine->move,
                                   .move_count = 1,
                                   .line = &engine->move.move,
                                   .line_length = 1,
                                   .rollouts = 1,
                                   .seconds = limits->seconds};
    return !engine->fails;
}

bool hex_engine_statistics(hex_engine *engine, tern_search_statistics *statistics) {
    memset(statistics, 0, sizeof *statistics);
    return !engine->fails;
}

/* "=" or "?", a number if there is one, a space, text without an empty line, and one at its end. */
static void check_form(const char *answer, size_t bytes) {
    const char *rest = answer + 1;
    if (bytes == 0)
        return;
    require(strlen(answer) == bytes && (answer[0] == '=' || answer[0] == '?'));
    while (isdigit((unsigned char)*rest))
        rest++;
    require(*rest == ' ');
    require(strstr(answer, "\n\n") == answer + bytes - 2);
}

/* Each move but one that takes over lays a stone, and that one moves it. */
static void check_game(const hex_record *r) {
    uint32_t cells = hex_cells(&r->geometry), stones = 0, laid = 0;
    require(r->geometry.size >= 1 && r->geometry.size <= HEX_SIZE_MAX && r->board.player < 2);
    require(r->count <= cells + 1);
    for (uint32_t i = 0; i < r->count; i++) {
        require(r->move[i] < cells || (r->move[i] == cells && i == 1 && r->geometry.swap));
        laid += r->move[i] < cells;
    }
    for (uint32_t cell = 0; cell < cells; cell++)
        stones += hex_stone(&r->geometry, &r->board, cell) >= 0;
    require(stones == laid);
    require(!hex_connects(&r->geometry, &r->board, 0) || !hex_connects(&r->geometry, &r->board, 1));
}

/* Returns false when it was quit. */
static bool answer_one(hex_htp *htp, char *line) {
    static hex_record before;
    char *answer = NULL;
    size_t bytes;
    FILE *out = open_memstream(&answer, &bytes);
    require(out != NULL);
    memcpy(&before, &htp->record, sizeof before);
    bool more = hex_htp_answer(htp, line, out);
    require(fclose(out) == 0);
    check_form(answer, bytes);
    check_game(&htp->record);
    require(more || answer[0] == '=');
    if (bytes == 0 || answer[0] == '?')
        require(memcmp(&before, &htp->record, sizeof before) == 0);
    free(answer);
    return more;
}

/* Each line alone in its memory. */
int LLVMFuzzerTestOneInput(const uint8_t *input, size_t bytes) {
    static hex_htp htp;
    if (bytes == 0)
        return 0;
    hex_engine engine = {.fails = (input[0] & FAILS) != 0};
    memset(&htp, 0, sizeof htp);
    htp.engine = &engine;
    htp.limits.rollouts = 1;
    hex_record_resize(&htp.record, (input[0] & LARGE) != 0 ? 11 : 3, (input[0] & SWAP) != 0);
    for (size_t at = 1, end; at < bytes; at = end) {
        const uint8_t *newline = memchr(input + at, '\n', bytes - at);
        end = newline != NULL ? (size_t)(newline - input) + 1 : bytes;
        char *line = malloc(end - at + 1);
        require(line != NULL);
        memcpy(line, input + at, end - at);
        line[end - at] = 0;
        bool more = answer_one(&htp, line);
        free(line);
        if (!more)
            break;
    }
    return 0;
}

/* A game, its clocks, looks at it, and what is wrong. */
static const char *const seeds[] = {
    "\1name\n1 play black b2\n2 play white swap-pieces\ngenmove b\nundo\nshowboard\nquit\n",
    "\2boardsize 5 5\ntime_settings 600 0 0\ntime_left white 30 1\ngenmove white\nclear_board\n",
    "\0play b a1\nplay w b1\nplay b a2\nplay w b2\nplay b a3\nfinal_score\nall_legal_moves\n",
    "\2tern-win_rates w\ntern-principal_variation\ntern-statistics\nhexgui-analyze_commands\n",
    "\4list_commands\nknown_command undo\nversion\nprotocol_version\ngenmove red\ngenmove blue\n",
    "\1# nothing\n007 fly\nboardsize 20\nplay green a1\nplay black d1 e1 f1 g1\n\tundo\r\n\n",
};

static void write_seeds(const char *folder) {
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
        char path[600];
        snprintf(path, sizeof path, "%s/htp%zu", folder, i);
        FILE *seed = fopen(path, "wb");
        require(seed != NULL && fputc(seeds[i][0], seed) != EOF);
        require(fputs(seeds[i] + 1, seed) >= 0 && fclose(seed) == 0);
    }
}
