# tern_sandbox_program(NAME SOURCE...): an executable for tern_sandbox_run, without libc. What the
# project compiles everything else with, sanitizers for one, has nothing to stand on there.

set(TERN_SANDBOX_FLAGS -ffreestanding -fno-stack-protector -fno-sanitize=all)

function(tern_sandbox_program name)
    add_executable(${name} ${ARGN})
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/include)
    target_link_libraries(${name} PRIVATE tern_compiler)
    target_compile_options(${name} PRIVATE ${TERN_SANDBOX_FLAGS} -O2 -fPIE)
    target_link_options(${name} PRIVATE -fno-sanitize=all -nostdlib -static-pie
                        -Wl,-e,tern_sandbox_main -Wl,--no-dynamic-linker)
endfunction()
