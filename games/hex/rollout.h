#ifndef TERN_GAMES_HEX_ROLLOUT_H
#define TERN_GAMES_HEX_ROLLOUT_H

/*
 * Random games of Hex. A game of which every move is drawn with equal chances may go on until the
 * board is full, since a connection stays one; the full board then is any division of the empty
 * cells between the players, in numbers that are known, each as likely as any other. So no move is
 * played: the division is drawn, by whole words of random bits and then by changing the owner of
 * random cells until the numbers are right, and one walk tells who has won.
 */

#include "games/hex/board.h"
#include "tern/game.h"

/* Plays count games to the end; nobody may have won yet. Returns how many black wins. */
uint32_t hex_rollouts(const hex_geometry *g, const hex_board *b, uint32_t count,
                      tern_random *random);

#endif
