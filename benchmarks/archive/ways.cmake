# The other serializers with which `tern-bench archive` compares tern, as far as they are installed.

set(here ${CMAKE_CURRENT_LIST_DIR})
set(made ${CMAKE_CURRENT_BINARY_DIR}/archive)
file(MAKE_DIRECTORY ${made})
target_sources(tern-bench PRIVATE ${here}/tern.c)

# Adds the way NAME, from a source in this folder.
function(tern_bench_way name source)
    target_sources(tern-bench PRIVATE ${here}/${source})
    target_compile_definitions(tern-bench PRIVATE TERN_BENCH_${name})
    set_source_files_properties(${here}/${source} PROPERTIES INCLUDE_DIRECTORIES ${made})
    if(source MATCHES "cpp$")
        # The serializers' headers are not free of our warnings.
        set_source_files_properties(${here}/${source} PROPERTIES COMPILE_OPTIONS "-std=c++17;-w")
    endif()
endfunction()

# Adds sources that another program generates from a schema.
function(tern_bench_generate schema sources)
    add_custom_command(OUTPUT ${sources} DEPENDS ${here}/${schema} COMMAND ${ARGN} ${schema}
                       WORKING_DIRECTORY ${here} VERBATIM)
    target_sources(tern-bench PRIVATE ${sources})
    set_source_files_properties(${sources} PROPERTIES COMPILE_OPTIONS "-w")
endfunction()

pkg_check_modules(PROTOBUF_C QUIET IMPORTED_TARGET libprotobuf-c)
find_program(PROTOC_C NAMES protoc-c)
if(PROTOBUF_C_FOUND AND PROTOC_C)
    tern_bench_way(PROTOBUF protobuf.c)
    tern_bench_generate(record.proto "${made}/record.pb-c.c;${made}/record.pb-c.h"
                        ${PROTOC_C} --c_out=${made})
    target_link_libraries(tern-bench PRIVATE PkgConfig::PROTOBUF_C)
else()
    list(APPEND missing "protobuf-c (libprotobuf-c-dev, protobuf-c-compiler)")
endif()

pkg_search_module(MSGPACK_C QUIET IMPORTED_TARGET msgpack-c msgpack)
if(MSGPACK_C_FOUND)
    tern_bench_way(MSGPACK msgpack.c)
    target_link_libraries(tern-bench PRIVATE PkgConfig::MSGPACK_C)
else()
    list(APPEND missing "msgpack-c (libmsgpack-dev)")
endif()

find_path(CEREAL_INCLUDE cereal/cereal.hpp)
if(CEREAL_INCLUDE AND CMAKE_CXX_COMPILER)
    tern_bench_way(CEREAL cereal.cpp)
else()
    list(APPEND missing "cereal (libcereal-dev, g++)")
endif()

pkg_check_modules(CAPNP QUIET IMPORTED_TARGET capnp)
find_program(CAPNP_COMPILER NAMES capnp)
if(CAPNP_FOUND AND CAPNP_COMPILER AND CMAKE_CXX_COMPILER)
    tern_bench_way(CAPNP capnp.cpp)
    tern_bench_generate(record.capnp "${made}/record.capnp.c++;${made}/record.capnp.h"
                        ${CAPNP_COMPILER} compile -oc++:${made})
    set_source_files_properties(${made}/record.capnp.c++ PROPERTIES
                                COMPILE_OPTIONS "-std=c++17;-w")
    target_link_libraries(tern-bench PRIVATE PkgConfig::CAPNP)
else()
    list(APPEND missing "Cap'n Proto (capnproto, libcapnp-dev, g++)")
endif()

if(missing)
    list(JOIN missing ", " missing)
    message(STATUS "tern-bench archive compares without ${missing}")
endif()
