# Programs without libc. Sanitizers and gcov's counters need libc, so these programs are built without
# them.
#
# tern_sandbox_program(NAME SOURCE...): an executable for tern_sandbox_run.
# tern_sandbox_helper(LIBRARY): the code that such a program's process runs first, as bytes in LIBRARY.

include(CheckCCompilerFlag)

set(TERN_SANDBOX_FLAGS -ffreestanding -fno-stack-protector -fno-sanitize=all)
if(TERN_COVERAGE)
    list(APPEND TERN_SANDBOX_FLAGS -fno-profile-arcs -fno-test-coverage)
endif()
# Otherwise compilers for aarch64 call functions of libgcc for atomics, and those need libc.
check_c_compiler_flag(-mno-outline-atomics TERN_OUTLINES_ATOMICS)
if(TERN_OUTLINES_ATOMICS)
    list(APPEND TERN_SANDBOX_FLAGS -mno-outline-atomics)
endif()

function(tern_sandbox_bare name)
    add_executable(${name} ${ARGN})
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/include)
    target_link_libraries(${name} PRIVATE tern_compiler)
    target_compile_options(${name} PRIVATE ${TERN_SANDBOX_FLAGS} -O2)
    target_link_options(${name} PRIVATE -fno-sanitize=all -nostdlib)
    # A shell cannot run the program, so tests/programs leaves it out.
    set_target_properties(${name} PROPERTIES TERN_RUNS_IN_SANDBOX ON)
endfunction()

function(tern_sandbox_program name)
    tern_sandbox_bare(${name} ${ARGN})
    target_compile_options(${name} PRIVATE -fPIE)
    target_link_options(${name} PRIVATE -static-pie -Wl,-e,tern_sandbox_main
                        -Wl,--no-dynamic-linker)
endfunction()

function(tern_sandbox_helper library)
    set(file ${PROJECT_BINARY_DIR}/tern-sandbox-helper)
    tern_sandbox_bare(tern-sandbox-helper mailbox/helper/helper.c)
    target_include_directories(tern-sandbox-helper PRIVATE ${PROJECT_SOURCE_DIR})
    # The helper calls a function of libgcc to clear the instruction cache, if the processor needs that.
    target_link_libraries(tern-sandbox-helper PRIVATE gcc)
    target_compile_options(tern-sandbox-helper PRIVATE -fno-pie)
    target_link_options(tern-sandbox-helper PRIVATE -static -no-pie -Wl,--build-id=none)
    set_source_files_properties(mailbox/sandbox_process.c PROPERTIES
                                COMPILE_DEFINITIONS "TERN_SANDBOX_HELPER=\"${file}\""
                                OBJECT_DEPENDS ${file})
    add_dependencies(${library} tern-sandbox-helper)
endfunction()
