/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

#define TERN_MAILBOX_LAYOUT TERN_MAILBOX_CAS
#define MAILBOX_WAY mailbox_cas
#define MAILBOX_NAME "cas"
#include "bench_mailbox_way.h"
