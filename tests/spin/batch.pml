/*
 * The batched outbox of include/tern/detail/mailbox_flags.h (layout TERN_MAILBOX_CAS; paper 002, 8.3) by
 * itself: clients that change their own bits of one word through a staged one, as often as they
 * like. -DUNCHECKED swaps without a look at the own bit before: then Spin finds a bit that is
 * published and is not its holder's, which is a call that nobody made, or one taken back.
 */

#ifdef UNCHECKED
#define CLIENTS 2 /* are enough */
#else
#define CLIENTS 3
#endif

byte staged, shared;
bool outbox[3]; /* what each client has written */
bool writing[3];

/* A writer that is not just writing finds what it wrote, whatever its neighbours do. */
#define SAFE(i) (writing[i] || (shared >> i & 1) == outbox[i])

active [CLIENTS] proctype client() {
    byte me = _pid, seen, wanted;
    do
    :: atomic {
           writing[me] = true;
           outbox[me] = 1 - outbox[me];
           staged = staged ^ (1 << me)
       }
       do
       :: seen = shared;
          wanted = staged;
          if
#ifndef UNCHECKED
          :: ((seen ^ wanted) >> me & 1) == 0 -> break
          :: else
#else
          :: skip
#endif
          fi;
          if
          :: atomic { shared == seen -> shared = wanted };
             break
          :: atomic { shared != seen ->
             if
             :: (shared >> me & 1) == outbox[me] -> break
             :: else
             fi }
          fi
       od;
       atomic { writing[me] = false; seen = 0; wanted = 0 }
    od
}

/* May look at any time. */
active proctype monitor() {
    assert(SAFE(0) && SAFE(1) && SAFE(2))
}
