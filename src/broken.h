#ifndef TERN_SRC_BROKEN_H
#define TERN_SRC_BROKEN_H

/*
 * Defects that can be switched on in the containers, to show that the tests find them. Only the
 * build for that test (tests/histories) defines TERN_BREAK; in other builds the switches cost
 * nothing.
 */

typedef enum tern_break {
    TERN_BREAK_NOTHING,
    TERN_BREAK_SETTLE, /* an insert does not wait for an arriving entry that may have its key */
    TERN_BREAK_ENTRY,  /* a find does not check whether an entry is torn */
    TERN_BREAK_UPDATE, /* a find takes a torn entry for an absent key */
    TERN_BREAK_ADD,    /* an add loads and stores the counter, without an atomic */
    TERN_BREAK_TICKET, /* two pops may take the same ticket */
    TERN_BREAK_EMPTY,  /* a pop that meets a missing slot takes the queue for empty */
    TERN_BREAK_LATE,   /* a pop that succeeds after its deadline returns TERN_ERR_TIMEOUT */
    TERN_BREAK_ORDER,  /* a batch of pushes is stored in reverse order */
    TERN_BREAK_STEAL,  /* a pop that finds its own part empty takes the distributed queue for empty
                        */
    TERN_BREAK_FLUSH,  /* the flush of a buffer sends the keys but does not wait */
    TERN_BREAKS
} tern_break;

#ifdef TERN_BREAK
extern tern_break tern_broken; /* set by the test */
#define TERN_BROKEN(place) __builtin_expect(tern_broken == (place), 0)
#else
#define TERN_BROKEN(place) 0
#endif

#endif
