#include "played.h"

#include "grid.h"
#include "kernels.h"

void played_calls(void *argument) { kernel_calls(*(const kernel_plan *)argument); }

void played_serves(void *argument) { kernel_serves(*(const kernel_plan *)argument); }
