#include <pthread.h>
#include <stdlib.h>

#include "pmpi/wrap.h"

/*
 * MPI does not tell on which communicator a window or a file was made, and the program may have
 * freed that communicator. So each window or file that was made on a communicator that qualified
 * gets a place: a communicator of the same ranks, on which they meet before the collectives of the
 * window or file. Either all ranks of a window or file have a place, or no rank has one.
 */

typedef struct tern_pmpi_place {
    struct tern_pmpi_place *next;
    MPI_Win window; /* MPI_WIN_NULL: the place of a file */
    MPI_File file;
    MPI_Comm comm;
} tern_pmpi_place;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static tern_pmpi_place *places;

static void place_keep(tern_pmpi_place *place) {
    pthread_mutex_lock(&mutex);
    place->next = places;
    places = place;
    pthread_mutex_unlock(&mutex);
}

/* Returns the communicator on which the ranks of the window, or else of the file, meet;
 * MPI_COMM_NULL if they have no place. */
static MPI_Comm place_find(MPI_Win window, MPI_File file) {
    MPI_Comm comm = MPI_COMM_NULL;
    pthread_mutex_lock(&mutex);
    for (const tern_pmpi_place *p = places; p != NULL && comm == MPI_COMM_NULL; p = p->next)
        if (p->window == window && p->file == file)
            comm = p->comm;
    pthread_mutex_unlock(&mutex);
    return comm;
}

static void place_forget(MPI_Comm comm) {
    if (comm == MPI_COMM_NULL)
        return;
    pthread_mutex_lock(&mutex);
    tern_pmpi_place **link = &places, *place;
    while ((place = *link)->comm != comm)
        link = &place->next;
    *link = place->next;
    pthread_mutex_unlock(&mutex);
    PMPI_Comm_free(&place->comm);
    free(place);
}

/* If comm qualifies, its ranks meet and make a place for the window or file to come. [out] place:
 * the place; NULL if comm does not qualify. */
static int place_prepare(tern_pmpi_call call, MPI_Comm comm, tern_pmpi_place **place) {
    *place = NULL;
    if (!tern_pmpi_qualifies(call, comm))
        return MPI_SUCCESS;
    tern_pmpi_place *fresh = malloc(sizeof *fresh);
    if (fresh == NULL)
        return PMPI_Comm_call_errhandler(comm, MPI_ERR_NO_MEM), MPI_ERR_NO_MEM;
    *fresh = (tern_pmpi_place){NULL, MPI_WIN_NULL, MPI_FILE_NULL, MPI_COMM_NULL};
    int code = tern_pmpi_meet(call, comm);
    if (code == MPI_SUCCESS)
        code = PMPI_Comm_split(comm, 0, 0, &fresh->comm);
    if (code == MPI_SUCCESS)
        *place = fresh;
    else
        free(fresh);
    return code;
}

/* Keeps the place if the window or file was made, and frees it otherwise. code: MPI's code of the
 * creation. */
static int place_conclude(tern_pmpi_place *place, int code, MPI_Win window, MPI_File file) {
    if (place != NULL && code == MPI_SUCCESS) {
        place->window = window;
        place->file = file;
        place_keep(place);
    } else if (place != NULL) {
        PMPI_Comm_free(&place->comm);
        free(place);
    }
    return code;
}

#define MAKING(comm, make, window, file)                                                           \
    __extension__({                                                                                \
        tern_pmpi_place *place;                                                                    \
        int made = place_prepare(call, comm, &place);                                              \
        if (made == MPI_SUCCESS) {                                                                 \
            made = (make); /* sets the window or the file that the next line reads */              \
            made = place_conclude(place, made, window, file);                                      \
        }                                                                                          \
        made;                                                                                      \
    })

/* The window is the last parameter. */
#define WINDOW(name, comm, ...)                                                                    \
    TERN_PMPI_WRAP(                                                                                \
        name, MAKING(comm, PMPI_##name(TERN_PMPI_ARGUMENTS(__VA_ARGS__)), *a1, MPI_FILE_NULL),     \
        __VA_ARGS__)

WINDOW(Win_create, a2, void *, MPI_Aint, int, MPI_Info, MPI_Comm, MPI_Win *)
WINDOW(Win_allocate, a3, MPI_Aint, int, MPI_Info, MPI_Comm, void *, MPI_Win *)
WINDOW(Win_allocate_shared, a3, MPI_Aint, int, MPI_Info, MPI_Comm, void *, MPI_Win *)
WINDOW(Win_create_dynamic, a2, MPI_Info, MPI_Comm, MPI_Win *)

MEETING(Win_fence, place_find(a1, MPI_FILE_NULL), int, MPI_Win)

static int attentive_win_free(tern_pmpi_call call, MPI_Win *window) {
    MPI_Comm comm = place_find(*window, MPI_FILE_NULL);
    int code = TERN_PMPI_THEN(tern_pmpi_meet(call, comm), PMPI_Win_free(window));
    if (code == MPI_SUCCESS)
        place_forget(comm);
    return code;
}
TERN_PMPI_WRAP(Win_free, attentive_win_free(call, a1), MPI_Win *)

TERN_PMPI_WRAP(File_open,
               MAKING(a5,
                      PMPI_File_open(TERN_PMPI_ARGUMENTS(MPI_Comm, const char *, int, MPI_Info,
                                                         MPI_File *)),
                      MPI_WIN_NULL, *a1),
               MPI_Comm, const char *, int, MPI_Info, MPI_File *)

static int attentive_file_close(tern_pmpi_call call, MPI_File *file) {
    MPI_Comm comm = place_find(MPI_WIN_NULL, *file);
    int code = TERN_PMPI_THEN(tern_pmpi_meet(call, comm), PMPI_File_close(file));
    if (code == MPI_SUCCESS)
        place_forget(comm);
    return code;
}
TERN_PMPI_WRAP(File_close, attentive_file_close(call, a1), MPI_File *)

/* number: the position of the file among the parameters, counted from the end. */
#define FILE_MEETING(name, number, ...)                                                            \
    MEETING(name, place_find(MPI_WIN_NULL, a##number), __VA_ARGS__)

FILE_MEETING(File_read_all, 5, MPI_File, void *, int, MPI_Datatype, MPI_Status *)
FILE_MEETING(File_read_all_begin, 4, MPI_File, void *, int, MPI_Datatype)
FILE_MEETING(File_read_all_end, 3, MPI_File, void *, MPI_Status *)
FILE_MEETING(File_read_at_all, 6, MPI_File, MPI_Offset, void *, int, MPI_Datatype, MPI_Status *)
FILE_MEETING(File_read_at_all_begin, 5, MPI_File, MPI_Offset, void *, int, MPI_Datatype)
FILE_MEETING(File_read_at_all_end, 3, MPI_File, void *, MPI_Status *)
FILE_MEETING(File_read_ordered, 5, MPI_File, void *, int, MPI_Datatype, MPI_Status *)
FILE_MEETING(File_read_ordered_begin, 4, MPI_File, void *, int, MPI_Datatype)
FILE_MEETING(File_read_ordered_end, 3, MPI_File, void *, MPI_Status *)
FILE_MEETING(File_write_all, 5, MPI_File, const void *, int, MPI_Datatype, MPI_Status *)
FILE_MEETING(File_write_all_begin, 4, MPI_File, const void *, int, MPI_Datatype)
FILE_MEETING(File_write_all_end, 3, MPI_File, const void *, MPI_Status *)
FILE_MEETING(File_write_at_all, 6, MPI_File, MPI_Offset, const void *, int, MPI_Datatype,
             MPI_Status *)
FILE_MEETING(File_write_at_all_begin, 5, MPI_File, MPI_Offset, const void *, int, MPI_Datatype)
FILE_MEETING(File_write_at_all_end, 3, MPI_File, const void *, MPI_Status *)
FILE_MEETING(File_write_ordered, 5, MPI_File, const void *, int, MPI_Datatype, MPI_Status *)
FILE_MEETING(File_write_ordered_begin, 4, MPI_File, const void *, int, MPI_Datatype)
FILE_MEETING(File_write_ordered_end, 3, MPI_File, const void *, MPI_Status *)
FILE_MEETING(File_set_size, 2, MPI_File, MPI_Offset)
FILE_MEETING(File_preallocate, 2, MPI_File, MPI_Offset)
FILE_MEETING(File_set_view, 6, MPI_File, MPI_Offset, MPI_Datatype, MPI_Datatype, const char *,
             MPI_Info)
FILE_MEETING(File_set_info, 2, MPI_File, MPI_Info)
FILE_MEETING(File_set_atomicity, 2, MPI_File, int)
FILE_MEETING(File_seek_shared, 3, MPI_File, MPI_Offset, int)
FILE_MEETING(File_sync, 1, MPI_File)
