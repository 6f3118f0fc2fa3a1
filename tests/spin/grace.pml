/*
 * The move of a part's keys from array to array, of which every other one lies in the same memory
 * (hashtable/growth/growth.h, move.c, grace.c). Two ranks insert a key where it is not, erase and
 * find it, in a probe of two buckets, step by step, so that a compare-and-swap or an entry of
 * theirs may come late; the owner moves the keys meanwhile. Another key may stand before it. A
 * state word does not tell arrays apart; the check of an entry does. Each change takes effect where
 * the key is in the other state, and what an operation returns was so at some time while it was
 * under way.
 * -DUNVISITED: memory is used again without a grace period.
 * -DHALFWAY: a grace period ends while a rank is in the middle of an operation.
 * -DUNTOLD: the message of a grace period does not tell a rank where its operations begin from then
 * on.
 * -DUNFROZEN: the move leaves free buckets free.
 * -DEARLY: an entry says that it has moved before its copy is there.
 */

#define RANKS 2
#define OPERATIONS(rank) (2 - (rank))
#define MOVES 2
#define BUCKETS 2
#define KEY 1
#define OTHER 2
#define AT(array, i) ((array) % 2 * BUCKETS + (i))

#define FREE 0
#define TAKEN 1
#define LOCKED 2
#define FROZEN 3
#define LEFT 4

#define INVALID 0 /* what an entry says of the key that is looked for */
#define LIVE 1
#define ERASED 2
#define MOVED 3

#define INSERT 0
#define ERASE 1
#define FIND 2

/* Of a bucket: its state word, in three parts, and its entry. */
byte state[2 * BUCKETS], tag[2 * BUCKETS];
bool gone[2 * BUCKETS]; /* the erased bit */
byte check[2 * BUCKETS], key[2 * BUCKETS], stamp[2 * BUCKETS]; /* check: the array and 1 */

bool ready;           /* the table is created */
byte over;            /* ranks that have done all, and the owner */
byte start, next;     /* descriptor: where probes start; and where keys move to, or the same */
byte known[RANKS];    /* where a rank's probes start */
bool inside[RANKS];   /* it is in an operation */

bool present;          /* the key is, by what has taken effect */
bool was[2 * RANKS];   /* it was absent, or was present, since the rank's operation began */
#define WAS(rank, how) was[(rank) * 2 + (how)]

#define SAYS(b, array) ((check[b] == (array) + 1 && key[b] == KEY) -> stamp[b] : INVALID)
#define HAS(array) (SAYS(AT(array, 0), array) != INVALID || SAYS(AT(array, 1), array) != INVALID)

inline takes_effect(how) {
    assert(present != how);
    present = how;
    WAS(0, how) = true;
    WAS(1, how) = true
}

/* An entry arrives as a whole: what is torn does not pass. */
inline put(b, array, k, what) {
    check[b] = array + 1;
    key[b] = k;
    stamp[b] = what
}

inline onward() {
    if
    :: start > array -> array = start
    :: next > array -> array = array + 1
    fi;
    i = 0
}

/* An insert of a key that may be new in the next array: not there before the move is over, since an
 * array of the same size has no room to spare. */
inline beyond() {
    do
    :: kind != INSERT || start > array -> onward(); break
    :: kind == INSERT && start <= array && next > array && HAS(next) -> onward(); break
    :: kind == INSERT && start <= array && !(next > array && HAS(next)) ->
       inside[me] = false; /* waits */
       start > array || (next > array && HAS(next));
       inside[me] = true;
       if
       :: known[me] > array -> array = known[me]; i = 0; break
       :: else
       fi
    od
}


#define HERE AT(array, i)

inline operate() {
    i = 0;
    do
    :: i == BUCKETS ->
       if
       :: kind == INSERT || start > array || next > array -> beyond()
       :: kind != INSERT && start <= array && next <= array -> result = 0; break
       fi
    :: i < BUCKETS ->
       d_step { seen = state[HERE]; other = seen != FREE && seen != FROZEN && tag[HERE] != KEY };
       if
       :: seen == FROZEN -> beyond()
       :: seen == FREE && kind != INSERT -> result = 0; break
       :: seen == FREE && kind == INSERT ->
          if
          :: atomic { state[HERE] == FREE -> state[HERE] = TAKEN; tag[HERE] = KEY; gone[HERE] = false };
             atomic { put(HERE, array, KEY, LIVE); takes_effect(1) };
             result = 2;
             break
          :: state[HERE] != FREE
          fi
       :: other -> i++
       :: else ->
          says = SAYS(HERE, array);
          if
          :: says == MOVED -> onward()
          :: says == INVALID && kind == FIND && state[HERE] == TAKEN && check[HERE] != array + 1 -> i++
          :: says == INVALID && !(kind == FIND && state[HERE] == TAKEN) ->
             SAYS(HERE, array) != INVALID || state[HERE] == LEFT /* waits for the entry */
          :: says == LIVE && kind != ERASE -> result = 1; break
          :: says == ERASED && kind != INSERT -> result = 0; break
          :: (says == LIVE && kind == ERASE) || (says == ERASED && kind == INSERT) ->
             if
             :: atomic { state[HERE] == TAKEN && gone[HERE] == (kind == INSERT) -> state[HERE] = LOCKED };
                if
                :: kind == INSERT -> atomic { put(HERE, array, KEY, LIVE); takes_effect(1) }
                :: else -> atomic { put(HERE, array, KEY, ERASED); takes_effect(0) }
                fi;
                d_step { state[HERE] = TAKEN; gone[HERE] = kind == ERASE };
                result = 2;
                break
             :: state[HERE] == TAKEN && gone[HERE] != (kind == INSERT) -> result = kind == INSERT; break
             :: state[HERE] == LEFT -> onward()
             fi
          :: else
          fi
       fi
    od
}

active [RANKS] proctype rank() {
    byte me = _pid, times = 0, array, i, kind, seen, says, result;
    bool other;
    ready;
    do
    :: times < OPERATIONS(me) ->
       if :: kind = INSERT :: kind = ERASE :: kind = FIND fi;
       atomic {
           inside[me] = true;
           array = known[me];
           WAS(me, 0) = !present;
           WAS(me, 1) = present
       };
       operate();
       atomic {
           /* 2: it has taken effect; else whether the key was there */
           assert(result == 2 || WAS(me, result));
           inside[me] = false;
           result = 0; seen = 0; says = 0; other = false; array = 0; i = 0; kind = 0;
           times++
       }
    :: else -> break
    od;
    over++
}

/* The owner. */
active proctype move() {
    byte from = 0, i, to, k, j;
    if
    :: d_step { put(0, 0, OTHER, LIVE); state[0] = TAKEN; tag[0] = OTHER; ready = true }
    :: ready = true
    fi;
    do
    :: from < MOVES ->
#ifndef UNVISITED
       j = 0;
       do
       :: from > 0 && j < RANKS ->
#ifdef HALFWAY
          d_step { known[j] = from; j++ }
#elif defined(UNTOLD)
          atomic { !inside[j] -> j++ }
#else
          atomic { !inside[j] -> known[j] = from; j++ }
#endif
       :: else -> break
       od;
#endif
       atomic {
           to = from + 1;
           i = 0;
           do
           :: i < BUCKETS ->
              state[AT(to, i)] = FREE; tag[AT(to, i)] = 0; gone[AT(to, i)] = false;
              check[AT(to, i)] = 0; key[AT(to, i)] = 0; stamp[AT(to, i)] = 0;
              i++
           :: else -> break
           od;
           next = to;
           i = 0
       };
       do
       :: i < BUCKETS ->
          if
#ifdef UNFROZEN
          :: state[AT(from, i)] == FREE
#else
          :: atomic { state[AT(from, i)] == FREE -> state[AT(from, i)] = FROZEN }
#endif
          :: atomic {
                 state[AT(from, i)] == TAKEN && check[AT(from, i)] == from + 1 ->
                 state[AT(from, i)] = LOCKED
             };
             k = key[AT(from, i)];
             if
             :: stamp[AT(from, i)] == LIVE ->
#ifdef EARLY
                stamp[AT(from, i)] = MOVED;
#endif
                j = 0;
                do
                :: atomic { state[AT(to, j)] == FREE -> state[AT(to, j)] = TAKEN; tag[AT(to, j)] = k };
                   d_step { put(AT(to, j), to, k, LIVE) };
                   break
                :: state[AT(to, j)] != FREE -> assert(tag[AT(to, j)] != k); j++
                od
             :: else
             fi;
             stamp[AT(from, i)] = MOVED;
             state[AT(from, i)] = LEFT
          fi;
          i++
       :: else -> break
       od;
       start = to;
       from = to;
       k = 0; j = 0; i = 0
    :: else -> break
    od;
    over++
}

/* When no rank can go on. */
active proctype clock() {
    timeout -> assert(over == RANKS + 1)
}
