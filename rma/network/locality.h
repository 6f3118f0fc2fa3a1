#ifndef TERN_RMA_NETWORK_LOCALITY_H
#define TERN_RMA_NETWORK_LOCALITY_H

#include <stdbool.h>

/* Whether this thread may run on a processor near to a card. mask: the file of sysfs that names
 * those processors. True if one of the two is not known. */
bool tern_locality_is_near(const char *mask);

#endif
