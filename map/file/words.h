#ifndef TERN_MAP_FILE_WORDS_H
#define TERN_MAP_FILE_WORDS_H

/*
 * What the sections of a map's file hold. The header, the checks and the size of sections are those
 * of hashtable/file/format.h; a record is a word of 8 bytes.
 *
 *     0    how many of the next words belong to an item that began in an earlier section; more than
 *          the section has if the item goes on behind it
 *     1..  items, one right behind the other
 *
 * An item is the word of lengths of a descriptor (map/map.h), the key, and the value; zeros fill up
 * the last word of the key and of the value. An item may go on in the next sections of the same
 * rank. With word 0 a rank can begin at any section, so ranks read their sections on their own.
 */

#include "map/map.h"
#include "tern/map.h"

static inline uint64_t tern_map_words_of(uint64_t bytes) { return (bytes + 7) / 8; }

/* The words of an item behind that of its lengths. */
static inline uint64_t tern_map_item_words(uint64_t lengths) {
    return tern_map_words_of(tern_map_descriptor_key_bytes(&lengths)) +
           tern_map_words_of(tern_map_descriptor_value_bytes(&lengths));
}

#endif
