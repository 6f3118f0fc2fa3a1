#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "rma/network/process.h"
#include "rma/memory/state.h"
#include "rma/transport/mpi_rma.h"
#include "rma/transport/transport.h"
#include "src/collective/collective.h"
#include "src/log.h"
#include "src/progress/wait.h"

/* Chooses the transport for pairs that share no memory. */

/* A network that tern can use without MPI. */
typedef struct native_kind {
    tern_transport_choice choice;
    const tern_transport_ops *transport;
    const tern_network_ops *network; /* NULL: tern was built without it */
    const char *package;             /* the package that provides it */
} native_kind;

/* The networks, in the order in which they are tried. */
static const native_kind natives[] = {{TERN_TRANSPORT_VERBS, &tern_transport_verbs,
#ifdef TERN_HAVE_VERBS
                                       &tern_network_verbs,
#else
                                       NULL,
#endif
                                       "libibverbs-dev"},
                                      {TERN_TRANSPORT_OFI, &tern_transport_ofi,
#ifdef TERN_HAVE_OFI
                                       &tern_network_ofi,
#else
                                       NULL,
#endif
                                       "libfabric-dev"}};
#define NATIVES (sizeof natives / sizeof *natives)

static const char *name_of(const native_kind *kind) {
    return tern_transport_name(kind->transport->name);
}

/* Ranks with different providers cannot reach each other, so all must have the same. */
static tern_status compare_providers(tern_context *context, const tern_rma *rma) {
    return tern_collective_same_text(context, NULL, rma->native->network->name,
                                     "the provider of libfabric",
                                     "give every rank the same FI_PROVIDER");
}

/* About as fast as a message and its answer. */
static bool fast_enough(uint64_t trip, uint64_t message_trip) {
    return trip <= message_trip * 6 / 5;
}

/* Whether auto takes the network's atomics if their test finds them sound: they have to need no
 * help of the owner, and to be as fast as the message that they replace. */
static bool atomics_may_win(const tern_native *native) {
    const tern_network_findings *f = &native->findings;
    return f->one_sided && fast_enough(f->trip, f->message_trip);
}

/* Collective: chooses what applies atomics on TERN_DOMAIN_GLOBAL. Where ranks share a node, auto
 * takes the network's only if these can go on using the processor's (docs/networks.md).
 * TERN_ERR_UNSUPPORTED: the option asks for atomics that the network does not have. */
static tern_status choose_atomics(tern_context *context, tern_rma *rma) {
    tern_native *native = rma->native;
    tern_network_atomics found;
    const bool demanded = context->config.rma_atomics == TERN_RMA_ATOMICS_NETWORK;
    const bool alone = context->nodes == context->size;
    if (!demanded &&
        (context->config.rma_atomics != TERN_RMA_ATOMICS_AUTO || !atomics_may_win(native)))
        return TERN_OK;
    tern_status status =
        tern_network_test_atomics(context, native->network, !demanded && !alone, &found);
    if (status != TERN_OK)
        return status;
    if (demanded && !found.sound)
        return tern_fail(TERN_ERR_UNSUPPORTED,
                         "TERN_RMA_ATOMICS=network, but %s has no atomics here that lose no "
                         "update; use owner",
                         native->network->name);
    native->atomics = demanded || (found.sound && (alone || found.coherent) &&
                                   fast_enough(found.trip, native->findings.message_trip));
    native->coherent = native->atomics && found.coherent;
    if (native->atomics && context->rank == 0)
        tern_log(TERN_LOG_INFO, "atomics between nodes: those of %s, which take %.1f us%s",
                 native->network->name, (double)found.trip / 1e3,
                 native->coherent ? "; on a node those of the processor" : "");
    return TERN_OK;
}

static void close_native(tern_rma *rma) {
    tern_native_close(rma->native);
    rma->native = NULL;
}

static tern_status open_and_test(tern_context *context, tern_rma *rma, const native_kind *kind,
                                 bool helped) {
    tern_status status = kind->network != NULL
                             ? tern_native_open(context, kind->network, helped, &rma->native)
                             : tern_fail(TERN_ERR_UNSUPPORTED, "%s: tern was built without it (%s)",
                                         name_of(kind), kind->package);
    status = tern_collective_agree(context, NULL, status, "opening the network");
    if (status == TERN_OK)
        status = compare_providers(context, rma);
    if (status == TERN_OK)
        status = tern_native_capabilities(context, rma->native);
    return status;
}

/* Opens a network and tests what it can do. If a put does not land by the helper while its target
 * sleeps, or if only some ranks have a helper, the network has to make progress by itself, unless
 * the user has forbidden that.
 * TERN_ERR_UNSUPPORTED: some rank has no such network. */
static tern_status open_native(tern_context *context, tern_rma *rma, const native_kind *kind) {
    tern_status status = open_and_test(context, rma, kind, true);
    if (status != TERN_OK)
        return status;
    uint64_t helped = rma->native->network->helped;
    status = tern_collective_sum(context, NULL, &helped, 1);
    const bool lands =
        helped == context->size && (rma->native->findings.one_sided ||
                                    context->config.ofi_progress == TERN_OFI_PROGRESS_MANUAL);
    if (status != TERN_OK || helped == 0 || lands)
        return status;
    close_native(rma);
    return open_and_test(context, rma, kind, false);
}

bool tern_gets_need_owner(const tern_worker *worker, uint32_t rank, bool registered) {
    const tern_rma *rma = tern_rma_of(worker->context);
    const tern_transport_ops *transport =
        rank == TERN_ANYBODY ? rma->remote : tern_transport_to(worker->context, rank);
    return transport == &tern_transport_p2p || (transport == &tern_transport_rma && registered &&
                                                !tern_window_has_regions(rma->window));
}

static tern_status take_native(tern_context *context, tern_rma *rma, const native_kind *kind,
                               const char *reason) {
    const tern_network *network = rma->native->network;
    rma->remote = kind->transport;
    if (context->rank == 0)
        tern_log(TERN_LOG_INFO, "transport between nodes: %s over %s (%s), because %s; it needs %s",
                 name_of(kind), network->name, network->card, reason,
                 network->one_sided ? "no help of its targets" : "progress of its targets");
    return TERN_OK;
}

/* What a put over the network does, as the test has found. */
static const char *what_puts_do(const tern_network_findings *f) {
    return !f->works      ? "does not land"
           : f->early > 0 ? "completes before its bytes are there"
           : f->one_sided ? "lands while its target sleeps"
                          : "does not land while its target sleeps";
}

/* TERN_ERR_UNSUPPORTED: the network cannot be used at all. */
static tern_status refuse_native(const tern_rma *rma, const native_kind *kind) {
    const tern_network *network = rma->native->network;
    const tern_network_findings *f = &rma->native->findings;
    if (!f->works)
        return tern_fail(TERN_ERR_UNSUPPORTED,
                         "TERN_TRANSPORT=%s, but a put over %s (%s) does not land here; use p2p, "
                         "or another provider or card",
                         name_of(kind), network->name, network->card);
    if (f->early > 0)
        return tern_fail(
            TERN_ERR_UNSUPPORTED,
            "TERN_TRANSPORT=%s, but %s (%s) completes transfers too early: after %" PRIu64
            " of %" PRIu64 " bytes were missing; use p2p, or another provider "
            "(FI_PROVIDER) or card (TERN_VERBS_DEVICE)",
            name_of(kind), network->name, network->card, f->early, f->looks);
    return TERN_OK;
}

static tern_status force_native(tern_context *context, tern_rma *rma, const native_kind *kind) {
    tern_status status = open_native(context, rma, kind);
    if (status != TERN_OK)
        return status;
    status = refuse_native(rma, kind);
    if (status != TERN_OK)
        return status;
    status = choose_atomics(context, rma);
    return status == TERN_OK ? take_native(context, rma, kind, "TERN_TRANSPORT says so") : status;
}

/* Takes a network if it is there, needs no help of the target and is about as fast as messages.
 * [out] taken. */
static tern_status try_native(tern_context *context, tern_rma *rma, const native_kind *kind,
                              bool *taken) {
    tern_network_findings f = {.works = false};
    tern_status status = open_native(context, rma, kind);
    if (status == TERN_OK)
        f = rma->native->findings;
    *taken =
        status == TERN_OK && f.one_sided && f.early == 0 && fast_enough(f.trip, f.message_trip);
    if (*taken && (status = choose_atomics(context, rma)) == TERN_OK)
        return take_native(context, rma, kind,
                           "a put lands while its target sleeps, as fast as a message");
    if (status == TERN_OK && context->rank == 0)
        tern_log(TERN_LOG_INFO,
                 "%s over %s is not taken: a put %s, and takes %.1f us where a message and its "
                 "answer take %.1f us",
                 name_of(kind), rma->native->network->name, what_puts_do(&f), (double)f.trip / 1e3,
                 (double)f.message_trip / 1e3);
    *taken = false;
    close_native(rma);
    if (status == TERN_ERR_UNSUPPORTED || status == TERN_ERR_NETWORK ||
        status == TERN_ERR_MISMATCH) {
        tern_log(TERN_LOG_INFO, "%s", tern_error_detail());
        tern_error_clear();
        status = TERN_OK;
    }
    return status;
}

static tern_status no_network_atomics(const tern_context *context) {
    return context->config.rma_atomics != TERN_RMA_ATOMICS_NETWORK
               ? TERN_OK
               : tern_fail(TERN_ERR_UNSUPPORTED,
                           "TERN_RMA_ATOMICS=network, but the ranks have no network but MPI here; "
                           "use auto, or TERN_TRANSPORT=ofi or verbs");
}

/* Chooses between rma and p2p. */
static tern_status choose_mpi(tern_context *context, tern_rma *rma) {
    tern_transport_choice choice = context->config.transport;
    tern_window_findings found;
    tern_status status = no_network_atomics(context);
    if (status == TERN_OK)
        status = tern_window_capabilities(context, &found);
    if (status != TERN_OK)
        return status;
    tern_rma_atomics atomics = context->config.rma_atomics;
    if (choice == TERN_TRANSPORT_RMA && !found.works)
        return tern_fail(TERN_ERR_UNSUPPORTED,
                         "TERN_TRANSPORT=rma, but MPI makes no window here; use p2p");
    if (choice == TERN_TRANSPORT_RMA && atomics == TERN_RMA_ATOMICS_MPI && !found.atomics)
        return tern_fail(TERN_ERR_UNSUPPORTED,
                         "TERN_RMA_ATOMICS=mpi, but this MPI's atomics crash or lose updates "
                         "(Open MPI before 4.1.5); use auto or owner");
    if (atomics == TERN_RMA_ATOMICS_NETWORK)
        return tern_fail(
            TERN_ERR_UNSUPPORTED,
            "TERN_RMA_ATOMICS=network, but the ranks have no network but MPI here; use "
            "auto, or TERN_TRANSPORT=ofi or verbs");
    bool take = choice == TERN_TRANSPORT_RMA || (found.works && found.one_sided);
    if (context->rank == 0)
        tern_log(TERN_LOG_INFO, "transport between nodes: %s, because %s", take ? "rma" : "p2p",
                 choice == TERN_TRANSPORT_RMA ? "TERN_TRANSPORT says so"
                 : !found.works               ? "MPI makes no window here"
                 : found.one_sided            ? "a put lands while its target sleeps outside MPI"
                                   : "a put does not land while its target sleeps outside MPI");
    if (!take) {
        rma->remote = &tern_transport_p2p;
        return TERN_OK;
    }
    rma->remote = &tern_transport_rma;
    bool mpi_atomics = atomics == TERN_RMA_ATOMICS_MPI ||
                       (atomics == TERN_RMA_ATOMICS_AUTO && found.one_sided && found.atomics);
    return tern_window_open(context, rma->mine, rma->segment[context->rank].bytes, mpi_atomics,
                            !found.one_sided, &rma->window);
}

tern_status tern_transport_choose(tern_context *context) {
    tern_rma *rma = tern_rma_of(context);
    tern_transport_choice choice = context->config.transport;
    tern_status status = TERN_OK;
    bool taken = false;
    if (choice == TERN_TRANSPORT_P2P) {
        rma->remote = &tern_transport_p2p;
        return no_network_atomics(context);
    }
    for (size_t i = 0; i < NATIVES; i++) {
        if (choice == natives[i].choice)
            return force_native(context, rma, &natives[i]);
        if (choice == TERN_TRANSPORT_AUTO && status == TERN_OK && !taken)
            status = try_native(context, rma, &natives[i], &taken);
    }
    return status == TERN_OK && !taken ? choose_mpi(context, rma) : status;
}
