/* The least that a program without MPI can do with a mailbox. */

#include <stdio.h>
#include <string.h>

#include <tern/mailbox_host.h>

static tern_status join_and_leave(void) {
    tern_mailbox_share *share;
    tern_mailbox_worker worker;
    tern_status status = tern_mailbox_create(NULL, &share);
    if (status != TERN_OK)
        return status;
    status = tern_mailbox_join(share, TERN_MAILBOX_SERVER, &worker);
    if (status == TERN_OK)
        tern_mailbox_leave(&worker);
    tern_mailbox_destroy(share);
    return status;
}

int main(void) {
    tern_status status = join_and_leave();
    if (status != TERN_OK) {
        fprintf(stderr, "%s: %s\n", tern_strerror(status), tern_error_detail());
        return 1;
    }
    return tern_mailbox_create(NULL, NULL) != TERN_ERR_ARGUMENT ||
           strstr(tern_error_detail(), "mailbox") == NULL;
}
