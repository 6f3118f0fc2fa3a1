/*
 * Two clients and two servers over two slots with locks, the flags of a side packed into a word,
 * calls that wait and asynchronous ones (include/tern/mailbox.h, tern_mailbox_take and
 * tern_mailbox_serve; paper 002, 7.3, 7.4, 8.1 and 8.2). A packet is one worker's at a time, no
 * call is lost, none is worked on twice, and all workers come to their end, which nobody puts off
 * by going round and round.
 * -DONCE: a client that has taken a lock does not look at the slot again.
 */

#define CLIENTS 2
#define SERVERS 2
#define CALLS(client) (1 + (client))
#define ALL_CALLS 3

byte clients, servers; /* a bit for each slot */
bool client_lock[2], server_lock[2];
byte packet[2], inside[2];
byte posted, worked;

#define CLIENT(i) (clients >> i & 1)
#define SERVER(i) (servers >> i & 1)
#define STATE(i) (CLIENT(i) + 2 * SERVER(i))

#define QUIET 0
#define POSTED 1
#define FINISHED 2
#define ANSWERED 3

#define ENTER(i) inside[i]++; assert(inside[i] == 1)
#define LEAVE(i) inside[i]--

/* What a search does with a slot whose flags have shown a state: takes the lock or goes on, and
 * looks again. The two flags are two loads. */
inline hold(lock, i, state) {
    if
    :: atomic { !lock -> lock = true };
#ifndef ONCE
       state = CLIENT(i);
       state = state + 2 * SERVER(i)
#endif
    :: lock -> state = 4
    fi
}

active [CLIENTS] proctype client() {
    byte i, state, calls = 0, name = _pid + 1;
    do
    :: calls == CALLS(_pid) -> break
    :: calls < CALLS(_pid) ->
       if
       :: STATE(0) == QUIET && !client_lock[0] -> i = 0; state = QUIET
       :: STATE(0) == ANSWERED && !client_lock[0] -> i = 0; state = ANSWERED
       :: STATE(1) == QUIET && !client_lock[1] -> i = 1; state = QUIET
       :: STATE(1) == ANSWERED && !client_lock[1] -> i = 1; state = ANSWERED
       fi;
       hold(client_lock[i], i, state);
       if
       :: state == ANSWERED -> /* an asynchronous call of somebody's */
          clients = clients & ~(1 << i);
          client_lock[i] = false
       :: state == QUIET ->
          ENTER(i); assert(packet[i] == 0); packet[i] = name; LEAVE(i);
          posted++;
          clients = clients | (1 << i);
          if
          :: skip /* asynchronous */
          :: SERVER(i);
             ENTER(i); assert(packet[i] == name + 10); LEAVE(i);
             clients = clients & ~(1 << i)
          fi;
          client_lock[i] = false;
progress_call:
          calls++
       :: state == POSTED || state == FINISHED -> client_lock[i] = false
       :: state == 4 -> skip
       fi
    od
}

active [SERVERS] proctype server() {
    byte i, state;
end_idle:
    do
    :: if
       :: STATE(0) == POSTED && !server_lock[0] -> i = 0; state = POSTED
       :: STATE(0) == FINISHED && !server_lock[0] -> i = 0; state = FINISHED
       :: STATE(1) == POSTED && !server_lock[1] -> i = 1; state = POSTED
       :: STATE(1) == FINISHED && !server_lock[1] -> i = 1; state = FINISHED
       fi;
       hold(server_lock[i], i, state);
       if
       :: state == POSTED ->
          ENTER(i); assert(0 < packet[i] && packet[i] <= CLIENTS);
          packet[i] = packet[i] + 10; worked++; LEAVE(i);
          servers = servers | (1 << i);
          server_lock[i] = false
       :: state == FINISHED ->
          ENTER(i); packet[i] = 0; LEAVE(i);
          servers = servers & ~(1 << i);
          server_lock[i] = false
       :: state == QUIET || state == ANSWERED -> server_lock[i] = false
       :: state == 4 -> skip
       fi
    od
}

/* When nobody can go on. */
active proctype end() {
    timeout;
    assert(posted == ALL_CALLS && worked == posted);
    assert(!client_lock[0] && !client_lock[1] && !server_lock[0] && !server_lock[1])
}
