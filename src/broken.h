#ifndef TERN_SRC_BROKEN_H
#define TERN_SRC_BROKEN_H

/*
 * Places where the containers can be made wrong on purpose, to see that the tests find out. Only a
 * build for that test (tests/histories) defines TERN_BREAK; elsewhere nothing is left of them.
 */

typedef enum tern_break {
    TERN_BREAK_NOTHING,
    TERN_BREAK_SETTLE, /* an insert passes by an entry that is on its way and may be its key's */
    TERN_BREAK_ENTRY,  /* entries are believed unchecked */
    TERN_BREAK_UPDATE, /* a find takes a torn entry for none */
    TERN_BREAK_ADD,    /* a counter is loaded, then stored */
    TERN_BREAK_TICKET, /* a pop may take the ticket of another */
    TERN_BREAK_EMPTY,  /* a slot that is not there is an empty queue */
    TERN_BREAK_LATE,   /* a pop that comes to its end behind the deadline says that it did not */
    TERN_BREAK_ORDER,  /* a batch of pushes is put the other way round */
    TERN_BREAK_STEAL,  /* an own part that is empty is an empty distributed queue */
    TERN_BREAK_FLUSH,  /* the flush of a buffer sends and does not wait */
    TERN_BREAKS
} tern_break;

#ifdef TERN_BREAK
extern tern_break tern_broken; /* the test's */
#define TERN_BROKEN(place) __builtin_expect(tern_broken == (place), 0)
#else
#define TERN_BROKEN(place) 0
#endif

#endif
