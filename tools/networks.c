/* What each native network can do between the ranks of this job, by trying it. */

#include <mpi.h>

#include "tern/config.h"
#include "tern/context.h"
#include "tools/info.h"

/* Collective. */
static void info_network(report *r, const char *transport) {
    tern_config config;
    tern_context *context = NULL;
    tern_network_info info = {0};
    tern_status status = tern_config_init(&config);
    if (status == TERN_OK)
        status = tern_config_set(&config, "TERN_TRANSPORT", transport);
    if (status == TERN_OK)
        status = tern_config_set(&config, "TERN_SEGMENT_SIZE", "1M");
    if (status == TERN_OK)
        status = tern_context_create(MPI_COMM_WORLD, &config, &context);
    if (status == TERN_OK)
        status = tern_context_network(context, &info);
    if (r != NULL) {
        report_open(r, transport);
        if (status != TERN_OK) {
            report_text(r, "not here", tern_error_detail());
        } else {
            report_text(r, "name", info.name);
            report_text(r, "card", info.card);
            report_yes(r, "lands in a rank that sleeps", info.one_sided);
            report_number(r, "put and completion, ns", (double)(long)info.put_ns);
            report_number(r, "message and answer, ns", (double)(long)info.message_ns);
            report_number(r, "bytes carried in a post", (double)info.carried);
            report_yes(r, "registered memory only", info.registered_only);
            report_yes(r, "says that writes are ordered", info.says_ordered);
            report_yes(r, "says that it has atomics", info.says_atomics);
        }
        report_close(r);
    }
    if (context != NULL && tern_context_destroy(context) != TERN_OK)
        fprintf(stderr, "tern-info: %s\n", tern_error_detail());
}

int info_networks(report *r) {
    int size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size < 2) {
        if (r != NULL)
            fprintf(stderr, "tern-info: --networks needs two ranks or more: mpirun -n 2 tern-info "
                            "--networks\n");
        return 1;
    }
    if (r != NULL)
        report_open(r, "networks");
    info_network(r, "verbs");
    info_network(r, "ofi");
    if (r != NULL)
        report_close(r);
    return 0;
}
