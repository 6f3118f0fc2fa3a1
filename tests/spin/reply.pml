/*
 * A reply cell (rma/reply/reply.h) that is used twice. The asker gives up the first answer at any point
 * before it is there, as it does after a death, and asks again as soon as the cell is free. The
 * first answer may come at any time, also never. The second one must arrive whole and stay.
 * One of these says how the first answer comes:
 * -DSHM: by stores of its rank, which either ends before it has stored all, or is alive and slow.
 * -DP2P: by a message, which a thread of the asker's process serves.
 * -DRMA: by a put whose words come in any order, from a rank that has died.
 * The second one comes by stores of a rank of the same node, or, in the case of P2P and RMA, in the
 * same way as the first one.
 * And these are defects:
 * -DEARLY: the cell is free although the first answer may still come (SHM, RMA).
 * -DUNCOMPARED: the server of a message does not compare its sequence (P2P).
 * -DUNLOCKED: the asker does not take the lock of those who serve (P2P).
 */

typedef cell { byte sequence, content, check }
cell memory[2];
byte place;    /* where the cell lies */
byte given_up; /* no answer up to this sequence is waited for */
bit lock;
bool ended; /* the rank that gives the first answer */
bool done;

#define LOCK atomic { lock == 0 -> lock = 1 }
#define UNLOCK lock = 0

#define ARRIVED(n)                                                                                 \
    (memory[place].sequence == n && memory[place].content == n && memory[place].check == n)

/* By stores: the sequence is the last one. */
inline store(n, at) {
    memory[at].content = n;
    memory[at].check = n;
    memory[at].sequence = n
}

inline serve(n, at) {
    LOCK;
    if
#ifndef UNCOMPARED
    :: n <= given_up
#endif
    :: n > given_up -> store(n, at)
#ifdef UNCOMPARED
    :: n <= given_up -> store(n, at)
#endif
    fi;
    UNLOCK
}

/* By a put: each word once, in any order. */
inline put(n, at) {
    bool a = false, b = false, c = false;
    do
    :: !a -> atomic { memory[at].sequence = n; a = true }
    :: !b -> atomic { memory[at].content = n; b = true }
    :: !c -> atomic { memory[at].check = n; c = true }
    :: a && b && c -> break
    od
}

/* Where the cell lay when the answer was asked for. */
proctype first(byte at) {
#ifdef SHM
    /* Ended is set behind the last store, whichever that is. */
    if
    :: store(1, at)
    :: memory[at].content = 1
    :: skip
    fi;
    ended = true
#endif
#ifdef P2P
    if
    :: serve(1, at)
    :: skip
    fi
#endif
#ifdef RMA
    if
    :: put(1, at)
    :: memory[at].sequence = 1
    :: skip
    fi
#endif
}

proctype second(byte at) {
#ifdef SHM
    store(2, at)
#endif
#ifdef P2P
    if
    :: serve(2, at)
    :: store(2, at)
    fi
#endif
#ifdef RMA
    if
    :: put(2, at)
    :: store(2, at)
    fi
#endif
}

active proctype asker() {
    run first(place);
    if
    :: ARRIVED(1) /* and is taken */
    :: skip ->
#ifndef UNLOCKED
       LOCK;
#endif
       given_up = 1;
#ifndef UNLOCKED
       UNLOCK;
#endif
#ifndef EARLY
#ifdef SHM
       ARRIVED(1) || ended;
#endif
#ifdef RMA
       if
       :: ARRIVED(1)
       :: place = 1
       fi
#endif
#endif
    fi;
    run second(place);
    ARRIVED(2);
    done = true
}

/* When nobody can go on. */
active proctype end() {
    timeout;
    assert(done && ARRIVED(2))
}
