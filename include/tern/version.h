#ifndef TERN_VERSION_H
#define TERN_VERSION_H

/* The one place that holds the version: the build reads it from here. */
#define TERN_VERSION_MAJOR 0
#define TERN_VERSION_MINOR 2
#define TERN_VERSION_PATCH 0

#define TERN_VERSION_TEXT_(n) #n
#define TERN_VERSION_TEXT(n) TERN_VERSION_TEXT_(n)
#define TERN_VERSION_STRING                                                                        \
    TERN_VERSION_TEXT(TERN_VERSION_MAJOR)                                                          \
    "." TERN_VERSION_TEXT(TERN_VERSION_MINOR) "." TERN_VERSION_TEXT(TERN_VERSION_PATCH)

#endif
