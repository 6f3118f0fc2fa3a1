#!/bin/sh
# pmpi.sh LIBTERN_PMPI LIBMPI: the first wraps every function of MPI-3.1 that the second exports, but
# those that docs/mpi.md and pmpi/locked.c name. The second is Open MPI's, which has no others.
set -eu

left_out='Init Init_thread Initialized Finalized Query_thread Is_thread_main Abort Pcontrol Wtime
    Wtick Get_version Get_library_version Address Errhandler_create Errhandler_get Errhandler_set
    Type_extent Type_hindexed Type_hvector Type_lb Type_struct Type_ub'

functions() {
    nm -D --defined-only "$1" | awk '$3 ~ /^MPI_[A-Z][a-z]/ { print substr($3, 5) }'
}

{
    echo "$left_out" | tr -s ' ' '\n'
    functions "$1"
    echo "--"
    functions "$2"
} | awk '
$1 == "--" { second = 1; next }
!second { wrapped[$1] = 1; next }
/^T_/ || /_(c2f|f2c)$/ { next } # of tools; conversions of handles
{ count++; if (!($1 in wrapped)) { print "not wrapped: MPI_" $1; wrong = 1 } }
END { exit wrong || !count }
'
