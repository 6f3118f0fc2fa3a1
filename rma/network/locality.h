#ifndef TERN_RMA_NETWORK_LOCALITY_H
#define TERN_RMA_NETWORK_LOCALITY_H

#include <stdbool.h>

/* Whether this thread may run on a processor near a card. mask: the sysfs file with the card's
 * processors. Returns true if either of them is not known. */
bool tern_locality_is_near(const char *mask);

#endif
