#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "rma/network/process.h"
#include "rma/state.h"
#include "rma/transport/mpi_rma.h"
#include "src/collective/collective.h"
#include "src/log.h"

/* Which transport serves pairs that share no memory. */

/* Different providers do not reach each other. */
static tern_status compare_providers(tern_context *context, const tern_rma *rma) {
    const char *name = rma->native->network->name;
    const uint64_t mine = XXH3_64bits(name, strlen(name)) >> 32;
    uint64_t sum = mine;
    tern_status status = tern_collective_sum(context, NULL, &sum, 1);
    if (status == TERN_OK && sum != mine * context->size)
        status = tern_fail(TERN_ERR_MISMATCH,
                           "the ranks find different providers of libfabric, this one %s; give "
                           "every rank the same FI_PROVIDER",
                           name);
    return tern_collective_agree(context, NULL, status, "comparing providers");
}

/* [out] ofi: what it is good for. TERN_ERR_UNSUPPORTED, on some rank: there is none. */
static tern_status open_ofi(tern_context *context, tern_rma *rma, tern_network_findings *ofi) {
#ifdef TERN_HAVE_OFI
    tern_status status = tern_native_open(context, &tern_network_ofi, &rma->native);
#else
    tern_status status =
        tern_fail(TERN_ERR_UNSUPPORTED, "ofi: tern was built without libfabric (libfabric-dev)");
#endif
    status = tern_collective_agree(context, NULL, status, "opening the network");
    if (status == TERN_OK)
        status = compare_providers(context, rma);
    if (status == TERN_OK)
        status = tern_native_probe(context, rma->native, ofi);
    return status;
}

static void close_ofi(tern_rma *rma) {
    tern_native_close(rma->native);
    rma->native = NULL;
}

static tern_status take_ofi(tern_context *context, tern_rma *rma, const char *reason) {
    const tern_network *network = rma->native->network;
    rma->far = &tern_transport_ofi;
    if (context->rank == 0)
        tern_log(TERN_LOG_INFO, "transport between nodes: ofi over %s, because %s; it needs %s",
                 network->name, reason,
                 network->one_sided ? "no help of its targets" : "progress of its targets");
    return TERN_OK;
}

static tern_status force_ofi(tern_context *context, tern_rma *rma) {
    tern_network_findings ofi;
    tern_status status = open_ofi(context, rma, &ofi);
    if (status != TERN_OK)
        return status;
    if (!ofi.works)
        return tern_fail(TERN_ERR_UNSUPPORTED,
                         "TERN_TRANSPORT=ofi, but a put over %s does not land here; use p2p, or "
                         "another provider (FI_PROVIDER)",
                         rma->native->network->name);
    return take_ofi(context, rma, "TERN_TRANSPORT says so");
}

/* Whether ofi is there, needs no help and is about as fast as messages. */
static tern_status try_ofi(tern_context *context, tern_rma *rma, bool *taken) {
    tern_network_findings ofi;
    tern_status status = open_ofi(context, rma, &ofi);
    *taken = status == TERN_OK && ofi.one_sided && ofi.trip <= ofi.message_trip * 6 / 5;
    if (*taken)
        return take_ofi(context, rma, "a put lands while its target sleeps, as fast as a message");
    if (status == TERN_OK && context->rank == 0)
        tern_log(TERN_LOG_INFO,
                 "not ofi over %s: a put %s, and takes %.1f us where a message and "
                 "its answer take %.1f",
                 rma->native->network->name,
                 !ofi.works       ? "does not land"
                 : !ofi.one_sided ? "does not land while its target sleeps"
                                  : "lands while its target sleeps",
                 (double)ofi.trip / 1e3, (double)ofi.message_trip / 1e3);
    close_ofi(rma);
    if (status == TERN_ERR_UNSUPPORTED || status == TERN_ERR_NETWORK ||
        status == TERN_ERR_MISMATCH) {
        tern_log(TERN_LOG_INFO, "%s", tern_error_detail());
        tern_error_clear();
        status = TERN_OK;
    }
    return status;
}

/* rma, or p2p. */
static tern_status choose_mpi(tern_context *context, tern_rma *rma) {
    tern_transport_choice choice = context->config.transport;
    tern_window_findings probe;
    tern_status status = tern_window_probe(context, &probe);
    if (status != TERN_OK)
        return status;
    tern_rma_atomics atomics = context->config.rma_atomics;
    if (choice == TERN_TRANSPORT_RMA && !probe.works)
        return tern_fail(TERN_ERR_UNSUPPORTED,
                         "TERN_TRANSPORT=rma, but MPI makes no window here; use p2p");
    if (choice == TERN_TRANSPORT_RMA && atomics == TERN_RMA_ATOMICS_MPI && !probe.atomics)
        return tern_fail(TERN_ERR_UNSUPPORTED,
                         "TERN_RMA_ATOMICS=mpi, but this MPI's atomics crash or lose updates "
                         "(Open MPI before 4.1.5); use auto or owner");
    bool take = choice == TERN_TRANSPORT_RMA || (probe.works && probe.one_sided);
    if (context->rank == 0)
        tern_log(TERN_LOG_INFO, "transport between nodes: %s, because %s", take ? "rma" : "p2p",
                 choice == TERN_TRANSPORT_RMA ? "TERN_TRANSPORT says so"
                 : !probe.works               ? "MPI makes no window here"
                 : probe.one_sided            ? "a put lands while its target sleeps outside MPI"
                                   : "a put does not land while its target sleeps outside MPI");
    if (!take) {
        rma->far = &tern_transport_p2p;
        return TERN_OK;
    }
    rma->far = &tern_transport_rma;
    bool mpi_atomics = atomics == TERN_RMA_ATOMICS_MPI ||
                       (atomics == TERN_RMA_ATOMICS_AUTO && probe.one_sided && probe.atomics);
    return tern_window_open(context, rma->mine, rma->segment[context->rank].bytes, mpi_atomics,
                            !probe.one_sided, &rma->window);
}

tern_status tern_transport_choose(tern_context *context) {
    tern_rma *rma = tern_rma_of(context);
    tern_transport_choice choice = context->config.transport;
    bool taken = false;
    if (choice == TERN_TRANSPORT_P2P) {
        rma->far = &tern_transport_p2p;
        return TERN_OK;
    }
    if (choice == TERN_TRANSPORT_OFI)
        return force_ofi(context, rma);
    tern_status status = choice == TERN_TRANSPORT_AUTO ? try_ofi(context, rma, &taken) : TERN_OK;
    return status == TERN_OK && !taken ? choose_mpi(context, rma) : status;
}
