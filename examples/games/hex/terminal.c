#include "examples/games/hex/main.h"

#include <stdio.h>
#include <string.h>

#include "examples/games/hex/notation.h"
#include "examples/games/hex/engine.h"

static const char help[] =
    "a move such as c3, swap to take over the first stone, undo, hint, board, "
    "help or quit\n";

static void show_progress(const hex_record *record, const tern_search_result *so_far, double done) {
    char text[HEX_NAME];
    fprintf(stderr, "\r\033[Kthinking %3.0f %%, %s %.0f %%: ", 100 * (done < 1 ? done : 1),
            hex_move_name(&record->geometry, so_far->best, text), 100 * so_far->score);
    tern_search_result some = *so_far;
    some.line_length = some.line_length < 8 ? some.line_length : 8;
    hex_picture_line(record, &some, stderr);
    if (done >= 1)
        fputs("\r\033[K", stderr);
}

static bool think(hex_terminal *t, tern_search_result *result) {
    if (hex_think(t->engine, &t->record, &t->limits, t->progress ? show_progress : NULL, result))
        return true;
    printf("the engine has failed: %s\n", tern_error_detail());
    return false;
}

/* Prints what the engine thinks about the move of the player to move. */
static void tell(const hex_terminal *t, const char *who, const tern_search_result *result) {
    char text[HEX_NAME];
    printf("%s %s, which wins %.0f %% of %llu games in %.1f s: ", who,
           hex_move_name(&t->record.geometry, result->best, text), 100 * result->score,
           (unsigned long long)result->rollouts, result->seconds);
    tern_search_result some = *result;
    some.line_length = some.line_length < 8 ? some.line_length : 8;
    hex_picture_line(&t->record, &some, stdout);
    putchar('\n');
}

static bool engine_moves(hex_terminal *t) {
    tern_search_result result;
    if (!think(t, &result))
        return false;
    if (result.move_count == 0) {
        printf("I have no memory to think of a move.\n");
        return false;
    }
    tell(t, "I play", &result);
    hex_record_play(&t->record, 1 - t->person, result.best);
    hex_picture_draw(&t->record, t->colours, stdout);
    return true;
}

static void take_back(hex_terminal *t) {
    if (hex_record_undo(&t->record) && t->record.board.player != t->person)
        (void)hex_record_undo(&t->record);
    hex_picture_draw(&t->record, t->colours, stdout);
}

static void move(hex_terminal *t, const char *word) {
    uint32_t at;
    if (!hex_move_parse(&t->record.geometry, word, &at)) {
        printf("%s", help);
        return;
    }
    const char *objection = hex_record_objection(&t->record, t->person, at);
    if (objection != NULL)
        printf("%s\n", objection);
    else
        hex_record_play(&t->record, t->person, at);
}

/* Returns false if the engine has failed. [out] left: the person has left the game. */
static bool person_moves(hex_terminal *t, bool *left) {
    char line[256] = "";
    printf("%s> ", hex_player_name[t->person]);
    (void)fflush(stdout);
    *left = fgets(line, sizeof line, stdin) == NULL;
    line[strcspn(line, "\r\n")] = 0;
    *left = *left || strcmp(line, "quit") == 0;
    if (*left || *line == 0)
        return true;
    tern_search_result result;
    if (strcmp(line, "undo") == 0)
        take_back(t);
    else if (strcmp(line, "board") == 0)
        hex_picture_draw(&t->record, t->colours, stdout);
    else if (strcmp(line, "hint") != 0)
        move(t, line);
    else if (think(t, &result))
        tell(t, "I would play", &result);
    else
        return false;
    return true;
}

bool hex_terminal_play(hex_terminal *terminal) {
    bool left = false;
    printf("You are %s and connect %s. %s", hex_player_name[terminal->person],
           terminal->person == 0 ? "top and bottom (X)" : "left and right (O)", help);
    hex_picture_draw(&terminal->record, terminal->colours, stdout);
    while (!left && hex_record_winner(&terminal->record) < 0)
        if (!(terminal->record.board.player == terminal->person ? person_moves(terminal, &left)
                                                                : engine_moves(terminal)))
            return false;
    int winner = hex_record_winner(&terminal->record);
    if (winner >= 0)
        printf("%s\n", (uint32_t)winner == terminal->person ? "You have won." : "I have won.");
    return true;
}
