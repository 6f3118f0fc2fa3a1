#include "tern/context.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* Sets the options that text names. */
static tern_status options_read(const char *text, tern_config *config) {
    char *copy = strdup(text), *rest = NULL;
    if (copy == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for the options of a context");
    tern_status status = TERN_OK;
    for (char *name = strtok_r(copy, " \t\n", &rest); name != NULL && status == TERN_OK;
         name = strtok_r(NULL, " \t\n", &rest)) {
        char *value = strchr(name, '=');
        if (value == NULL) {
            status =
                tern_fail(TERN_ERR_CONFIG,
                          "the option '%s' has no value: write NAME=VALUE, with spaces between "
                          "options",
                          name);
            break;
        }
        *value = '\0';
        status = tern_config_set(config, name, value + 1);
    }
    free(copy);
    return status;
}

/* Returns status after a creation of a context that must fail: it is collective, so the other ranks
 * learn that this rank has failed. */
static tern_status context_refuse_f(MPI_Comm comm, tern_status status) {
    char *detail = strdup(tern_error_detail());
    tern_ignore(tern_context_create(comm, NULL, NULL));
    status = tern_fail(status, "%s", detail != NULL ? detail : "a bad option of a context");
    free(detail);
    return status;
}

tern_status tern_context_create_f(MPI_Fint comm, const char *options, tern_context **context) {
    MPI_Comm c = PMPI_Comm_f2c(comm);
    tern_config config;
    tern_status status = tern_config_init(&config);
    if (status == TERN_OK && options != NULL)
        status = options_read(options, &config);
    if (status != TERN_OK)
        return context_refuse_f(c, status);
    return tern_context_create(c, &config, context);
}

MPI_Fint tern_comm_world_f(void) { return PMPI_Comm_c2f(MPI_COMM_WORLD); }
