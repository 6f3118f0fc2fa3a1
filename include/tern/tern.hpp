#ifndef TERN_TERN_HPP
#define TERN_TERN_HPP

/*
 * tern for C++17: owners for contexts, workers, teams, tables, maps and queues, typed pointers,
 * puts, gets and atomics, collectives, futures, and C++ functions as remote calls. Headers alone,
 * over the functions of tern/tern.h, which can be used beside them. Nothing here needs exceptions
 * or run-time types. docs/languages.md has a program. Each header can also be included alone.
 */

#include "tern/cpp/accumulate.hpp"
#include "tern/cpp/bytes.hpp"
#include "tern/cpp/call.hpp"
#include "tern/cpp/call_in_place.hpp"
#include "tern/cpp/context.hpp"
#include "tern/cpp/distributed_queue.hpp"
#include "tern/cpp/future.hpp"
#include "tern/cpp/hash_map.hpp"
#include "tern/cpp/map.hpp"
#include "tern/cpp/modify.hpp"
#include "tern/cpp/notify.hpp"
#include "tern/cpp/number.hpp"
#include "tern/cpp/object.hpp"
#include "tern/cpp/part.hpp"
#include "tern/cpp/pointer.hpp"
#include "tern/cpp/queue.hpp"
#include "tern/cpp/result.hpp"
#include "tern/cpp/strided.hpp"
#include "tern/cpp/team.hpp"
#include "tern/cpp/transfer.hpp"
#include "tern/cpp/wait.hpp"
#include "tern/tern.h"

#endif
