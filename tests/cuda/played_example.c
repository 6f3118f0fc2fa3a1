#include "played.h"

#include "grid.h"

#include "examples/cuda/kernels.h"

void played_calls_host(void *argument) { calls_host(*(const channel *)argument); }

void played_serves_host(void *argument) { serves_host(*(const channel *)argument); }
