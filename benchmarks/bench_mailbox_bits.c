/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

#define TERN_MAILBOX_LAYOUT TERN_MAILBOX_BITS
#define MAILBOX_WAY mailbox_bits
#define MAILBOX_NAME "bits"
#include "bench_mailbox_way.h"
