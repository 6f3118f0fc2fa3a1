# Reads TERN_VERSION from include/tern/version.h.

set(header ${CMAKE_CURRENT_LIST_DIR}/../include/tern/version.h)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${header})
file(STRINGS ${header} lines REGEX "^#define TERN_VERSION_(MAJOR|MINOR|PATCH) [0-9]+$")
list(TRANSFORM lines REPLACE ".* " "")
list(JOIN lines "." TERN_VERSION)
unset(lines)
unset(header)
