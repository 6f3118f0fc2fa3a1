#include "board.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MAX_RANKS = 64 };

/* One for each rank; all but dead is written by that rank alone. */
typedef struct {
    pid_t pid;
    atomic_bool dead;
    /* How often the rank came to tern_board_meet. Its release pairs with the acquire of those who
     * wait: they see what the rank said in said[met % 2]. Nobody can be two meetings ahead. */
    atomic_uint met;
    atomic_uint arrivals;
    bool said[2][2];
} board_row;

static board_row *board;
static int my_rank, ranks;

/* The ranks of tests/hosts, whose /proc do not show each other, are given a file. */
static int share_memory(MPI_Comm comm) {
    const char *file = getenv("HOSTS_BOARD");
    if (file != NULL)
        return open(file, O_RDWR | O_CLOEXEC);
    int place[2] = {(int)getpid(), -1};
    if (my_rank == 0) {
        place[1] = memfd_create("board", MFD_CLOEXEC);
        if (place[1] >= 0 && ftruncate(place[1], sizeof(board_row[MAX_RANKS])) != 0)
            place[1] = -1;
    }
    MPI_Bcast(place, 2, MPI_INT, 0, comm);
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", place[0], place[1]);
    return open(path, O_RDWR | O_CLOEXEC);
}

bool tern_board_open(MPI_Comm comm) {
    MPI_Comm_rank(comm, &my_rank);
    MPI_Comm_size(comm, &ranks);
    int fd = share_memory(comm);
    board = mmap(NULL, sizeof(board_row[MAX_RANKS]), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    int fits = board != MAP_FAILED && ranks <= MAX_RANKS;
    if (fits)
        board[my_rank].pid = getpid();
    MPI_Allreduce(MPI_IN_PLACE, &fits, 1, MPI_INT, MPI_MIN, comm);
    return fits;
}

static bool came(int rank, unsigned meeting) {
    return (int)(atomic_load_explicit(&board[rank].met, memory_order_acquire) - meeting) >= 0;
}

void tern_board_meet(bool mine[2], bool any[2]) {
    unsigned meeting = atomic_load_explicit(&board[my_rank].met, memory_order_relaxed) + 1;
    bool *said = board[my_rank].said[meeting % 2];
    said[0] = mine[0];
    said[1] = mine[1];
    atomic_store_explicit(&board[my_rank].met, meeting, memory_order_release);

    any[0] = any[1] = false;
    for (int rank = 0; rank < ranks; rank++) {
        while (!came(rank, meeting) && !atomic_load(&board[rank].dead))
            usleep(50);
        if (!came(rank, meeting))
            continue;
        any[0] |= board[rank].said[meeting % 2][0];
        any[1] |= board[rank].said[meeting % 2][1];
    }
}

void tern_board_arrive(void) { atomic_fetch_add(&board[my_rank].arrivals, 1); }

bool tern_board_all_arrived(void) {
    unsigned mine = atomic_load(&board[my_rank].arrivals);
    for (int rank = 0; rank < ranks; rank++)
        if (!atomic_load(&board[rank].dead) && (int)(atomic_load(&board[rank].arrivals) - mine) < 0)
            return false;
    return true;
}

void tern_board_kill(int rank) {
    atomic_store(&board[rank].dead, true);
    if (rank == my_rank)
        usleep(20000);
    kill(board[rank].pid, SIGKILL);
    /* A rank that kills itself does nothing more. */
    while (rank == my_rank)
        pause();
}

void tern_board_die(void) {
    atomic_store(&board[my_rank].dead, true);
    kill(getpid(), SIGKILL);
}

bool tern_board_dead(int rank) { return atomic_load(&board[rank].dead); }

bool tern_board_all_alive(void) {
    for (int rank = 0; rank < ranks; rank++)
        if (atomic_load(&board[rank].dead))
            return false;
    return true;
}

int tern_board_lowest(void) {
    int rank = 0;
    while (atomic_load(&board[rank].dead))
        rank++;
    return rank;
}
