/*
 * A bucket whose state says that a rank is writing the bucket, and the liveness query to that rank
 * (hashtable/arrays/liveness.c). The rank has two workers. Once, while no rank holds the bucket,
 * damage makes the state name that rank. A rank that waits asks the first worker, which passes the
 * query on to the second one. If neither is writing the bucket, the second one marks the state as
 * wrong, which ends all waits. At most one rank writes at a time, no rank marks a bucket as wrong
 * while another is writing it, and no rank waits for ever.
 * -DUNCOUNTED: the modifiers that make progress with a bucket in hand are not counted.
 * -DKEPT: the bucket that the move keeps from round to round is marked, too.
 * -DUNMARKED: the first worker leaves no mark that the second one would miss.
 * -DUNCOMPARED: the last worker does not compare the state.
 * -DUNASKED: no rank asks.
 */

#define FREE 0
#define WRITER 1  /* a worker of the rank that is asked */
#define OTHER 2
#define SUSPICIOUS 3 /* WRITER, with the mark of the first worker */
#define WRONG 4

byte state;
byte inside;        /* those who are writing the bucket */
byte asked[2];      /* queries to a worker that it has not read */
bool modifier;      /* the rank runs one */
bool keeps;         /* the rank's move keeps the bucket */
byte over;          /* workers that have done all their writes */

#define ENTER inside++; assert(inside == 1)
#define LEAVE inside--

inline answer_first() {
    d_step {
        if
#ifndef UNMARKED
        :: state == WRITER -> state = SUSPICIOUS; asked[1] = 1
#else
        :: state == WRITER -> asked[1] = 1
#endif
        :: state == SUSPICIOUS -> asked[1] = 1
        :: else
        fi
    }
}

inline answer_last() {
    d_step {
        if
#if defined(UNCOMPARED)
        :: true -> assert(inside == 0); state = WRONG
#elif defined(UNMARKED)
        :: state == WRITER -> assert(inside == 0); state = WRONG
#else
        :: state == SUSPICIOUS -> assert(inside == 0); state = WRONG
#endif
        :: else
        fi
    }
}

/* A round of progress of a worker. */
inline progress(me) {
    if
    :: asked[me] > 0 ->
       asked[me]--;
       if
#ifndef UNCOUNTED
       :: modifier
#endif
#ifndef KEPT
       :: keeps
#endif
       :: else ->
          if
          :: me == 0 -> answer_first()
          :: else -> answer_last()
          fi
       fi
    :: else
    fi
}

/* Three writes, in the three ways. Between them, and in the end, a worker makes progress. Only the
 * second one runs the move. */
proctype worker(byte me) {
    byte way = 0;
    do
    :: way < 3 ->
       progress(me);
       if
       :: atomic { state == FREE -> state = WRITER };
          if
          :: way == 1 -> modifier = true
          :: way == 2 && me == 1 -> keeps = true
          :: else
          fi;
          ENTER;
          if
          :: way > 0 && (modifier || keeps) -> progress(me)
          :: else
          fi;
          LEAVE;
          modifier = false; keeps = false;
          state = FREE; /* a store, over the mark */
          way++
       :: state == OTHER
#ifndef UNASKED
       :: (state == WRITER || state == SUSPICIOUS) && asked[0] == 0 -> asked[0] = 1
#endif
       :: state == WRONG -> break /* TERN_ERR_CORRUPT */
       :: asked[me] > 0 -> skip
       fi
    :: else -> break
    od;
    over++;
end_idle:
    do
    :: asked[me] > 0 -> progress(me)
    od
}

proctype other() {
    byte times = 0;
    do
    :: times == 2 -> break
    :: atomic { times < 2 && state == FREE -> state = OTHER };
       ENTER; LEAVE;
       state = FREE;
       times++
#ifndef UNASKED
    :: times < 2 && (state == WRITER || state == SUSPICIOUS) && asked[0] == 0 -> asked[0] = 1
#endif
    :: state == WRONG -> break
    od;
    over++
}

proctype clock() {
    timeout -> assert(over == 3)
}

proctype scribbler() {
    if
    :: atomic { state == FREE && inside == 0 -> state = WRITER }
    :: skip
    fi
}

init {
    atomic { run worker(0); run worker(1); run other(); run clock(); run scribbler() }
}
