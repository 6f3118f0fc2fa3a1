#ifndef TERN_RMA_SERVE_H
#define TERN_RMA_SERVE_H

/* Serves the messages of other processes, and their questions to the listener. */

#include "rma/message/message.h"

/* Serves one message (a tern_message_server). */
bool tern_message_serve(tern_worker *worker, uint32_t source, const tern_message *message,
                        const char *payload, size_t bytes);

/* Answers a question in the listener's thread (a tern_listener_reply). */
bool tern_question_reply(tern_context *context, uint32_t from, const char *question,
                         size_t question_bytes, void *answer, size_t *bytes);

#endif
