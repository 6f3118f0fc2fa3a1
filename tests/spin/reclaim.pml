/*
 * Rings that their target takes back (rma/ring/reclaim.h), over a network that takes any time and
 * may put what it was given twice, and messages that come in order: a pair's records are consumed
 * in order, none is lost, nothing lands in a piece that the pair has given back, and no ring is
 * closed again before it is left.
 * -DUNFLUSHED: the origin closes a ring before its puts are there.
 * -DUNNAMED: the origin closes whatever ring it has, and not the one that was asked for.
 * -DEARLY: the target leaves a ring before it has consumed what lies there.
 */

#define RECORDS 4
#define ASKS 3
#define NONE 2 /* of two pieces */

mtype = { RECORD, CLOSED, MOVED }

bool owned[2];           /* the piece is this pair's */
bool landed[RECORDS];    /* by position */
byte under_way;          /* puts */
chan net = [RECORDS] of { byte, byte };               /* piece, position */
chan messages = [RECORDS + 2 * ASKS] of { mtype, byte }; /* position; MOVED: piece */
chan by_message = [RECORDS + ASKS] of { mtype, byte };     /* what was appended at the target */
chan asks = [ASKS] of { byte };
bool begun;              /* a ring's end was told */
byte begin;
bool ended;              /* all is consumed */

active proctype origin() {
    byte ring = 0, at = 0, wanted;
    owned[0] = true;
    do
    :: at < RECORDS && ring != NONE ->
       atomic { under_way++; net!ring, at }
       at++
    :: at < RECORDS && ring == NONE ->
       messages!RECORD, at;
       at++
    :: ring == NONE && at < RECORDS ->
       if
       :: atomic { !owned[0] -> owned[0] = true }; ring = 0; messages!MOVED, 0
       :: atomic { !owned[1] -> owned[1] = true }; ring = 1; messages!MOVED, 1
       :: skip
       fi
    :: asks?wanted ->
       if
#ifdef UNNAMED
       :: ring != NONE ->
#else
       :: ring == wanted ->
#endif
#ifndef UNFLUSHED
          under_way == 0;
#endif
          messages!CLOSED, at;
          ring = NONE
       :: else
       fi
    :: at == RECORDS && ended -> break
    od
}

active proctype network() {
    byte ring, position;
end:
    do
    :: net?ring, position ->
       assert(owned[ring]);
       landed[position] = true;
       if
       :: assert(owned[ring]) /* it lands again */
       :: skip
       fi;
       under_way--
    od
}

/* Any thread of the target's process. */
active proctype server() {
    byte what;
    mtype kind;
end:
    do
    :: messages?kind, what ->
       if
       :: kind == CLOSED ->
          assert(!begun);
          begin = what;
          begun = true
       :: else -> by_message!kind, what
       fi
    od
}

active proctype target() {
    byte ring = 0, consumed = 0, asked = 0, what;
    mtype kind;
    owned[0];
    do
    :: consumed < RECORDS && ring != NONE && landed[consumed] -> consumed++
#ifdef EARLY
    :: ring != NONE && begun ->
#else
    :: ring != NONE && begun && consumed == begin ->
#endif
       begun = false;
       owned[ring] = false;
       ring = NONE
    :: ring == NONE && nempty(by_message) ->
       by_message?kind, what;
       if
       :: kind == MOVED -> ring = what
       :: else ->
          assert(what == consumed);
          consumed++
       fi
    :: ring != NONE && asked < ASKS -> asks!ring; asked++
    :: consumed == RECORDS -> ended = true; break
    :: timeout -> assert(consumed == RECORDS)
    od
}
