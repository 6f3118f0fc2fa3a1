/*
 * Sleep of a ring that its origin puts into (rma/ring/sleep.h), over a network and messages that
 * take any time: whatever is published is consumed, though the target stops polling.
 * -DREADS_FIRST: the answer's position is older than the mark.
 * -DAT_ONCE: the target does not poll on until the answer's position.
 * -DFORGETS: a WAKE that overtakes the answer counts for nothing.
 */

#define FRAMES 3

byte told, landed, consumed;
bool mark;
chan net = [FRAMES] of { byte };
chan asks = [1] of { bit };
chan answers = [1] of { byte };
chan wakes = [FRAMES] of { bit };

active proctype origin() {
    byte position;
    do
    :: position < FRAMES ->
       position++;
       net!position;
       told = position;
       if
       :: atomic { mark -> mark = false }; wakes!1
       :: !mark
       fi
    :: position == FRAMES -> break
    od
}

active proctype network() {
    byte position;
end:
    do
    :: net?position; landed = position
    od
}

/* Any thread of the origin's process. */
active proctype server() {
    byte position;
end:
    do
    :: asks?_ ->
#ifdef READS_FIRST
       position = told;
       mark = true;
#else
       mark = true;
       position = told;
#endif
       answers!position
    od
}

#ifdef AT_ONCE
#define RESTS allowed
#else
#define RESTS (allowed && consumed >= from)
#endif

active proctype target() {
    bool asked, woken, allowed;
    byte from;
    do
    :: consumed == FRAMES -> break
    :: !(RESTS) && landed > consumed -> consumed++
    :: !(RESTS) && landed == consumed && !asked && !allowed -> asked = true; asks!1
    :: asked && nempty(answers) ->
       answers?from;
       asked = false;
       if
       :: woken -> woken = false
       :: !woken -> allowed = true
       fi
    :: nempty(wakes) ->
       wakes?_;
       if
#ifndef FORGETS
       :: asked -> woken = true
#else
       :: asked -> skip
#endif
       :: !asked -> allowed = false
       fi
    :: timeout -> assert(false) /* asleep, and nothing is under way */
    od
}
