# Installs headers, the libraries, the tools, the files for pkg-config and find_package(tern),
# documentation, and the sources of the examples. The installed tree can be moved.

include(CMakePackageConfigHelpers)

set(TERN_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/tern)
set(TERN_PKGCONFIG_DIR ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

install(DIRECTORY include/tern DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(FILES ${TERN_BUILT_INCLUDE_DIR}/tern/mpi_check.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tern)
install(TARGETS tern tern_static tern_mcts tern_mcts_static tern_pmpi EXPORT tern)
# A project without MPI finds this one alone.
install(TARGETS tern_mailbox tern_mailbox_static EXPORT tern_mailbox)

file(RELATIVE_PATH TERN_BIN_TO_LIB /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR})
foreach(tool tern-info tern-bench tern-hex)
    if(TARGET ${tool})
        set_target_properties(${tool} PROPERTIES INSTALL_RPATH "$ORIGIN/${TERN_BIN_TO_LIB}")
        install(TARGETS ${tool})
    endif()
endforeach()
install(PROGRAMS ${PROJECT_BINARY_DIR}/mpirun-tern DESTINATION ${CMAKE_INSTALL_BINDIR})

# The same folders as in the source tree, so that links between pages work.
install(FILES README.md CHANGELOG.md CONTRIBUTING.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md")
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR} PATTERN CMakeLists.txt EXCLUDE)

install(EXPORT tern NAMESPACE tern:: FILE ternTargets.cmake DESTINATION ${TERN_CMAKE_DIR})
install(EXPORT tern_mailbox NAMESPACE tern:: FILE ternMailboxTargets.cmake
        DESTINATION ${TERN_CMAKE_DIR})
configure_package_config_file(cmake/ternConfig.cmake.in ternConfig.cmake
                              INSTALL_DESTINATION ${TERN_CMAKE_DIR}
                              PATH_VARS CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(ternConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/ternConfig.cmake ${PROJECT_BINARY_DIR}/ternConfigVersion.cmake
        DESTINATION ${TERN_CMAKE_DIR})

# tern.pc finds its prefix relative to its own folder, so that the tree can be moved.
file(RELATIVE_PATH TERN_PKGCONFIG_TO_PREFIX /${TERN_PKGCONFIG_DIR} /)
list(TRANSFORM MPI_C_INCLUDE_DIRS PREPEND -I OUTPUT_VARIABLE TERN_PKGCONFIG_CFLAGS)
list(TRANSFORM TERN_SKIP_MPI_CPLUSPLUS PREPEND -D OUTPUT_VARIABLE definitions)
list(APPEND TERN_PKGCONFIG_CFLAGS ${definitions})
list(JOIN TERN_PKGCONFIG_CFLAGS " " TERN_PKGCONFIG_CFLAGS)
list(JOIN MPI_C_LIBRARIES " " TERN_PKGCONFIG_LIBS)
configure_file(cmake/tern.pc.in tern.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/tern.pc DESTINATION ${TERN_PKGCONFIG_DIR})

# tern_install_pkgconfig(SHORT REQUIRES DESCRIPTION): tern-SHORT.pc of libtern_SHORT.
function(tern_install_pkgconfig short requires description)
    configure_file(cmake/tern-library.pc.in tern-${short}.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/tern-${short}.pc DESTINATION ${TERN_PKGCONFIG_DIR})
endfunction()
tern_install_pkgconfig(mcts "tern" "Monte-Carlo tree search over the ranks of a context")
tern_install_pkgconfig(mailbox "" "Mailboxes in shared memory and sandboxes, with no MPI")
