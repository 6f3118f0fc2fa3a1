/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

#include "loggp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const scale_network scale_networks[] = {
    {"ndr", {150, 100, 0.02, 1000}, "InfiniBand NDR, 400 Gb/s"},
    {"slingshot11", {200, 150, 0.04, 1700}, "HPE Slingshot 11, 200 Gb/s"},
    {"ethernet25", {1500, 1000, 0.32, 10000}, "Ethernet, 25 Gb/s, TCP of the kernel"},
    {NULL, {0, 0, 0, 0}, NULL},
};

bool scale_network_parse(const char *text, scale_network *network) {
    double number[4];
    for (const scale_network *known = scale_networks; known->name != NULL; known++)
        if (strcmp(known->name, text) == 0) {
            *network = *known;
            return true;
        }
    const char *at = text;
    for (int i = 0; i < 4; i++) {
        char *end;
        number[i] = strtod(at, &end);
        if (end == at || *end != (i < 3 ? ',' : '\0') || !isfinite(number[i]) || number[i] < 0)
            return false;
        at = end + 1;
    }
    *network = (scale_network){"given", {number[0], number[1], number[2], number[3]}, text};
    return true;
}

double scale_work(scale_process *process, double at, double ns) {
    return process->processor = fmax(at, process->processor) + ns;
}

static double port_bytes(const scale_loggp *costs, uint32_t bytes) {
    return bytes > 1 ? (bytes - 1) * costs->G : 0;
}

double scale_send(const scale_loggp *costs, scale_process *process, double at, uint32_t bytes) {
    const double left = fmax(at, process->out) + port_bytes(costs, bytes);
    process->out = left + costs->g;
    return left + costs->L;
}

double scale_receive(const scale_loggp *costs, scale_process *process, double at, uint32_t bytes) {
    const double taken = fmax(at, process->in + port_bytes(costs, bytes));
    process->in = taken + costs->g;
    return taken;
}
