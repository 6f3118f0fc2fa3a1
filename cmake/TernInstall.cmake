# Installs headers, the libraries, the tools, the files for pkg-config and find_package(tern),
# documentation, and the sources of the examples. The installed tree can be moved. Each file belongs to one
# of the components library, dev, tools and doc, of which cmake/TernPackages.cmake makes packages. With
# TERN_SIDE_BY_SIDE (cmake/TernLauncher.cmake) all but doc carry the name of the MPI.

include(CMakePackageConfigHelpers)

set(TERN_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/tern${TERN_SUFFIX})
set(TERN_PKGCONFIG_DIR ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

install(DIRECTORY include/tern DESTINATION ${TERN_INSTALL_INCLUDEDIR} COMPONENT dev FILES_MATCHING
        PATTERN "*.h" PATTERN "*.hpp")
install(FILES ${TERN_BUILT_INCLUDE_DIR}/tern/mpi_check.h DESTINATION ${TERN_INSTALL_INCLUDEDIR}/tern
        COMPONENT dev)
set(forms LIBRARY COMPONENT library NAMELINK_COMPONENT dev ARCHIVE COMPONENT dev)
install(TARGETS tern tern_static tern_mcts tern_mcts_static tern_pmpi EXPORT tern ${forms})
if(TARGET tern_fortran)
    install(TARGETS tern_fortran EXPORT tern ${forms})
    install(FILES ${PROJECT_BINARY_DIR}/fortran/modules/tern.mod
            DESTINATION ${TERN_INSTALL_INCLUDEDIR}/tern/fortran COMPONENT dev)
endif()
# Exported apart, so that a project without MPI finds this library alone.
install(TARGETS tern_mailbox tern_mailbox_static EXPORT tern_mailbox ${forms})

file(RELATIVE_PATH TERN_BIN_TO_LIB /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR})
set(tools "")
foreach(tool tern-info tern-bench tern-hex)
    if(TARGET ${tool})
        set_target_properties(${tool} PROPERTIES INSTALL_RPATH "$ORIGIN/${TERN_BIN_TO_LIB}"
                              OUTPUT_NAME ${tool}${TERN_TOOL_SUFFIX})
        install(TARGETS ${tool} RUNTIME COMPONENT tools)
        list(APPEND tools ${tool})
    endif()
endforeach()
install(PROGRAMS ${PROJECT_BINARY_DIR}/mpirun-tern DESTINATION ${CMAKE_INSTALL_BINDIR}
        RENAME mpirun-tern${TERN_TOOL_SUFFIX} COMPONENT tools)
# Side by side, pages of tools carry the MPI's name as the tools do, in the page too.
if("${TERN_TOOL_SUFFIX}" STREQUAL "")
    foreach(tool ${tools} mpirun-tern)
        install(FILES docs/man/${tool}.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT tools)
    endforeach()
else()
    foreach(tool ${tools} mpirun-tern)
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS docs/man/${tool}.1)
        file(READ docs/man/${tool}.1 text)
        string(REGEX REPLACE "(tern-info|tern-bench|tern-hex|mpirun-tern)" "\\1${TERN_TOOL_SUFFIX}" text "${text}")
        set(page ${PROJECT_BINARY_DIR}/man/${tool}${TERN_TOOL_SUFFIX}.1)
        file(WRITE ${page} "${text}")
        execute_process(COMMAND gzip -9nf ${page} COMMAND_ERROR_IS_FATAL ANY)
        install(FILES ${page}.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT tools)
    endforeach()
endif()

# A Python finds the package if PYTHONPATH names this folder; the package finds libtern beside it.
install(DIRECTORY python/tern DESTINATION ${CMAKE_INSTALL_LIBDIR}/python${TERN_SUFFIX} COMPONENT dev
        FILES_MATCHING PATTERN "*.py")

# The same folders as in the source tree, so that links between pages work.
install(FILES README.md CHANGELOG.md CONTRIBUTING.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR}
        COMPONENT doc)
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT doc FILES_MATCHING PATTERN "*.md")
# Man pages of functions, made from the headers, which needs awk alone. Those of packages are compressed.
file(GLOB headers CONFIGURE_DEPENDS include/tern/*.h)
set(pages man/man3)
add_custom_command(OUTPUT man/man3/tern.h.3 COMMAND ${PROJECT_SOURCE_DIR}/scripts/man man
                   DEPENDS ${headers} scripts/man scripts/man.awk scripts/atomics.awk)
if(NOT "${TERN_TOOL_SUFFIX}" STREQUAL "")
    set(pages man/packed/man3)
    add_custom_command(OUTPUT man/packed/man3/tern.h.3.gz DEPENDS man/man3/tern.h.3
                       COMMAND rm -rf man/packed && mkdir man/packed && cp -r man/man3 man/packed
                       COMMAND gzip -9nr man/packed/man3)
    add_custom_target(tern_man_packed ALL DEPENDS man/packed/man3/tern.h.3.gz)
endif()
add_custom_target(tern_man ALL DEPENDS man/man3/tern.h.3)
install(DIRECTORY ${PROJECT_BINARY_DIR}/${pages} DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT doc)
# The site, if scripts/docs has made it.
install(DIRECTORY build/docs/html DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT doc OPTIONAL)
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT doc
        PATTERN CMakeLists.txt EXCLUDE)

install(EXPORT tern NAMESPACE tern:: FILE ternTargets.cmake DESTINATION ${TERN_CMAKE_DIR} COMPONENT dev)
install(EXPORT tern_mailbox NAMESPACE tern:: FILE ternMailboxTargets.cmake
        DESTINATION ${TERN_CMAKE_DIR} COMPONENT dev)
configure_package_config_file(cmake/ternConfig.cmake.in ternConfig.cmake
                              INSTALL_DESTINATION ${TERN_CMAKE_DIR}
                              PATH_VARS TERN_INSTALL_INCLUDEDIR)
write_basic_package_version_file(ternConfigVersion.cmake COMPATIBILITY SameMinorVersion)
# find_package(tern) looks at each folder lib/cmake/tern*, and skips those that do not fit.
file(APPEND ${PROJECT_BINARY_DIR}/ternConfigVersion.cmake
     "if(DEFINED TERN_MPI AND NOT TERN_MPI STREQUAL \"${TERN_MPI}\")\n"
     "    set(PACKAGE_VERSION_UNSUITABLE TRUE)\nendif()\n")
install(FILES ${PROJECT_BINARY_DIR}/ternConfig.cmake ${PROJECT_BINARY_DIR}/ternConfigVersion.cmake
        DESTINATION ${TERN_CMAKE_DIR} COMPONENT dev)

# tern.pc finds its prefix relative to its own folder, so that the tree can be moved.
file(RELATIVE_PATH TERN_PKGCONFIG_TO_PREFIX /${TERN_PKGCONFIG_DIR} /)
# These folders come behind those of the program's mpicc. So <tern/mpi_check.h> sees the <mpi.h> of that
# mpicc, and refuses it if it belongs to another MPI.
list(TRANSFORM MPI_C_INCLUDE_DIRS PREPEND "-idirafter " OUTPUT_VARIABLE TERN_PKGCONFIG_CFLAGS)
list(TRANSFORM TERN_SKIP_MPI_CPLUSPLUS PREPEND -D OUTPUT_VARIABLE definitions)
list(APPEND TERN_PKGCONFIG_CFLAGS ${definitions})
list(JOIN TERN_PKGCONFIG_CFLAGS " " TERN_PKGCONFIG_CFLAGS)
list(JOIN MPI_C_LIBRARIES " " TERN_PKGCONFIG_LIBS)
configure_file(cmake/tern.pc.in tern.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/tern.pc DESTINATION ${TERN_PKGCONFIG_DIR}
        RENAME tern${TERN_SUFFIX}.pc COMPONENT dev)

# tern_install_pkgconfig(SHORT REQUIRES DESCRIPTION [FOLDER]): tern-SHORT.pc of libtern_SHORT, whose headers
# or modules lie in FOLDER below the headers of the prefix.
function(tern_install_pkgconfig short requires description)
    set(folder ${ARGN})
    configure_file(cmake/tern-library.pc.in tern-${short}.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/tern-${short}.pc DESTINATION ${TERN_PKGCONFIG_DIR}
            RENAME tern-${short}${TERN_SUFFIX}.pc COMPONENT dev)
endfunction()
tern_install_pkgconfig(mcts "tern${TERN_SUFFIX}" "Monte-Carlo tree search over the ranks of a context")
if(TARGET tern_fortran)
    tern_install_pkgconfig(fortran "tern${TERN_SUFFIX}" "The module tern for Fortran" /tern/fortran)
endif()
tern_install_pkgconfig(mailbox "" "Mailboxes in shared memory and sandboxes, with no MPI")
