/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

#include "tcp.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wait.h"

enum { PATIENCE_S = 5 };

/* An address of this host: the first one that is not loopback, if there is one. */
static struct in_addr own_address(void) {
    struct in_addr own = {htonl(INADDR_LOOPBACK)};
    struct ifaddrs *all = NULL;
    if (getifaddrs(&all) != 0)
        return own;
    for (const struct ifaddrs *a = all; a != NULL; a = a->ifa_next)
        if (a->ifa_addr != NULL && a->ifa_addr->sa_family == AF_INET &&
            (a->ifa_flags & (IFF_UP | IFF_LOOPBACK)) == IFF_UP) {
            own = ((const struct sockaddr_in *)(const void *)a->ifa_addr)->sin_addr;
            break;
        }
    freeifaddrs(all);
    return own;
}

static int socket_with_patience(void) {
    const struct timeval patience = {.tv_sec = PATIENCE_S};
    int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (s >= 0) {
        setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience); /* connect, too */
        setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience); /* accept, too */
    }
    return s;
}

int ceiling_tcp_open(MPI_Comm comm, int other) {
    struct sockaddr_in mine = {.sin_family = AF_INET}, theirs = {.sin_family = AF_UNSPEC};
    socklen_t bytes = sizeof mine;
    const int on = 1;
    int rank, connection = -1, good, all_good;
    MPI_Comm_rank(comm, &rank);
    int s = socket_with_patience();
    if (rank < other && s >= 0 &&
        (bind(s, (struct sockaddr *)&mine, sizeof mine) != 0 || listen(s, 1) != 0 ||
         getsockname(s, (struct sockaddr *)&mine, &bytes) != 0))
        mine.sin_family = AF_UNSPEC;
    mine.sin_addr = own_address();
    MPI_Sendrecv(&mine, sizeof mine, MPI_BYTE, other, 0, &theirs, sizeof theirs, MPI_BYTE, other, 0,
                 comm, MPI_STATUS_IGNORE);
    if (rank < other) {
        connection = accept(s, NULL, NULL);
        close(s);
    } else if (connect(s, (struct sockaddr *)&theirs, sizeof theirs) == 0) {
        connection = s;
    } else {
        close(s);
    }
    good = connection >= 0 && setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0;
    MPI_Allreduce(&good, &all_good, 1, MPI_INT, MPI_MIN, comm);
    if (!all_good && connection >= 0)
        close(connection);
    return all_good ? connection : -1;
}

void ceiling_tcp_close(int connection) {
    if (connection >= 0)
        close(connection);
}

static void send_word(int connection, uint64_t word) {
    if (send(connection, &word, sizeof word, MSG_NOSIGNAL) != (ssize_t)sizeof word) {
        perror("tern-bench: send over TCP");
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
}

static uint64_t take_word(int connection) {
    uint64_t word = 0;
    size_t got = 0;
    for (unsigned looks = 1; got < sizeof word; looks++) {
        ssize_t bytes = recv(connection, (char *)&word + got, sizeof word - got, MSG_DONTWAIT);
        if (bytes > 0) {
            got += (size_t)bytes;
        } else if (bytes == 0) {
            fprintf(stderr, "tern-bench: the other rank has closed its TCP connection\n");
            MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
        } else {
            ceiling_wait(looks);
        }
    }
    return word;
}

void ceiling_tcp_ask(int connection, uint64_t n) {
    while (n-- > 0) {
        send_word(connection, n);
        take_word(connection);
    }
}

void ceiling_tcp_answer(int connection, uint64_t n) {
    while (n-- > 0)
        send_word(connection, take_word(connection));
}
