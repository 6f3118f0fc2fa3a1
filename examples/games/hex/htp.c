#include "examples/games/hex/main.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "examples/games/hex/notation.h"
#include "examples/games/hex/engine.h"
#include "tern/config.h"

enum { ARGUMENTS_MOST = 3 };

typedef struct request {
    hex_htp *htp;
    int count;
    char *argument[ARGUMENTS_MOST];
    FILE *out; /* text of the answer, which follows "= " or "? " */
} request;

/* A command. run writes the answer and returns true, or writes why it cannot and returns
 * false. */
typedef struct command {
    const char *name;
    int least, most; /* least and most arguments */
    bool (*run)(request *q);
} command;

static const command commands[];

static bool refuse(const request *q, const char *why) {
    fputs(why, q->out);
    return false;
}

static bool read_player(const request *q, int at, uint32_t *player) {
    int found = hex_player_parse(q->argument[at]);
    *player = (uint32_t)found;
    return found >= 0 || refuse(q, "a player is black or white");
}

static bool protocol_version(request *q) { return fputs("2", q->out) >= 0; }

static bool name(request *q) { return fputs("tern-hex", q->out) >= 0; }

static bool version(request *q) { return fputs(TERN_VERSION_STRING, q->out) >= 0; }

static bool list_commands(request *q) {
    for (const command *c = commands; c->name != NULL; c++)
        fprintf(q->out, "%s%s", c == commands ? "" : "\n", c->name);
    return true;
}

static const command *find(const char *name) {
    const command *c = commands;
    while (c->name != NULL && strcmp(c->name, name) != 0)
        c++;
    return c->name != NULL ? c : NULL;
}

static bool known_command(request *q) {
    return fputs(find(q->argument[0]) != NULL ? "true" : "false", q->out) >= 0;
}

static bool quit(request *q) {
    (void)q;
    return true;
}

static bool boardsize(request *q) {
    double size, other = 0;
    if (!hex_number_parse(q->argument[0], 1, HEX_SIZE_MAX, &size) || size != (double)(uint32_t)size)
        return refuse(q, "boards have 1 to 19 rows");
    if (q->count == 2 &&
        (!hex_number_parse(q->argument[1], 1, HEX_SIZE_MAX, &other) || other != size))
        return refuse(q, "boards have as many columns as rows");
    hex_record_resize(&q->htp->record, (uint32_t)size, q->htp->record.geometry.swap);
    return true;
}

static bool clear_board(request *q) {
    hex_record_clear(&q->htp->record);
    return true;
}

static bool play(request *q) {
    hex_record *r = &q->htp->record;
    uint32_t player, move;
    if (!read_player(q, 0, &player))
        return false;
    if (!hex_move_parse(&r->geometry, q->argument[1], &move))
        return refuse(q, "no such cell; they are a1, b3 and the like");
    const char *objection = hex_record_objection(r, player, move);
    if (objection != NULL)
        return refuse(q, objection);
    hex_record_play(r, player, move);
    return true;
}

/* Thinks about the position as if player were to move. */
static bool think(request *q, uint32_t player) {
    hex_htp *h = q->htp;
    if (hex_record_winner(&h->record) >= 0)
        return refuse(q, "the game is over");
    hex_record asked = h->record;
    hex_turn(&asked.geometry, &asked.board, player);
    h->thought = !h->failed && hex_think(h->engine, &asked, &h->limits, NULL, &h->result);
    h->failed = !h->thought;
    return h->thought || refuse(q, tern_error_detail());
}

static bool genmove(request *q) {
    hex_record *r = &q->htp->record;
    uint32_t player;
    char text[HEX_NAME];
    if (!read_player(q, 0, &player) || !think(q, player))
        return false;
    uint32_t move = q->htp->result.best;
    const char *objection = q->htp->result.move_count == 0 ? "the engine has found no move"
                                                           : hex_record_objection(r, player, move);
    if (objection != NULL)
        return refuse(q, objection);
    r->left[player] -= q->htp->result.seconds;
    hex_record_play(r, player, move);
    return fputs(hex_move_name(&r->geometry, move, text), q->out) >= 0;
}

static bool undo(request *q) {
    return hex_record_undo(&q->htp->record) || refuse(q, "no move to take back");
}

static bool showboard(request *q) {
    fputc('\n', q->out);
    hex_picture_draw(&q->htp->record, false, q->out);
    return true;
}

/* Reads the arguments from number at on: seconds, and for how many stones they are. */
static bool read_times(const request *q, int at, double value[ARGUMENTS_MOST]) {
    for (int i = at; i < q->count; i++)
        if (!hex_number_parse(q->argument[i], 0, 1e9, &value[i]))
            return refuse(q, "times are numbers of seconds, stones a number");
    return true;
}

/* The arguments are main time, byo-yomi time and byo-yomi moves. Hex has no byo-yomi, so the times
 * are added. By the protocol, a byo-yomi time for no moves means that there is no limit. */
static bool time_settings(request *q) {
    double seconds[ARGUMENTS_MOST];
    hex_record *r = &q->htp->record;
    if (!read_times(q, 0, seconds))
        return false;
    bool unlimited = seconds[1] > 0 && seconds[2] <= 0;
    r->full = unlimited ? 0 : seconds[0] + seconds[1];
    r->clock = r->full > 0;
    r->left[0] = r->left[1] = r->full;
    return true;
}

static bool time_left(request *q) {
    hex_record *r = &q->htp->record;
    uint32_t player;
    double seconds[ARGUMENTS_MOST];
    if (!read_player(q, 0, &player) || !read_times(q, 1, seconds))
        return false;
    r->clock = true;
    r->left[player] = seconds[1];
    return true;
}

static bool final_score(request *q) {
    int winner = hex_record_winner(&q->htp->record);
    if (winner < 0)
        return refuse(q, "the game is not over");
    return fputs(winner == 0 ? "B+" : "W+", q->out) >= 0;
}

static bool all_legal_moves(request *q) {
    const hex_record *r = &q->htp->record;
    char text[HEX_NAME];
    for (uint32_t move = 0; move <= hex_cells(&r->geometry); move++)
        if (hex_record_objection(r, r->board.player, move) == NULL)
            fprintf(q->out, "%s ", hex_move_name(&r->geometry, move, text));
    return true;
}

/* The player that the command names, or else the player to move. */
static bool analyzed_player(request *q, uint32_t *player) {
    *player = q->htp->record.board.player;
    return q->count == 0 || read_player(q, 0, player);
}

static bool win_rates(request *q) {
    hex_htp *h = q->htp;
    uint32_t player;
    char text[HEX_NAME];
    if (!analyzed_player(q, &player) || !think(q, player))
        return false;
    for (size_t i = 0; i < h->result.move_count; i++)
        fprintf(q->out, "%s %.3f ",
                hex_move_name(&h->record.geometry, h->result.moves[i].move, text),
                h->result.moves[i].score);
    return true;
}

static bool principal_variation(request *q) {
    hex_htp *h = q->htp;
    uint32_t player;
    if (!analyzed_player(q, &player) || !think(q, player))
        return false;
    hex_picture_line(&h->record, &h->result, q->out);
    return true;
}

static bool statistics(request *q) {
    tern_search_statistics s;
    if (q->htp->failed || !hex_engine_statistics(q->htp->engine, &s))
        return refuse(q, tern_error_detail());
#define X(field, meaning) fprintf(q->out, #field " %llu\n", (unsigned long long)s.field);
    TERN_SEARCH_STATISTICS_TABLE(X)
#undef X
    fprintf(q->out, "nodes %llu", (unsigned long long)s.nodes);
    return true;
}

/* Entries for HexGui's menu: how to show the answer, a title, and the command. */
static bool analyze_commands(request *q) {
    fputs("pspairs/Win rates/tern-win_rates\n"
          "var/Principal variation/tern-principal_variation\n"
          "string/Search statistics/tern-statistics",
          q->out);
    return true;
}

static const command commands[] = {
    {"all_legal_moves", 0, 0, all_legal_moves},
    {"boardsize", 1, 2, boardsize},
    {"clear_board", 0, 0, clear_board},
    {"final_score", 0, 0, final_score},
    {"genmove", 1, 1, genmove},
    {"hexgui-analyze_commands", 0, 0, analyze_commands},
    {"known_command", 1, 1, known_command},
    {"list_commands", 0, 0, list_commands},
    {"name", 0, 0, name},
    {"play", 2, 2, play},
    {"protocol_version", 0, 0, protocol_version},
    {"quit", 0, 0, quit},
    {"showboard", 0, 0, showboard},
    {"tern-principal_variation", 0, 1, principal_variation},
    {"tern-statistics", 0, 0, statistics},
    {"tern-win_rates", 0, 1, win_rates},
    {"time_left", 2, 3, time_left},
    {"time_settings", 3, 3, time_settings},
    {"undo", 0, 0, undo},
    {"version", 0, 0, version},
    {NULL, 0, 0, NULL},
};

/* The protocol treats tabs as spaces, ignores other control characters, and has comments after
 * #. */
static void clean(char *line) {
    char *to = line;
    for (; *line != 0 && *line != '#'; line++)
        if (*line == '\t')
            *to++ = ' ';
        else if (!iscntrl((unsigned char)*line))
            *to++ = *line;
    *to = 0;
}

static bool run(hex_htp *htp, const char *name, char *rest, FILE *text) {
    request q = {.htp = htp, .out = text};
    const command *c = name != NULL ? find(name) : NULL;
    if (name == NULL)
        return refuse(&q, "no command behind the number");
    if (c == NULL)
        return refuse(&q, "unknown command");
    char *word = strtok_r(NULL, " ", &rest);
    for (; word != NULL && q.count < ARGUMENTS_MOST; word = strtok_r(NULL, " ", &rest))
        q.argument[q.count++] = word;
    if (word != NULL || q.count < c->least || q.count > c->most)
        return refuse(&q, "wrong number of arguments");
    return c->run(&q);
}

bool hex_htp_answer(hex_htp *htp, char *line, FILE *out) {
    char *rest, *text = NULL, *number = (char *)"";
    size_t bytes;
    clean(line);
    char *word = strtok_r(line, " ", &rest);
    if (word != NULL && strspn(word, "0123456789") == strlen(word)) {
        number = word;
        word = strtok_r(NULL, " ", &rest);
    }
    if (word == NULL && number[0] == 0)
        return true;
    FILE *answer = open_memstream(&text, &bytes);
    if (answer == NULL) {
        fprintf(out, "?%s no memory for an answer\n\n", number);
        return true;
    }
    bool good = run(htp, word, rest, answer);
    (void)fclose(answer);
    /* An empty line ends an answer, so the text must not end with one. */
    while (bytes > 0 && text[bytes - 1] == '\n')
        text[--bytes] = 0;
    fprintf(out, "%c%s %s\n\n", good ? '=' : '?', number, text);
    (void)fflush(out);
    free(text);
    return !good || strcmp(word, "quit") != 0;
}
