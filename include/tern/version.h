#ifndef TERN_VERSION_H
#define TERN_VERSION_H

/*
 * The version of tern. This is the one place that holds it: the build reads it from here.
 */

/* The parts of the version, as numbers. */
#define TERN_VERSION_MAJOR 0
#define TERN_VERSION_MINOR 2
#define TERN_VERSION_PATCH 0

/* Not for applications: a number as text. */
#define TERN_INTERNAL_TEXT_(n) #n
#define TERN_INTERNAL_TEXT(n) TERN_INTERNAL_TEXT_(n)

/* The version as text, with dots between the parts. */
#define TERN_VERSION_STRING                                                                        \
    TERN_INTERNAL_TEXT(TERN_VERSION_MAJOR)                                                         \
    "." TERN_INTERNAL_TEXT(TERN_VERSION_MINOR) "." TERN_INTERNAL_TEXT(TERN_VERSION_PATCH)

#endif
