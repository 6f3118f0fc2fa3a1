/*
 * What is no race. libfabric's provider for TCP stands in for a network card: a thread of its own
 * copies what other ranks put into memory that this rank polls by atomic loads
 * (rma/network/capability.c). ThreadSanitizer sees that copy, in a library that was not compiled
 * for it, and would see nothing of a card.
 */

/* The sanitizer calls it. NOLINTBEGIN(bugprone-reserved-identifier) */
const char *__tsan_default_suppressions(void);

__attribute__((visibility("default"))) const char *__tsan_default_suppressions(void) {
    return "race:libfabric.so";
}
/* NOLINTEND(bugprone-reserved-identifier) */
