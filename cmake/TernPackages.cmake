# Debian packages by cpack -G DEB: a package for each component of cmake/TernInstall.cmake. scripts/package
# builds a set for each MPI. What only packages have is left out of an ordinary installation.

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tern)
set(CPACK_PACKAGE_CONTACT "The tern authors <tern@example.org>" CACHE STRING "the maintainer of packages")
# Each package has a summary of its own.
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")
set(CPACK_PACKAGE_DESCRIPTION "tern gives plain MPI-3 programs what MPI lacks: puts and gets that
notify the other side, functions called on other ranks, and hash tables,
maps, queues and locks that are spread over all ranks. It works on any
communicator, beside the MPI calls of the program.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES TRUE)
set(CPACK_COMPONENTS_ALL library dev tools doc)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_DEB_COMPONENT_INSTALL TRUE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION TRUE)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_DOC_PACKAGE_ARCHITECTURE all)

set(packages ${PROJECT_BINARY_DIR}/packages)
set(version ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})
set(library libtern${TERN_SUFFIX}${TERN_SOVERSION})
if(TERN_MPI STREQUAL openmpi)
    set(mpi "libopenmpi-dev")
    set(launcher "openmpi-bin")
else()
    set(mpi "libmpich-dev")
    set(launcher "mpich")
endif()

# tern_package(COMPONENT NAME SECTION DEPENDS SUMMARY): with the files that Debian's policy asks for.
function(tern_package component name section depends summary)
    string(TOUPPER ${component} key)
    set(CPACK_DEBIAN_${key}_PACKAGE_NAME ${name} PARENT_SCOPE)
    set(CPACK_DEBIAN_${key}_PACKAGE_SECTION ${section} PARENT_SCOPE)
    set(CPACK_DEBIAN_${key}_PACKAGE_DEPENDS "${depends}" PARENT_SCOPE)
    set(CPACK_DEBIAN_${key}_DESCRIPTION "${summary}\n${CPACK_PACKAGE_DESCRIPTION}" PARENT_SCOPE)
    string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
    set(folder ${packages}/${name})
    configure_file(packaging/deb/changelog.in ${folder}/changelog.Debian @ONLY)
    execute_process(COMMAND gzip -9nf ${folder}/changelog.Debian)
    configure_file(packaging/deb/copyright.in ${folder}/copyright @ONLY)
    install(FILES ${folder}/changelog.Debian.gz ${folder}/copyright
            DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${name} COMPONENT ${component} EXCLUDE_FROM_ALL)
    file(READ packaging/deb/overrides text)
    if(EXISTS ${PROJECT_SOURCE_DIR}/packaging/deb/overrides.${component})
        file(READ packaging/deb/overrides.${component} more)
        string(APPEND text "${more}")
    endif()
    file(WRITE ${folder}/${name} "${text}")
    install(FILES ${folder}/${name} DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides
            COMPONENT ${component} EXCLUDE_FROM_ALL)
endfunction()

file(STRINGS LICENSE license)
list(TRANSFORM license PREPEND " ")
list(TRANSFORM license REPLACE "^ $" " .")
list(JOIN license "\n" license)
tern_package(library ${library} libs "" "one-sided transfer and remote invocation for ${TERN_MPI_NAME}")
tern_package(dev libtern${TERN_SUFFIX}-dev libdevel
             "${library} (= ${version}), ${mpi}, libhwloc-dev, libxxhash-dev"
             "development files of tern for ${TERN_MPI_NAME}")
tern_package(tools tern-tools${TERN_SUFFIX} utils "${library} (= ${version}), ${launcher}" "tools of tern for ${TERN_MPI_NAME}")
tern_package(doc tern-doc doc "" "documentation and examples of tern")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SHLIBDEPS TRUE)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SHLIBDEPS TRUE)
# The libraries need each other, and the tools need them.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR} ${PROJECT_BINARY_DIR}/pmpi)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/packaging/deb/triggers)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS TRUE)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY "=")
include(CPack)
