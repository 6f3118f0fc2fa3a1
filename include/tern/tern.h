#ifndef TERN_TERN_H
#define TERN_TERN_H

/* All of libtern. Each header below can also be included alone. The headers of tern's other
 * libraries are included by themselves: tern/mcts.h and tern/game.h (libtern_mcts), tern/mailbox*.h
 * and tern/sandbox*.h (libtern_mailbox). */

#include "tern/accumulate.h"
#include "tern/agree.h"
#include "tern/archive.h"
#include "tern/call.h"
#include "tern/call_in_place.h"
#include "tern/circular.h"
#include "tern/combine.h"
#include "tern/config.h"
#include "tern/container.h"
#include "tern/context.h"
#include "tern/distributed_queue.h"
#include "tern/hashtable.h"
#include "tern/lock.h"
#include "tern/map.h"
#include "tern/memory.h"
#include "tern/message.h"
#include "tern/model.h"
#include "tern/notify.h"
#include "tern/number.h"
#include "tern/part.h"
#include "tern/progress.h"
#include "tern/ptr.h"
#include "tern/queue.h"
#include "tern/registration.h"
#include "tern/remote.h"
#include "tern/rendezvous.h"
#include "tern/request.h"
#include "tern/stats.h"
#include "tern/status.h"
#include "tern/strided.h"
#include "tern/synchronizer.h"
#include "tern/team.h"
#include "tern/transfer.h"
#include "tern/wait.h"

#endif
