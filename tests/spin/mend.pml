/*
 * A bucket's state that says that a rank is writing the bucket, and the question to that rank
 * whether it does (hashtable/near/mend.c). Once, while no rank holds the bucket, damage makes the state
 * say so of the writer. The other rank waits and asks. The writer reads questions in its rounds of
 * progress and mends the state, unless it is writing. At most one rank writes at a time, and no
 * rank waits for ever.
 * -DUNCOUNTED: the modifiers that make progress with a bucket in hand are not counted.
 * -DKEPT: the bucket that the move keeps from round to round is mended, too.
 * -DUNCOMPARED: the writer mends a state that it has not compared.
 * -DUNASKED: no rank asks.
 */

#define FREE 0
#define WRITER 1
#define OTHER 2

byte state;         /* the rank that writes, by the word */
byte inside;        /* ranks that are writing it */
byte questions;     /* of the other rank that the writer has not read */
bool modifier;      /* the writer runs one */
bool keeps;         /* the writer's move keeps the bucket */
byte over;          /* ranks that have done all their writes */

#define ENTER inside++; assert(inside == 1)
#define LEAVE inside--

/* A round of progress of the writer. */
inline progress() {
    if
    :: questions > 0 ->
       questions--;
       if
#ifndef UNCOUNTED
       :: modifier
#endif
#ifndef KEPT
       :: keeps
#endif
       :: else ->
#ifdef UNCOMPARED
          state = FREE
#else
          d_step { if :: state == WRITER -> state = FREE :: else fi }
#endif
       fi
    :: else
    fi
}

/* Three writes, in the three ways. Between them, and in the end, the writer makes progress. */
active proctype writer() {
    byte way = 0;
    do
    :: way < 3 ->
       progress();
       if
       :: atomic { state == FREE -> state = WRITER };
          modifier = way == 1; keeps = way == 2;
          ENTER;
          if
          :: way > 0 -> progress()
          :: else
          fi;
          LEAVE;
          modifier = false; keeps = false;
          state = FREE; /* a store: no other rank changes it meanwhile */
          way++
       :: state == OTHER
       :: state == WRITER /* damaged: it asks itself */
#ifndef UNASKED
          -> d_step { if :: state == WRITER -> state = FREE :: else fi }
#endif
       fi
    :: else -> break
    od;
    over++;
end_idle:
    do
    :: questions > 0 -> progress()
    od
}

active proctype other() {
    byte times = 0;
    do
    :: times == 2 -> break
    :: atomic { times < 2 && state == FREE -> state = OTHER };
       ENTER; LEAVE;
       state = FREE;
       times++
#ifndef UNASKED
    :: times < 2 && state == WRITER && questions < 2 -> questions++
#endif
    od;
    over++
}

active proctype clock() {
    timeout -> assert(over == 2)
}

active proctype scribbler() {
    if
    :: atomic { state == FREE && inside == 0 -> state = WRITER }
    :: skip
    fi
}
