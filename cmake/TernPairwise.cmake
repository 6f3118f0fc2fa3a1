# Chooses the numbers of ranks, the transports and the MPI with which a test suite runs.
#
# Every suite runs over every transport, and over one of the mixes, under one of the MPIs. The MPI and
# the number of ranks are chosen so that, over twelve suites or more and in the union of the two MPIs'
# build trees, every other pair of transport, MPI and number of ranks occurs too. With s the suite's
# position, t the transport's, m that of the mix and q = s / 2:
#
#                MPI               ranks
#   shm          (s + t) mod 2     1 + (q + t) mod 4
#   others       (s + t) mod 2     2 + (q + t) mod 3
#   mixes        (s / 3) mod 2     3 + (s / 6) mod 2     where m = s mod 3
#
#   suite x MPI, transport x MPI   neighbours in t and in s take turns
#   transport x ranks              t fixed: eight suites have four neighbouring q
#   MPI x ranks                    q and t fixed: two suites, one under each MPI
#
# A suite of ranks alone, without a transport, runs with every number of ranks: with the even ones under
# one MPI, with the odd ones under the other, and the next suite the other way round. So every suite meets
# every number of ranks and both MPIs, and over two suites every number of ranks meets both MPIs. A suite
# that has a single number of ranks runs under both.
#
# A transport is registered only if some pair of ranks uses it. A single rank has no remote rank, so
# the remote transports begin with two. A mix puts two ranks on each virtual node: with fewer than three
# ranks there is only one node and nothing is mixed, so a mix runs with three and four ranks only. A
# suite with least=N runs with N ranks where fewer are chosen. tests/guards checks all of this.

set(TERN_TEST_MPIS mpich openmpi)
set(TERN_TEST_RANKS 1 2 3 4)
# Numbers of ranks above the number of processors, for suites that ask for them; only full runs use all.
set(TERN_TEST_CROWD 5 6 7 8)
set(TERN_TEST_MIXES mix-rma mix-p2p mix-ofi)
set(TERN_TEST_TRANSPORTS shm rma p2p ofi ${TERN_TEST_MIXES})
set(TERN_TEST_SANITIZED shm p2p)

# Over ofi the owner applies atomics: auto compares times, and chooses otherwise at times on a busy machine.
function(tern_transport_environment transport result)
    if(transport STREQUAL "shm")
        set(environment "")
    elseif(transport MATCHES "^mix-(.*)$")
        set(environment TERN_TRANSPORT=${CMAKE_MATCH_1} TERN_RANKS_PER_NODE=2)
    else()
        set(environment TERN_TRANSPORT=${transport} TERN_RANKS_PER_NODE=1)
    endif()
    if(transport MATCHES "ofi")
        list(APPEND environment TERN_RMA_ATOMICS=owner)
    endif()
    set(${result} "${environment}" PARENT_SCOPE)
endfunction()

# [out] result: whether this transport needs a test with this number of ranks. TERN_HAVE_OFI: tern was built
# with libfabric.
function(tern_transport_takes transport ranks result)
    set(least 1)
    if(transport MATCHES "^mix-")
        set(least 3)
    elseif(NOT transport STREQUAL "shm")
        set(least 2)
    endif()
    if(ranks LESS least OR (transport MATCHES "ofi" AND NOT TERN_HAVE_OFI))
        set(${result} FALSE PARENT_SCOPE)
    else()
        set(${result} TRUE PARENT_SCOPE)
    endif()
endfunction()

# [out] result: the number of ranks; 0 if the suite does not run over the transport under this MPI.
function(tern_pairwise_ranks suite_position transport mpi result)
    list(FIND TERN_TEST_TRANSPORTS ${transport} t)
    list(FIND TERN_TEST_MIXES ${transport} mix)
    list(FIND TERN_TEST_MPIS ${mpi} m)
    math(EXPR turn "(${suite_position} + ${t}) % 2")
    if(NOT mix EQUAL -1)
        math(EXPR turn "(${suite_position} / 3) % 2")
        math(EXPR turn_of_mix "${suite_position} % 3")
        math(EXPR ranks "3 + (${suite_position} / 6) % 2")
    elseif(transport STREQUAL "shm")
        math(EXPR ranks "1 + (${suite_position} / 2 + ${t}) % 4")
    else()
        math(EXPR ranks "2 + (${suite_position} / 2 + ${t}) % 3")
    endif()
    if(NOT turn EQUAL m OR (NOT mix EQUAL -1 AND NOT mix EQUAL turn_of_mix))
        set(ranks 0)
    endif()
    set(${result} ${ranks} PARENT_SCOPE)
endfunction()

# [out] result: whether a suite of ranks alone, of which least is the least number, runs with so many under
# this MPI.
function(tern_turn_takes suite_position ranks least mpi result)
    list(FIND TERN_TEST_MPIS ${mpi} m)
    math(EXPR turn "(${suite_position} + ${ranks}) % 2")
    list(GET TERN_TEST_RANKS -1 most)
    if(turn EQUAL m OR least EQUAL most)
        set(${result} TRUE PARENT_SCOPE)
    else()
        set(${result} FALSE PARENT_SCOPE)
    endif()
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
