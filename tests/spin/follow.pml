/*
 * A remote operation, called a flight here (hashtable/op/remote.c, follow.c), while the part's keys
 * move from array to array, of which every other one lies in the same memory
 * (hashtable/growth/move.c, grace.c). The owner serves the flight's puts (rma/put_if.c). Another
 * operation of the same worker works on the same key by load and store, step by step. The message
 * of a grace period passes the worker when it is in no such operation and its flight holds no array
 * older than the message's. While keys move to an array it has no room for new ones. Each change
 * takes effect where the key is in the other state, and what an operation returns was so at some
 * time while it was under way. No operation touches an array that is gone.
 * -DUNCOMPARED: the owner puts whatever the state is.
 * -DHALFWAY: a grace period does not ask the flight what it holds.
 * -DSTALE: a flight that has waited outside goes on in the array that it held before.
 */

#define FLIGHTS 1
#define OTHERS 1
#define MOVES 3
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

bool ready;       /* the table is created */
byte over;        /* processes that have done all */
byte start, next; /* descriptor: where probes start; and where keys move to, or the same */
byte known;       /* where the worker's probes start */
byte freed;       /* for the worker the arrays before this one are gone */
bool inside;      /* the worker is in the other operation */
bool holds;       /* its flight holds an array, */
byte held;        /* which is this one */

bool present;     /* the key is, by what has taken effect */
bool was[4];      /* it was absent, or was present, since the operation began */
#define WAS(who, how) was[(who) * 2 + (how)]

#define SAYS(b, array) ((check[b] == (array) + 1 && key[b] == KEY) -> stamp[b] : INVALID)
#define IS_OTHER(b, array) (check[b] == (array) + 1 && key[b] != KEY)
#define HAS(array) (SAYS(AT(array, 0), array) != INVALID || SAYS(AT(array, 1), array) != INVALID)
#define HERE AT(array, i)

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

inline begin(who) {
    WAS(who, 0) = !present;
    WAS(who, 1) = present
}

/* The flight's next array. It holds one from its beginning to its end, but for its waits. */
inline into(which, allowed) {
    array = which;
    held = array;
    permitted = allowed;
    i = 0
}

/* By a message, as the answer to a put is, or by a get: the words come in any order. */
inline look() {
    assert(array >= freed);
    if
    :: seen = state[HERE]; d_step { says = SAYS(HERE, array); other = IS_OTHER(HERE, array) }
    :: d_step { says = SAYS(HERE, array); other = IS_OTHER(HERE, array) }; seen = state[HERE]
    fi
}

/* The owner's put of a new key. */
inline store_new() {
    assert(array >= freed);
    if
#ifdef UNCOMPARED
    :: d_step { state[HERE] = TAKEN; tag[HERE] = KEY; gone[HERE] = false };
#else
    :: atomic { state[HERE] == FREE -> state[HERE] = TAKEN; tag[HERE] = KEY; gone[HERE] = false };
#endif
       atomic { put(HERE, array, KEY, LIVE); takes_effect(1) };
       result = 2
#ifndef UNCOMPARED
    :: atomic { state[HERE] != FREE -> look() }
#endif
    fi
}

/* The owner's put of another entry of a key that has a bucket. */
inline store_again() {
    assert(array >= freed);
    if
#ifdef UNCOMPARED
    :: state[HERE] = LOCKED;
#else
    :: atomic { state[HERE] == TAKEN && gone[HERE] == (kind == INSERT) -> state[HERE] = LOCKED };
#endif
       if
       :: kind == INSERT -> atomic { put(HERE, array, KEY, LIVE); takes_effect(1) }
       :: else -> atomic { put(HERE, array, KEY, ERASED); takes_effect(0) }
       fi;
       d_step { state[HERE] = TAKEN; gone[HERE] = kind == ERASE };
       result = 2
#ifndef UNCOMPARED
    :: atomic { !(state[HERE] == TAKEN && gone[HERE] == (kind == INSERT)) -> look() }
#endif
    fi
}

/* Goes on behind an array, by the array descriptor. moved: the key is there if it is not erased. */
inline leave(moved) {
    atomic {
        if
        :: start > array -> known = start; into(start, true)
        :: else -> into(array + 1, moved || kind != INSERT)
        fi
    };
    look()
}

/* A free bucket of an array that keys are being moved to: waits until they have, and holds no array
 * meanwhile. */
inline ask_room() {
    if
    :: atomic { start >= array -> known = start; permitted = true }
    :: atomic { start < array -> holds = false };
       /* the next look at the array descriptor, at any time */
       atomic {
           known = (start > known -> start : known);
           holds = true;
#ifndef STALE
           if
           :: known > array -> into(known, true)
           :: else
           fi
#endif
       };
       look()
    fi
}

active proctype flight() {
    byte times = 0, array, i, kind, seen, says, result = 3;
    bool permitted, other;
    ready;
    do
    :: times < FLIGHTS ->
       if :: kind = INSERT :: kind = ERASE :: kind = FIND fi;
       atomic { holds = true; into(known, true); begin(0) };
       if
       :: kind == INSERT -> store_new()
       :: else -> look()
       fi;
       do
       :: result != 3 -> break
       :: result == 3 && other -> i++; assert(i < BUCKETS); look()
       :: result == 3 && !other && says == MOVED -> leave(true)
       :: result == 3 && !other && says == INVALID ->
          if
          :: seen == FROZEN -> leave(false)
          :: seen == FREE && kind != INSERT -> result = 0
          :: seen == FREE && kind == INSERT && permitted -> store_new()
          :: seen == FREE && kind == INSERT && !permitted -> ask_room()
          :: seen != FROZEN && seen != FREE ->
             /* the state, as new as the entry */
             assert(array >= freed);
             seen = state[HERE];
             if
             :: seen == TAKEN && tag[HERE] == KEY && kind == FIND -> result = 0 /* on its way */
             :: else -> look()
             fi
          fi
       :: result == 3 && !other && (says == LIVE || says == ERASED) ->
          if
          :: says == LIVE && kind != ERASE -> result = 1
          :: says == ERASED && kind != INSERT -> result = 0
          :: (says == LIVE) == (kind == ERASE) && kind != FIND && seen == LEFT -> leave(true)
          :: (says == LIVE) == (kind == ERASE) && kind != FIND && seen == LOCKED -> look()
          :: (says == LIVE) == (kind == ERASE) && kind != FIND && seen != LEFT && seen != LOCKED ->
             store_again()
          fi
       od;
       atomic {
           /* 2: it has taken effect; else whether the key was there */
           assert(result == 2 || WAS(0, result));
           holds = false; held = 0;
           result = 3; seen = 0; says = 0; other = false; array = 0; i = 0; kind = 0;
           permitted = false;
           times++
       }
    :: else -> break
    od;
    over++
}

inline onward() {
    if
    :: start > array -> array = start
    :: next > array -> array = array + 1
    fi;
    i = 0
}

inline beyond() {
    do
    :: kind != INSERT || start > array -> onward(); break
    :: kind == INSERT && start <= array && next > array && HAS(next) -> onward(); break
    :: kind == INSERT && start <= array && !(next > array && HAS(next)) ->
       inside = false; /* waits */
       start > array || (next > array && HAS(next));
       inside = true;
       if
       :: known > array -> array = known; i = 0; break
       :: else
       fi
    od
}

inline operate() {
    i = 0;
    do
    :: d_step { seen = state[HERE]; other = seen != FREE && seen != FROZEN && tag[HERE] != KEY };
       assert(array >= freed);
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
       :: other -> i++; assert(i < BUCKETS)
       :: else ->
          says = SAYS(HERE, array);
          if
          :: says == MOVED -> onward()
          :: says == INVALID && kind == FIND && state[HERE] == TAKEN && check[HERE] != array + 1 ->
             result = 0; break
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

active proctype operation() {
    byte times = 0, array, i, kind, seen, says, result;
    bool other;
    ready;
    do
    :: times < OTHERS ->
       if :: kind = INSERT :: kind = ERASE :: kind = FIND fi;
       atomic { inside = true; array = known; begin(1) };
       operate();
       atomic {
           assert(result == 2 || WAS(1, result));
           inside = false;
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
    :: d_step { put(0, 0, KEY, LIVE); state[0] = TAKEN; tag[0] = KEY; present = true; ready = true }
    :: ready = true
    fi;
    do
    :: from < MOVES ->
       if
       :: from == 0
#ifdef HALFWAY
       :: atomic { from > 0 && !inside -> known = from; freed = from }
#else
       :: atomic { from > 0 && !inside && !(holds && held < from) -> known = from; freed = from }
#endif
       fi;
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
          :: atomic { state[AT(from, i)] == FREE -> state[AT(from, i)] = FROZEN }
          :: atomic {
                 state[AT(from, i)] == TAKEN && check[AT(from, i)] == from + 1 ->
                 state[AT(from, i)] = LOCKED
             };
             k = key[AT(from, i)];
             if
             :: stamp[AT(from, i)] == LIVE ->
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

/* When no process can go on. */
active proctype clock() {
    timeout -> assert(over == 3)
}
