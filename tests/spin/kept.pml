/*
 * Calls of two packets over one slot, which a server keeps in between; their clients give up at any
 * point (include/tern/mailbox.h, tern_mailbox_forget; paper 002, 8.1 and 8.4). A server forgets
 * only calls whose client has gone and whose packets have all been worked on, holds no slot in the
 * end, and may then stop for ever: the other one and another client go on.
 * -DFLAGS_FIRST: the flags are looked at before the client's lock.
 * -DANSWERS: a slot is kept for an answer that nobody reads.
 */

#define IMPATIENT 2 /* calls; one more is patient */

bit client_flag, server_flag;
byte client_lock, server_lock; /* its holder; 0: nobody */
byte packet, inside;
byte pending, kept;  /* the call whose packet is posted; that which the slot is kept for */
bool present[IMPATIENT + 2];
bool done;

#define QUIET 0
#define POSTED 1
#define FINISHED 2
#define ANSWERED 3
#define STATE (client_flag + 2 * server_flag)

#ifdef ANSWERS
#define OVER(state) (state == QUIET)
#else
#define OVER(state) (state == QUIET || state == ANSWERED)
#endif

#define ENTER inside++; assert(inside == 1)
#define LEAVE inside--

inline post(call, number) {
    ENTER; assert(packet == 0); packet = 10 * call + number; LEAVE;
    d_step { client_flag = 1; pending = call }
}

inline use(call, number) {
    ENTER; assert(packet == 100 + 10 * call + number); LEAVE;
    client_flag = 0
}

inline leave(call) {
    d_step { client_lock = 0; present[call] = false }
}

/* Takes a quiet slot, and finishes what others have left. */
inline take(call) {
    do
    :: atomic { client_lock == 0 -> client_lock = call; present[call] = true };
       if
       :: STATE == QUIET -> break
       :: STATE == ANSWERED -> client_flag = 0
       :: else
       fi;
       leave(call);
       STATE == QUIET || STATE == ANSWERED
    od
}

active [IMPATIENT] proctype impatient() {
    byte call = _pid + 1;
    take(call);
    post(call, 1);
    if
    :: skip
    :: server_flag == 1 -> use(call, 1);
       if
       :: skip
       :: server_flag == 0 -> post(call, 2);
          if
          :: skip
          :: server_flag == 1 -> use(call, 2)
          fi
       fi
    fi;
    leave(call)
}

active proctype patient() {
    byte call = IMPATIENT + 1;
    take(call);
    post(call, 1);
    server_flag == 1 -> use(call, 1);
    server_flag == 0 -> post(call, 2);
    server_flag == 1 -> use(call, 2);
    leave(call);
    done = true
}

#define HOLD atomic { server_lock == 0 || server_lock == me -> server_lock = me }

active [2] proctype server() {
    byte me = _pid - IMPATIENT, worked = 0, state; /* worked: the call that it has begun */
end_idle:
    do
    :: STATE == POSTED || STATE == FINISHED ->
       if
       :: HOLD;
          if
          :: STATE == POSTED ->
             ENTER;
             if
             :: packet % 10 == 1 -> worked = packet / 10
             :: else -> assert(worked == packet / 10); worked = 0
             fi;
             packet = packet + 100; LEAVE;
             d_step { server_flag = 1; pending = 0; kept = worked }
          :: STATE == FINISHED ->
             ENTER; packet = 0; LEAVE;
             server_flag = 0
          :: else
          fi;
          if
          :: worked == 0 -> server_lock = 0
          :: else
          fi
       :: server_lock != 0 && server_lock != me
       fi
    /* In the other states there is something to serve before. */
#ifdef FLAGS_FIRST
    :: server_lock == me && OVER(STATE) -> state = STATE;
       if
       :: client_lock == 0
       :: else -> state = POSTED
       fi;
#else
    :: server_lock == me && client_lock == 0 && OVER(STATE) -> state = client_flag;
       state = state + 2 * server_flag;
#endif
       if
       :: OVER(state) ->
          assert(!present[kept] && pending != kept);
          kept = 0; worked = 0; server_lock = 0
       :: else
       fi
    :: me == 1 && server_lock != me -> break /* stopped */
    od
}

/* When nobody can go on. */
active proctype end() {
    timeout;
    assert(done && server_lock == 0 && client_lock == 0 && pending == 0)
}
