# Reads TERN_VERSION from include/tern/config.h, and makes TERN_SOVERSION of it: the part of the version
# that changes when programs have to be linked anew. Before 1.0 that is the minor version.

set(header ${CMAKE_CURRENT_LIST_DIR}/../include/tern/config.h)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${header})
file(STRINGS ${header} lines REGEX "^#define TERN_VERSION_(MAJOR|MINOR|PATCH) [0-9]+$")
list(TRANSFORM lines REPLACE ".* " "")
list(JOIN lines "." TERN_VERSION)
list(GET lines 0 TERN_SOVERSION)
if(TERN_SOVERSION EQUAL 0)
    list(GET lines 1 TERN_SOVERSION)
    string(PREPEND TERN_SOVERSION "0.")
endif()
unset(lines)
unset(header)
