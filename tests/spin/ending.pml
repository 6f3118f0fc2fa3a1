/*
 * The end of the work in a distributed queue (queue/ending.h): two ranks, of which the first has two
 * workers. Items are pushed to any part and popped from any; work on one may push more. Each rank
 * reports what was begun and finished, and rank 0 decides. When it says that the work has ended, no
 * item is left and nobody works on one, and at last it does say so.
 * -DONCE: what is begun is compared with what was finished in the same round.
 * -DEARLY: an item is finished when it is popped.
 */

#define RANKS 2
#define ITEMS 2 /* at most */

byte items[RANKS], begun[RANKS], finished[RANKS];
byte pushed, open; /* items that are not finished */
byte reports, sum_begun, sum_finished, before;
bool counted, ended;
bool reported[RANKS], stepping[RANKS];

inline push(part) {
    atomic { items[part]++; begun[part]++; pushed++; open++ }
}

inline work_on(rank) {
#ifdef EARLY
    finished[rank]++;
#endif
    do
    :: pushed < ITEMS -> push(0)
    :: pushed < ITEMS -> push(1)
    :: break
    od;
#ifdef EARLY
    open--
#else
    atomic { finished[rank]++; open-- }
#endif
}

/* In the order of the code: what is begun is read first. */
inline report(rank) {
    b = begun[rank];
    f = finished[rank];
    atomic {
        sum_begun = sum_begun + b;
        sum_finished = sum_finished + f;
        reported[rank] = true;
        reports++
    }
}

proctype worker(byte rank) {
    byte b, f;
    do
    :: ended -> break
    :: atomic { items[0] > 0 -> items[0]-- } work_on(rank)
    :: atomic { items[1] > 0 -> items[1]-- } work_on(rank)
    :: atomic { !ended && !reported[rank] && !stepping[rank] -> stepping[rank] = true }
       report(rank);
       stepping[rank] = false
    od
}

/* Rank 0, once all have reported. Reports of the next round come after its verdict. */
proctype root() {
    do
    :: atomic {
           reports == RANKS ->
#ifdef ONCE
           ended = sum_begun == sum_finished;
#else
           ended = counted && sum_begun == before;
#endif
           assert(!ended || open == 0);
           counted = true;
           before = sum_finished;
           sum_begun = 0;
           sum_finished = 0;
           reports = 0;
           reported[0] = false;
           reported[1] = false
       }
       if
       :: ended -> break
       :: else
       fi
    od
}

init {
    push(0);
    atomic {
        run worker(0);
        run worker(0);
        run worker(1);
        run root()
    }
}
