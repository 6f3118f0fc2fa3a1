#ifndef TERN_TERN_H
#define TERN_TERN_H

/* All of tern. Each header below can also be included alone. */

#include "tern/archive.h"
#include "tern/buffer.h"
#include "tern/call.h"
#include "tern/call_archive.h"
#include "tern/chunk.h"
#include "tern/circular.h"
#include "tern/collective.h"
#include "tern/combine.h"
#include "tern/config.h"
#include "tern/context.h"
#include "tern/distributed_queue.h"
#include "tern/hashtable.h"
#include "tern/hashtable_modify.h"
#include "tern/lock.h"
#include "tern/log.h"
#include "tern/memory.h"
#include "tern/message.h"
#include "tern/notify.h"
#include "tern/progress.h"
#include "tern/promise.h"
#include "tern/ptr.h"
#include "tern/queue.h"
#include "tern/registration.h"
#include "tern/remote.h"
#include "tern/rendezvous.h"
#include "tern/stats.h"
#include "tern/status.h"
#include "tern/synchronizer.h"
#include "tern/transfer.h"
#include "tern/value.h"
#include "tern/vector.h"
#include "tern/version.h"

#endif
