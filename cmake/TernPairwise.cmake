# Chooses the numbers of ranks, the transports and the MPI with which a test suite runs.
#
# Every suite runs over every transport under one of the MPIs. The MPI and the number of ranks are
# chosen so that, over eight suites or more and in the union of the two MPIs' build trees, every other
# pair of transport, MPI and number of ranks occurs too. With s the suite's position, t the transport's
# and q = s / 2:
#
#   MPI                (s + t) mod 2
#   shm                ranks = 1 + (q + t) mod 4
#   rma, p2p           ranks = 2 + (q + t) mod 3
#   mixes              ranks = 3 + (q + t) mod 2
#
#   suite x MPI, transport x MPI   neighbours in t and in s take turns
#   transport x ranks              t fixed: eight suites have four neighbouring q
#   MPI x ranks                    q and t fixed: two suites, one under each MPI
#
# A transport is registered only if some pair of ranks uses it. A single rank has no remote rank, so
# rma and p2p begin with two. A mix puts two ranks on each virtual node: with fewer than three ranks
# there is only one node and nothing is mixed, so a mix runs with three and four ranks only. A suite
# with least=N runs with N ranks where fewer are chosen. tests/guards checks all of this.

set(TERN_TEST_MPIS mpich openmpi)
set(TERN_TEST_RANKS 1 2 3 4)
# Numbers of ranks above the number of processors, for suites that ask for them; only full runs use all.
set(TERN_TEST_CROWD 5 6 7 8)
set(TERN_TEST_TRANSPORTS shm rma p2p mix-rma mix-p2p)

function(tern_transport_environment transport result)
    if(transport STREQUAL "shm")
        set(environment "")
    elseif(transport MATCHES "^mix-(.*)$")
        set(environment TERN_TRANSPORT=${CMAKE_MATCH_1} TERN_RANKS_PER_NODE=2)
    else()
        set(environment TERN_TRANSPORT=${transport} TERN_RANKS_PER_NODE=1)
    endif()
    set(${result} "${environment}" PARENT_SCOPE)
endfunction()

# Whether the pair needs a test at all.
function(tern_transport_takes transport ranks result)
    set(least 1)
    if(transport MATCHES "^mix-")
        set(least 3)
    elseif(NOT transport STREQUAL "shm")
        set(least 2)
    endif()
    if(ranks LESS least)
        set(${result} FALSE PARENT_SCOPE)
    else()
        set(${result} TRUE PARENT_SCOPE)
    endif()
endfunction()

# [out] result: the number of ranks; 0 if the suite runs over the transport under the other MPI.
function(tern_pairwise_ranks suite_position transport mpi result)
    list(FIND TERN_TEST_TRANSPORTS ${transport} t)
    list(FIND TERN_TEST_MPIS ${mpi} m)
    math(EXPR turn "(${suite_position} + ${t}) % 2")
    if(transport MATCHES "^mix-")
        math(EXPR ranks "3 + (${suite_position} / 2 + ${t}) % 2")
    elseif(transport STREQUAL "shm")
        math(EXPR ranks "1 + (${suite_position} / 2 + ${t}) % 4")
    else()
        math(EXPR ranks "2 + (${suite_position} / 2 + ${t}) % 3")
    endif()
    if(NOT turn EQUAL m)
        set(ranks 0)
    endif()
    set(${result} ${ranks} PARENT_SCOPE)
endfunction()

# [out] result: the further number of ranks of a crowded suite in everyday runs; empty: none.
function(tern_crowd_ranks transport mpi result)
    if("${transport} ${mpi}" STREQUAL "mix-p2p mpich")
        set(${result} 8 PARENT_SCOPE)
    elseif("${transport} ${mpi}" STREQUAL "rma openmpi")
        set(${result} 5 PARENT_SCOPE)
    else()
        set(${result} "" PARENT_SCOPE)
    endif()
endfunction()
