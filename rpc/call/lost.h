#ifndef TERN_RPC_CALL_LOST_H
#define TERN_RPC_CALL_LOST_H

#include "rpc/call/overflow.h"

/* For a call that was taken and can never be sent: whoever waits for it in this process hears the
 * status, with the detail, and it counts as over. The worker is that of this thread, origin the one
 * that made the call. */
void tern_call_lost(tern_worker *worker, uint32_t origin, const tern_pending_call *call,
                    tern_status status);

#endif
