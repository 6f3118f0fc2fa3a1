/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

#define TERN_MAILBOX_LAYOUT TERN_MAILBOX_LINES
#define MAILBOX_WAY mailbox_lines
#define MAILBOX_NAME "lines"
#include "bench_mailbox_way.h"
