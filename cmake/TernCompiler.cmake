# The compiler options of every C file of the project: the interface target tern_compiler.
# C11 with GNU extensions, and the whole of glibc: tern runs on Linux only.

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, RelWithDebInfo or Debug" FORCE)
endif()

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

add_library(tern_compiler INTERFACE)
target_compile_definitions(tern_compiler INTERFACE _GNU_SOURCE)
target_compile_options(tern_compiler INTERFACE -Wall -Wextra -Wconversion)
if(TERN_WERROR)
    target_compile_options(tern_compiler INTERFACE -Werror)
endif()

if(TERN_SANITIZE STREQUAL "address")
    set(sanitizers address,undefined)
elseif(TERN_SANITIZE STREQUAL "thread")
    set(sanitizers thread)
    # ThreadSanitizer does not see fences: it reports accesses that only a fence orders, though they
    # are no race.
    target_compile_options(tern_compiler INTERFACE $<$<C_COMPILER_ID:GNU>:-Wno-tsan>)
elseif(TERN_SANITIZE)
    message(FATAL_ERROR "TERN_SANITIZE is '${TERN_SANITIZE}': allowed are empty, address, thread")
endif()
if(TERN_SANITIZE)
    add_compile_options(-fsanitize=${sanitizers} -fno-sanitize-recover=all
                        -fno-omit-frame-pointer -g)
    add_link_options(-fsanitize=${sanitizers})
endif()
unset(sanitizers)

# gcov's counters. Threads share them, so they are incremented atomically. The preset compiles with
# -Og: more would merge lines, and a merged line has no count of its own; with less, checksums of
# large records take longer than the tests wait.
if(TERN_COVERAGE)
    if(TERN_SANITIZE OR NOT CMAKE_C_COMPILER_ID STREQUAL "GNU")
        message(FATAL_ERROR "TERN_COVERAGE needs gcc, and TERN_SANITIZE must be empty")
    endif()
    add_compile_options(-fprofile-arcs -ftest-coverage -fprofile-update=atomic)
    add_link_options(--coverage)
endif()
