# Finds an nvcc that works: TERN_NVCC and tern_cuda_program. CUDA is not a language of the project,
# because the configuration would then fail if nvcc is installed but broken.

option(TERN_CUDA "Build examples/cuda and its tests where there is an nvcc" ON)
find_program(TERN_NVCC_FOUND nvcc HINTS ENV CUDA_HOME PATHS /usr/local/cuda PATH_SUFFIXES bin)
mark_as_advanced(TERN_NVCC_FOUND)

# 7.5 is the oldest architecture that CUDA 13 supports; its PTX also serves GPUs newer than the last.
set(TERN_NVCC_FLAGS -std=c++17 -O2 -gencode arch=compute_75,code=[compute_75,sm_75]
    -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90
    -Xcompiler=-Wall,-Wextra,-Wconversion,-pthread)

set(TERN_NVCC "")
if(TERN_SANITIZE OR TERN_COVERAGE OR CMAKE_CROSSCOMPILING OR NOT TERN_CUDA)
    # The sanitizers do not see the GPU's accesses; nvcc builds for this machine's processor only.
elseif(NOT TERN_NVCC_FOUND)
    message(STATUS "CUDA: no nvcc, so examples/cuda and its tests are not built")
else()
    if(NOT TERN_NVCC_WORKS STREQUAL TERN_NVCC_FOUND)
        file(WRITE ${PROJECT_BINARY_DIR}/nvcc/probe.cu
             "#include <cuda_runtime.h>\n__global__ void probe(int *p) { *p = 1; }\n"
             "int main() { probe<<<1, 1>>>(nullptr); return cudaDeviceSynchronize() != cudaSuccess; }\n")
        execute_process(COMMAND ${TERN_NVCC_FOUND} ${TERN_NVCC_FLAGS} probe.cu -o probe
                        WORKING_DIRECTORY ${PROJECT_BINARY_DIR}/nvcc RESULT_VARIABLE failed
                        OUTPUT_FILE log ERROR_FILE log TIMEOUT 60)
        if(failed STREQUAL 0)
            set(TERN_NVCC_WORKS ${TERN_NVCC_FOUND} CACHE INTERNAL "An nvcc that has built a program")
        endif()
    endif()
    if(TERN_NVCC_WORKS STREQUAL TERN_NVCC_FOUND)
        set(TERN_NVCC ${TERN_NVCC_FOUND})
    else()
        message(STATUS "CUDA: ${TERN_NVCC_FOUND} does not build a program, so examples/cuda and its "
                "tests are not built (${PROJECT_BINARY_DIR}/nvcc/log)")
    endif()
endif()

# Set after the probe, which must not fail because of a warning in CUDA's own headers.
if(TERN_WERROR)
    list(APPEND TERN_NVCC_FLAGS -Werror all-warnings)
endif()

# Builds name in the current folder from one CUDA file and a static library ("": none), with further
# options. Only where TERN_NVCC is set.
function(tern_cuda_program name source library)
    set(program ${CMAKE_CURRENT_BINARY_DIR}/${name})
    set(linked "")
    if(library)
        set(linked $<TARGET_FILE:${library}>)
    endif()
    add_custom_command(OUTPUT ${program}
                       COMMAND ${TERN_NVCC} ${TERN_NVCC_FLAGS} ${ARGN} -I${PROJECT_SOURCE_DIR}
                       -I${PROJECT_SOURCE_DIR}/include -MD -MF ${program}.d -MT ${program}
                       ${CMAKE_CURRENT_SOURCE_DIR}/${source} ${linked} -o ${program}
                       DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${source} ${library}
                       DEPFILE ${program}.d COMMENT "Building CUDA program ${name}" VERBATIM)
    add_custom_target(cuda_${name} ALL DEPENDS ${program})
endfunction()
