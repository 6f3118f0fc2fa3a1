# Which numbers of ranks a test suite runs with, over which transport, under which MPI.
#
# Every suite meets every transport under each MPI. The number of ranks is then chosen so that every
# other pair meets too, in the union of the two MPIs' build trees. With s the suite's position, t the
# transport's and m the MPI's:
#
#   plain transports   ranks = 1 + (s + t + 2m) mod 4
#   mixes              ranks = 3 + (s + t + m) mod 2
#
#   suite x ranks      s fixed: t and m give s, s+2, s+1, s+3: all four
#   transport x ranks  t fixed: two neighbouring suites and m give all four
#   MPI x ranks        m fixed: two neighbouring suites and t give all four
#
# A mix puts two ranks on each virtual node: with fewer than three ranks there is one node and nothing
# is mixed, so it is run with three and four only. tests/guards checks all of this.

set(TERN_TEST_MPIS mpich openmpi)
set(TERN_TEST_RANKS 1 2 3 4)
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

# Whether the pair is worth a test at all.
function(tern_transport_takes transport ranks result)
    if(transport MATCHES "^mix-" AND ranks LESS 3)
        set(${result} FALSE PARENT_SCOPE)
    else()
        set(${result} TRUE PARENT_SCOPE)
    endif()
endfunction()

function(tern_pairwise_ranks suite_position transport mpi result)
    list(FIND TERN_TEST_TRANSPORTS ${transport} t)
    list(FIND TERN_TEST_MPIS ${mpi} m)
    if(transport MATCHES "^mix-")
        math(EXPR ranks "3 + (${suite_position} + ${t} + ${m}) % 2")
    else()
        math(EXPR ranks "1 + (${suite_position} + ${t} + 2 * ${m}) % 4")
    endif()
    set(${result} ${ranks} PARENT_SCOPE)
endfunction()
