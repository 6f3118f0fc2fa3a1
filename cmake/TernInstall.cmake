# What `cmake --install` puts where: headers, both libraries, tern-info, and what pkg-config and
# find_package(tern) need.

include(CMakePackageConfigHelpers)

set(TERN_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/tern)
set(TERN_PKGCONFIG_DIR ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

install(DIRECTORY include/tern DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(FILES ${TERN_BUILT_INCLUDE_DIR}/tern/mpi_check.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tern)
install(TARGETS tern tern_static tern_pmpi EXPORT tern)
if(TARGET tern-info)
    install(TARGETS tern-info)
endif()

install(EXPORT tern NAMESPACE tern:: FILE ternTargets.cmake DESTINATION ${TERN_CMAKE_DIR})
configure_package_config_file(cmake/ternConfig.cmake.in ternConfig.cmake
                              INSTALL_DESTINATION ${TERN_CMAKE_DIR}
                              PATH_VARS CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(ternConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/ternConfig.cmake ${PROJECT_BINARY_DIR}/ternConfigVersion.cmake
        DESTINATION ${TERN_CMAKE_DIR})

# tern.pc finds its prefix from where it lies, so that the tree can be moved.
file(RELATIVE_PATH TERN_PKGCONFIG_TO_PREFIX /${TERN_PKGCONFIG_DIR} /)
list(TRANSFORM MPI_C_INCLUDE_DIRS PREPEND -I OUTPUT_VARIABLE TERN_PKGCONFIG_CFLAGS)
list(TRANSFORM TERN_SKIP_MPI_CPLUSPLUS PREPEND -D OUTPUT_VARIABLE definitions)
list(APPEND TERN_PKGCONFIG_CFLAGS ${definitions})
list(JOIN TERN_PKGCONFIG_CFLAGS " " TERN_PKGCONFIG_CFLAGS)
list(JOIN MPI_C_LIBRARIES " " TERN_PKGCONFIG_LIBS)
configure_file(cmake/tern.pc.in tern.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/tern.pc DESTINATION ${TERN_PKGCONFIG_DIR})
